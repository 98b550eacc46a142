#include "serve_core.h"

/* The others need no hash. */
static inline bool
seeks(const struct op *op)
{
	return mc_verb_seeks(op->req.verb);
}

/* Those lock both buckets of the key, where a get most often needs one. */
static inline bool
writes(const struct op *op)
{
	const uint8_t verb = op->req.verb;

	return verb > MC_GETS && verb != MC_MG && verb != MC_BIN_GET && verb != MC_ME;
}

/* The key itself, of which the request has the base64. The request's bytes stay as they are: they
 * may be read once more. */
static void
key_decode(struct serve *sv, uint32_t i)
{
	struct op *op = &sv->ops[i];
	const uint8_t *end = mc_base64_decode(sv->keys[i], op->req.key);

	op->req.key = (struct view){sv->keys[i], (uint32_t)(end - sv->keys[i])};
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
		if (unlikely(op->req.flags & MC_KEY_BASE64))
			key_decode(sv, i);
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
