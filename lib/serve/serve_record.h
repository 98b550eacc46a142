/*
 * serve_record.h - what a request leaves behind besides its reply: counts by class and by prefix,
 * events for watchers, and how long it was here.
 *
 * Private to lib/serve. The functions here are called by every answer, whatever its protocol; what
 * is done only for watchers stands behind one flag (serve.observed).
 *
 * Owner:  items are looked at, and not kept.
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_RECORD_H
#define CLOCKOO_SERVE_RECORD_H

#include "serve_admin.h"
#include "serve_execute.h"
#include "serve_since.h"

static inline void
class_count(struct serve *sv, const struct item *it, enum class_count which)
{
	counter_add(&sv->classes[store_class_lookup(&sv->class_map, it)][which], 1);
}

/* Of any retrieval, gat and its like included; it NULL: a miss. */
static inline void
record_get(struct serve *sv, const struct op *op, const struct item *it, bool touch)
{
	count_get(sv, touch, it != NULL);
	if (it != NULL)
		class_count(sv, it, touch ? CLASS_TOUCH_HITS : CLASS_GET_HITS);
	else
		store_read_missed(sv->store, op->hash);
	if (unlikely(sv->observed))
		sv->admin_ops->got(sv, op, it);
}

/* Counts a get whose item did not exist before, as the hit that its client sees. Watchers see the
 * miss. */
static inline void
record_made(struct serve *sv, const struct op *op, const struct item *it, bool touch)
{
	count_get(sv, touch, true);
	class_count(sv, it, touch ? CLASS_TOUCH_HITS : CLASS_GET_HITS);
	if (unlikely(sv->observed))
		sv->admin_ops->got(sv, op, NULL);
}

/* The same of one that a supplier has answered, with an item of the store's or of its own. */
static inline void
record_told(struct serve *sv, const struct op *op, const struct item *it, bool touch)
{
	count_get(sv, touch, it != NULL);
	if (it != NULL && store_has_item(&sv->class_map, it))
		class_count(sv, it, touch ? CLASS_TOUCH_HITS : CLASS_GET_HITS);
	if (unlikely(sv->observed))
		sv->admin_ops->got(sv, op, it);
}

/* Of a command that is no retrieval; it NULL: there was none. */
static inline void
record_lookup(struct serve *sv, const struct op *op, const struct item *it)
{
	if (unlikely(sv->observed))
		sv->admin_ops->looked_up(sv, op, it);
}

/* it: what was to be deleted, looked at before; another core may have deleted or stored
 * meanwhile: hit is what counts. */
static inline void
record_delete(struct serve *sv, const struct op *op, const struct item *it, bool hit)
{
	count_delete(sv, hit);
	if (hit && it != NULL)
		class_count(sv, it, CLASS_DELETE_HITS);
	if (unlikely(sv->observed))
		sv->admin_ops->deleted(sv, op, hit ? it : NULL);
}

/* it: the new number; NULL: there was none. */
static inline void
record_arith(struct serve *sv, const struct item *it, bool decr)
{
	count_arith(sv, decr, it != NULL);
	if (it != NULL)
		class_count(sv, it, decr ? CLASS_DECR_HITS : CLASS_INCR_HITS);
}

static inline void
count_cas(struct serve *sv, enum store_result r)
{
	if (r == STORE_OK)
		serve_count(sv, CAS_HITS);
	else if (r == STORE_EXISTS)
		serve_count(sv, CAS_BADVAL);
	else if (r == STORE_NOT_FOUND)
		serve_count(sv, CAS_MISSES);
}

/* A cas is counted by the class of the new value, which its old one nearly always had, too. */
static inline void
record_cas(struct serve *sv, uint32_t class, enum store_result r)
{
	count_cas(sv, r);
	if (r == STORE_OK)
		counter_add(&sv->classes[class][CLASS_CAS_HITS], 1);
	else if (r == STORE_EXISTS)
		counter_add(&sv->classes[class][CLASS_CAS_BADVAL], 1);
}

