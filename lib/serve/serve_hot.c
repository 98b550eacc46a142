/*
 * serve_hot.c - chooses the operations of a pass that are samples for hot keys and large values
 * (hot_keys.h).
 */
#include "serve_hot.h"

/* True if op may be a sample. A request that has waited had its chance when it arrived. */
static bool
is_sampled(const struct op *op)
{
	const struct session *ss = op->session;

	return op_is(op, VERB_LOOKUP) && op->req.key.len != 0 &&
	       (ss == NULL || (ss->memory_wait_turns == 0 && !ss->pending_counted));
}

/* Returns the size of the value that op stores, or of the stored value; 0: there is none. */
static uint32_t
value_size(struct serve *sv, const struct op *op)
{
	const struct item *it;

	if (op->req.flags & MC_HAS_BODY)
		return op->req.body_len;
	it = store_peek_probed(sv->store, &op->probe, op->req.key);
	return it == NULL ? 0 : item_value_len(it);
}

static void
sample(struct serve *sv, const struct op *op)
{
	const uint32_t i = hot_keys_count(&sv->hot, op->hash, sv->clock.now_ns);

	if (i != HOT_NONE)
		hot_keys_record(&sv->hot, i, op->req.key, value_size(sv, op));
}

__attribute__((noinline)) void
ops_sample(struct serve *sv)
{
	uint32_t at = sv->hot.left;

	for (; at < sv->op_count; at += 1 + hot_keys_next(&sv->hot))
		if (is_sampled(&sv->ops[at]))
			sample(sv, &sv->ops[at]);
	sv->hot.left = at;
}

__attribute__((noinline)) void
hit_sampled(struct serve *sv, struct view key, uint64_t hash, uint32_t size)
{
	const uint32_t i = hot_keys_count(&sv->hot, hash, sv->clock.now_ns);

	if (i != HOT_NONE)
		hot_keys_record(&sv->hot, i, key, size);
	sv->hot.left = hot_keys_next(&sv->hot);
}

void
value_seen(struct serve *sv, struct view key, uint64_t hash, uint32_t size)
{
	hot_keys_big(&sv->hot, key, hash, size, sv->clock.now_ns);
}
