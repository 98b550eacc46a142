/*
 * serve_prefetch.c - the traits of verbs; prefetches all primary buckets of a pass, then all items.
 */
#include "serve_internal.h"
#include "serve_since.h"

#define GETS   (VERB_LOOKUP | VERB_RETURNS_VALUE)
#define LOOKUP VERB_LOOKUP
#define WRITES (VERB_LOOKUP | VERB_WRITES)
#define CHANGE (WRITES | VERB_PROMOTES)

const uint8_t verb_classes[OP_VERB_COUNT] = {
	[MC_GET... MC_GATS] = VERB_CLASS_GET,
	[MC_MG] = VERB_CLASS_GET,
	[MC_BIN_GET... MC_BIN_GAT] = VERB_CLASS_GET,
	[MC_SET... MC_CAS] = VERB_CLASS_SET,
	[MC_MS] = VERB_CLASS_SET,
	[MC_BIN_SET... MC_BIN_PREPEND] = VERB_CLASS_SET,
	[OP_BODY_DONE] = VERB_CLASS_SET,
	[OP_KEPT_GET] = VERB_CLASS_GET,
	[OP_SKIP] = VERB_CLASS_NONE,
};

const uint8_t verb_traits[OP_VERB_COUNT] = {
	[MC_GET... MC_GETS] = GETS,
	[MC_GAT... MC_GATS] = CHANGE | VERB_RETURNS_VALUE,
	[MC_SET] = WRITES,
	[MC_ADD... MC_REPLACE] = CHANGE,
	[MC_APPEND... MC_PREPEND] = CHANGE | VERB_TAKES_WORK,
	[MC_CAS... MC_TOUCH] = CHANGE,
	[MC_MG] = GETS, /* an mg that stores is rare */
	[MC_MS... MC_MD] = CHANGE | VERB_TAKES_WORK,
	[MC_MA] = CHANGE,
	[MC_ME] = LOOKUP | VERB_PROMOTES,
	[MC_FLUSH_ALL] = VERB_ENDS_PASS, /* may have to wait */
	[MC_QUIT] = VERB_CLOSES,
	[MC_BIN_GET] = GETS,
	[MC_BIN_GAT] = CHANGE | VERB_RETURNS_VALUE,
	[MC_BIN_TOUCH... MC_BIN_REPLACE] = CHANGE,
	[MC_BIN_APPEND... MC_BIN_PREPEND] = CHANGE | VERB_TAKES_WORK,
	[MC_BIN_DELETE... MC_BIN_DECR] = CHANGE,
	[MC_BIN_FLUSH] = VERB_ENDS_PASS,
	[MC_BIN_QUIT] = VERB_CLOSES,
	[MC_STATS... MC_STATS_CACHEDUMP] = VERB_ENDS_PASS,
	[MC_WATCH] = VERB_ENDS_PASS,
	[MC_SLABS_REASSIGN] = VERB_TAKES_WORK,
	[MC_SHUTDOWN] = VERB_ENDS_PASS,
	[MC_METADUMP... MC_MGDUMP] = VERB_ENDS_PASS,
	[MC_REFRESH_CERTS] = VERB_ENDS_PASS,
	[MC_BIN_STAT... MC_BIN_SASL_STEP] = VERB_ENDS_PASS,
	[OP_AUTH] = VERB_ENDS_PASS,
};

/* Decodes the key of operation i from base64. Does not change the request's bytes, which may be
 * parsed again. */
static void
key_decode(struct serve *sv, uint32_t i)
{
	struct op *op = &sv->ops[i];
	const uint8_t *end = mc_base64_decode(sv->keys[i], op->req.key);

	op->req.key = (struct view){sv->keys[i], (uint32_t)(end - sv->keys[i])};
}

static inline bool
prefetch_primary(const struct store_core *store, struct op *op)
{
	if (likely(!op_is(op, VERB_WRITES)))
		return store_probe_primary(store, &op->probe);
	return store_probe_primary_to_write(store, &op->probe);
}

/* Hashes and probes the keys that the fast path has not probed. */
static void
keys_probe(struct serve *sv)
{
	for (uint32_t i = 0; i < sv->op_count; i++) {
		struct op *op = &sv->ops[i];

		if (op->probed || !op_is(op, VERB_LOOKUP))
			continue;
		if (unlikely(op->req.flags & MC_KEY_BASE64))
			key_decode(sv, i);
		op->hash = store_probe(sv->store, &op->probe, op->req.key);
	}
}

/* Prefetches in three rounds: all primary buckets; all items, or alternate buckets; the items found
 * in these. When the last prefetch of a round is issued, the first one has arrived. So a pass waits
 * for memory about three times in all, not three times a key. */
FLAT void
serve_prefetch(struct serve *sv)
{
	const struct store_core *store = sv->store;
	const uint32_t count = sv->op_count;
	uint64_t open = 0; /* bit i: the key of ops[i] must be searched in its alternate bucket */

	static_assert(OPS_MAX <= 64, "a bit for each");
	if (sv->unprobed)
		keys_probe(sv);
	for (uint32_t i = 0; i < count; i++) {
		struct op *op = &sv->ops[i];

		if (op_is(op, VERB_LOOKUP))
			open |= (uint64_t)prefetch_primary(store, op) << i;
	}
	for (; open != 0; open &= open - 1)
		store_probe_alternate(store, &sv->ops[__builtin_ctzll(open)].probe);
}
