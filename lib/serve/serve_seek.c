#include "serve_core.h"

/* Verbs with a key to look up. The others cost a wrong prefetch nothing and need no hash. */
static inline bool
seeks(const struct op *op)
{
	return op->req.verb <= MC_TOUCH;
}

/* Those lock both buckets of the key, where a get most often needs one. */
static inline bool
writes(const struct op *op)
{
	return op->req.verb > MC_GETS;
}

/*
 * All home buckets first, then all items or other buckets, then the items found there: when the
 * last was asked for, the first has arrived, so a burst waits for memory about three times, not
 * three times a key.
 */
void
serve_seek(struct serve *sv)
{
	for (uint32_t i = 0; i < sv->op_count; i++) {
		struct op *op = &sv->ops[i];

		if (!seeks(op))
			continue;
		op->hash = store_probe(sv->store, &op->probe, op->req.key);
		if (writes(op))
			store_prefetch_away(sv->store, &op->probe);
	}
	for (uint32_t i = 0; i < sv->op_count; i++)
		if (seeks(&sv->ops[i]))
			store_probe_home(sv->store, &sv->ops[i].probe);
	for (uint32_t i = 0; i < sv->op_count; i++)
		if (seeks(&sv->ops[i]))
			store_probe_away(sv->store, &sv->ops[i].probe);
}
