#include "serve_core.h"

/* Verbs with a key to look up. The others cost a wrong prefetch nothing and need no hash. */
static inline bool
seeks(const struct op *op)
{
	return op->req.verb <= MC_TOUCH;
}

/*
 * All buckets first, then all items: when the last bucket was asked for, the first has arrived,
 * so a burst waits for memory about twice, not twice a key.
 */
void
serve_seek(struct serve *sv)
{
	for (uint32_t i = 0; i < sv->op_count; i++) {
		struct op *op = &sv->ops[i];

		if (!seeks(op))
			continue;
		op->hash = store_hash(sv->store, op->req.key);
		store_prefetch_buckets(sv->store, op->hash);
	}
	for (uint32_t i = 0; i < sv->op_count; i++)
		if (seeks(&sv->ops[i]))
			store_prefetch_items(sv->store, sv->ops[i].hash);
}