/* The same of one that stores or counts, before it does; only watchers pay for the look. */
static inline void
record_lookup_before_write(struct serve *sv, const struct op *op, uint64_t hash)
{
	if (unlikely(sv->observed))
		sv->admin_ops->writes(sv, op, hash);
}

/* ---- how long it was here (residence.h) ---- */

/* An operation before it is executed, and what tells afterwards how it was answered. */
struct executed {
	uint64_t since_ns;
	uint64_t gets, misses; /* counts so far */
	uint8_t class;         /* enum verb_class; NONE: no request ends here */
	/* Of one that is slow: what it is read from may go with it. */
	uint8_t key_len;
	uint8_t key[MC_KEY_MAX];
	uint16_t port; /* 0: of no datagram */
	struct ip_addr ip;
};

/* Its key, and who sent it, if that was a datagram (serve_slow.c). */
void executed_name(struct executed *e, const struct op *op);

/* Of a retrieval: counts of all that were told, or of those that missed. */
static inline uint64_t
gets_told(const struct serve *sv)
{
	return counter_read(&sv->counters[CMD_GET]) + counter_read(&sv->counters[CMD_TOUCH]);
}

static inline uint64_t
gets_missed(const struct serve *sv)
{
	return counter_read(&sv->counters[GET_MISSES]) + counter_read(&sv->counters[TOUCH_MISSES]);
}

/* The last key of a retrieval ends its request; so does a body that is here. */
static inline struct executed
execution_begin(const struct serve *sv, const struct op *op)
{
	const struct session *ss = op->session;
	struct executed e;

	e.class = verb_classes[op->req.verb];
	e.key_len = 0;
	e.port = 0;
	e.since_ns = ss == NULL || op_is_kept(op) ? datagram_since_ns(sv, op->datagram)
						  : session_since_ns(sv, ss);
	e.gets = gets_told(sv);
	e.misses = gets_missed(sv);
	if (e.class == VERB_CLASS_GET ? !op_last(op)
				      : (op->req.flags & MC_HAS_BODY) && op->body.data == NULL)
		e.class = VERB_CLASS_NONE;
	else if (unlikely(slow_log_wants(&sv->slow, sv->clock.now_ns - e.since_ns)))
		executed_name(&e, op);
	return e;
}

/* It was answered, if it is no retrieval for which a supplier is asked. */
static inline void
execution_end(struct serve *sv, const struct op *op, const struct session *ss,
	      const struct executed *e)
{
	enum request_kind kind = (enum request_kind)e->class;
	uint32_t row;

	if (e->class == VERB_CLASS_NONE || (e->class == VERB_CLASS_GET && gets_told(sv) == e->gets))
		return;
	if (e->class == VERB_CLASS_GET)
		kind = (op->req.flags & MC_FIRST) == 0 ? REQUEST_MULTIGET
		       : gets_missed(sv) != e->misses  ? REQUEST_GET_MISS
						       : REQUEST_GET_HIT;
	row = residence_row(ss != NULL, kind);
	if (e->since_ns == sv->clock.now_ns)
		residence_add(&sv->residence, row, 1);
	else
		record_late(sv, &(struct asker){op->session, {e->key, e->key_len}, e->ip, e->port},
			    row, e->since_ns, 1);
}

/* it: the item as it was published; NULL: none was. */
static inline void
record_store(struct serve *sv, const struct op *op, enum store_result r, const struct item *it)
{
	if (unlikely(sv->observed))
		sv->admin_ops->stored(sv, op, r, it);
}

/* A count that was carried out: one that makes its number is a store. */
static inline void
record_total(struct serve *sv, const struct op *op, const struct store_arith_result *total,
	     bool decr)
{
	if (unlikely(total->created))
		record_store(sv, op, STORE_OK, total->made);
	else
		record_arith(sv, total->made, decr);
}

#endif
