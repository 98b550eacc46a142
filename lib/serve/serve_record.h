/*
 * serve_record.h - what a request leaves behind besides its reply: counts by class and by prefix,
 * and events for watchers.
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
	if (unlikely(sv->observed))
		sv->admin_ops->got(sv, op, it);
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

/* it: the item as it was published; NULL: none was. */
static inline void
record_store(struct serve *sv, const struct op *op, enum store_result r, const struct item *it)
{
	if (unlikely(sv->observed))
		sv->admin_ops->stored(sv, op, r, it);
}

#endif
