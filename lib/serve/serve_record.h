/*
 * serve_record.h - records requests: counts by class and by prefix, events for watchers, and the
 * time of residence.
 *
 * Private to lib/serve. Every verb of every protocol calls these functions. Work that only watchers
 * need is guarded by one flag (serve.observed).
 *
 * Owner:  items are valid during the call.
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

/* Records a retrieval of any verb. it NULL: a miss. */
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

/* Records a get that has created its item. It counts as a hit, since the client gets an item;
 * watchers see a miss. */
static inline void
record_made(struct serve *sv, const struct op *op, const struct item *it, bool touch)
{
	count_get(sv, touch, true);
	class_count(sv, it, touch ? CLASS_TOUCH_HITS : CLASS_GET_HITS);
	if (unlikely(sv->observed))
		sv->admin_ops->got(sv, op, NULL);
}

/* Records a retrieval that a backend has answered. it: an item of the store or of the backend. */
static inline void
record_completed(struct serve *sv, const struct op *op, const struct item *it, bool touch)
{
	count_get(sv, touch, it != NULL);
	if (it != NULL && store_has_item(&sv->class_map, it))
		class_count(sv, it, touch ? CLASS_TOUCH_HITS : CLASS_GET_HITS);
	if (unlikely(sv->observed))
		sv->admin_ops->got(sv, op, it);
}

/* Records the lookup of a command that is no retrieval. it NULL: not found. */
static inline void
record_lookup(struct serve *sv, const struct op *op, const struct item *it)
{
	if (unlikely(sv->observed))
		sv->admin_ops->looked_up(sv, op, it);
}

/* Records a delete. it: the item that was found before. Another core may have replaced that, so
 * only `hit` says whether the delete succeeded. */
static inline void
record_delete(struct serve *sv, const struct op *op, const struct item *it, bool hit)
{
	count_delete(sv, hit);
	if (hit && it != NULL)
		class_count(sv, it, CLASS_DELETE_HITS);
	if (unlikely(sv->observed))
		sv->admin_ops->deleted(sv, op, hit ? it : NULL);
}

/* Records an incr or decr. it: the item with the new number; NULL: not found. */
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

/* Records a cas in the class of the new value, which nearly always is the old value's class,
 * too. */
static inline void
record_cas(struct serve *sv, uint32_t class, enum store_result r)
{
	count_cas(sv, r);
	if (r == STORE_OK)
		counter_add(&sv->classes[class][CLASS_CAS_HITS], 1);
	else if (r == STORE_EXISTS)
		counter_add(&sv->classes[class][CLASS_CAS_BADVAL], 1);
}

/* Records the lookup of a command that stores or counts, before the command runs. The store is
 * searched only if there are watchers. */
static inline void
record_lookup_before_write(struct serve *sv, const struct op *op, uint64_t hash)
{
	if (unlikely(sv->observed))
		sv->admin_ops->writes(sv, op, hash);
}

/* ---- time of residence (residence.h) ---- */

/* The state before an operation is executed. execution_end() compares with it to find out how the
 * operation was answered. */
struct executed {
	uint64_t since_ns;
	uint64_t gets, misses; /* the counters before execution */
	uint8_t class;         /* VERB_CLASS_NONE: the operation ends no request */
	/* Key and sender of a slow operation. They are copied, since the request's bytes may have
	 * been freed. */
	uint8_t key_len;
	uint8_t key[MC_KEY_MAX];
	uint16_t port; /* 0: the request came on a connection */
	struct ip_addr ip;
};

/* Copies the key, and the sender of a datagram (serve_slow.c). */
void executed_name(struct executed *e, const struct op *op);

/* Returns how many keys of retrievals have been answered, misses included. */
static inline uint64_t
gets_answered(const struct serve *sv)
{
	return counter_read(&sv->counters[CMD_GET]) + counter_read(&sv->counters[CMD_TOUCH]);
}

static inline uint64_t
gets_missed(const struct serve *sv)
{
	return counter_read(&sv->counters[GET_MISSES]) + counter_read(&sv->counters[TOUCH_MISSES]);
}

/* Notes the state before op is executed. A retrieval is complete with its last key, a request with
 * a body when the body is complete. */
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
	e.gets = gets_answered(sv);
	e.misses = gets_missed(sv);
	if (e.class == VERB_CLASS_GET ? !op_last(op)
				      : (op->req.flags & MC_HAS_BODY) && op->body.data == NULL)
		e.class = VERB_CLASS_NONE;
	else if (unlikely(slow_log_wants(&sv->slow, sv->clock.now_ns - e.since_ns)))
		executed_name(&e, op);
	return e;
}

/* Records the residence of op, if it was answered. A retrieval that was not counted is still
 * waiting for a backend. */
static inline void
execution_end(struct serve *sv, const struct op *op, const struct session *ss,
	      const struct executed *e)
{
	enum request_kind kind = (enum request_kind)e->class;
	uint32_t row;

	if (e->class == VERB_CLASS_NONE ||
	    (e->class == VERB_CLASS_GET && gets_answered(sv) == e->gets))
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

/* Records a store. it: the published item; NULL: none was published. */
static inline void
record_store(struct serve *sv, const struct op *op, enum store_result r, const struct item *it)
{
	if (unlikely(sv->observed))
		sv->admin_ops->stored(sv, op, r, it);
}

/* Records a completed incr or decr. If it has created its number, it is recorded as a store. */
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
