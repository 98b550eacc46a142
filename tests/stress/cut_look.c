/*
 * cut_look.c - the index, read slot by slot, and every key looked up.
 */
#include "cut_look.h"
#include "store/floors.h"
#include "store/item_access.h"

struct seen {
	uint32_t ref[MODEL_KEYS]; /* a visible slot's reference; 0: the key has none */
	bool steady[MODEL_KEYS];  /* a slot of the key is in a bucket without lock bit */
};

static const char *
look_at_place(const struct store *st, uint32_t bucket, uint16_t tag, const struct item *it)
{
	const struct place p = index_place(&st->ix, index_hash(&st->ix, item_key(it)));
	const bool displaced = (tag & TAG_DISPLACED) != 0;
	const uint32_t version = atomic_load_explicit(&index_bucket(&st->ix, p.primary)->version,
						      memory_order_relaxed);

	if ((tag & ~TAG_DISPLACED) != p.tag)
		return "a slot has another tag than its item";
	if (bucket != (displaced ? p.alternate : p.primary))
		return "an item is in neither of its buckets, or under the other one's tag";
	if (displaced && !version_overflows(version, p.tag))
		return "a displaced item has no overflow bit";
	return NULL;
}

static bool
is_live(const struct store *st, const struct item *it, uint32_t ref)
{
	const uint32_t chunks = item_chunks(it);

	if (slab_state(&st->slab, ref) == OBJECT_OUT)
		return false;
	for (uint32_t i = 0; i < chunks; i++)
		if (slab_state(&st->slab, item_chunk_ref(it, i)) == OBJECT_OUT)
			return false;
	return true;
}

static const char *
look_at_slot(const struct store *st, uint32_t bucket, uint32_t slot, struct seen *seen,
	     bool *moving)
{
	const struct bucket *b = index_bucket(&st->ix, bucket);
	const uint32_t ref = bucket_ref(b, slot);
	const uint16_t tag = bucket_tag(b, slot);
	const bool locked = bucket_locked(b);

	if (ref == 0 || tag == 0)
		return ref == 0 && tag != 0 && !locked ? "a slot has a tag and no item" : NULL;

	const struct item *it = item_at(st, ref);
	const uint32_t key = model_number(item_key(it));

	if (key == MODEL_KEYS)
		return "a slot's item has none of the keys";
	if (seen->ref[key] != 0 && seen->ref[key] != ref)
		return "a key has two versions";
	*moving |= seen->ref[key] == ref;
	seen->ref[key] = ref;
	if (locked)
		return NULL;
	if (seen->steady[key])
		return "an item is in two slots";
	seen->steady[key] = true;
	if (!is_live(st, it, ref))
		return "an object of an item is not live";
	return look_at_place(st, bucket, tag, it);
}

const char *
look_at_index(const struct store *st, const struct model *m, bool *moving)
{
	const uint32_t end = index_bucket_end(&st->ix);
	struct seen seen = {.ref = {0}};

	*moving = false;
	for (uint32_t n = 0; n < end * BUCKET_SLOTS; n++) {
		const char *lie =
			look_at_slot(st, n / BUCKET_SLOTS, n % BUCKET_SLOTS, &seen, moving);

		if (lie != NULL)
			return lie;
	}
	for (uint32_t key = 0; key < MODEL_KEYS; key++) {
		const uint16_t tag = hash_tag(index_hash(&st->ix, model_name(key)));
		const uint64_t floor = atomic_load(store_floor(st, tag));
		const uint64_t most = m->keys[key].cas_most;

		if (floor < most &&
		    (seen.ref[key] == 0 || item_cas(item_at(st, seen.ref[key])) < most))
			return "a cas number comes back";
	}
	return NULL;
}

const char *
look_up_all(const struct store_core *sc, const struct model *m)
{
	for (uint32_t key = 0; key < MODEL_KEYS; key++) {
		const struct view name = model_name(key);
		const struct item *it =
			store_peek((struct store_core *)sc, name, store_hash(sc, name));

		if (!model_allows(m, key, sc, it, sc->now_s))
			return it == NULL ? "what was acknowledged is not there"
					  : "a version that no call left";
	}
	return NULL;
}
