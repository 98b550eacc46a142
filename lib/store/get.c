/*
 * get.c - finds items by their keys, one at a time or in batches.
 *
 * A get from memory waits twice: for the primary bucket and for the item. If the tag is not in the
 * primary bucket, a clear overflow bit means a miss; a set one means a third wait, for the
 * alternate bucket. A caller with several keys takes each step for all of them before the next.
 */
#include "account.h"
#include "item_access.h"
#include "slab/eviction.h"

/* Bytes of an item that are prefetched, in one or two cache lines: the header, a key of 16 bytes
 * and a value of 32 bytes. */
#define AHEAD_BYTES 56u

uint64_t
store_hash(const struct store_core *sc, struct view key)
{
	return hash_bytes(key.data, key.len, sc->store->seed);
}

/* ---- the steps ---- */

static inline uint64_t
probe_start(const struct store *st, struct probe *p, struct view key)
{
	const uint64_t hash = hash_bytes(key.data, key.len, st->seed);
	const struct place place = index_place(&st->ix, hash);

	/* p->ref and p->slot are not valid before the state says so. */
	p->bucket = place.primary;
	p->seq = place.seq;
	p->tag = place.tag;
	p->state = PROBE_PENDING;
	/* During a resize p->ref holds the alternate bucket until there is a candidate. At other
	 * times that bucket is computed from the tag when it is needed. */
	if (unlikely((place.seq & GEOMETRY_RESIZING) != 0))
		p->ref = place.alternate;
	prefetch(index_bucket(&st->ix, place.primary));
	return hash;
}

/* Returns the alternate bucket of a probe without a candidate. */
static inline uint32_t
probe_alternate_bucket(const struct store *st, const struct probe *p)
{
	if (unlikely((p->seq & GEOMETRY_RESIZING) != 0))
		return p->ref;

	const uint32_t bucket_count = index_bucket_count(&st->ix);

	/* If the number of buckets has changed since the probe began, any bucket that exists will
	 * do: the lookup notices the new seq and starts again. */
	return likely(index_seq(&st->ix) == p->seq)
		       ? bucket_alternate(bucket_count, p->bucket, p->tag)
		       : p->bucket;
}

/* Notes the item in the first slot whose tag matches. */
static inline enum probe_state
probe_note_candidate(const struct store *st, struct probe *p, const struct bucket *b, uint32_t hits)
{
	const uint32_t slot = (uint32_t)__builtin_ctz(hits);
	const uint32_t ref = bucket_ref(b, slot);
	const uint8_t *it = arena_at(&st->arena, ref);

	/* A writer has cleared the slot since its tag was read. */
	if (unlikely(ref == 0)) {
		if (p->state == PROBE_PENDING)
			p->state = PROBE_RETRY;
		return (enum probe_state)p->state;
	}
	p->state = PROBE_CANDIDATE;
	p->slot = (uint8_t)slot;
	p->ref = ref;
	prefetch(it);
	prefetch(it + AHEAD_BYTES - 1);
	return PROBE_CANDIDATE;
}

/* True if the index has had the same geometry since the place was computed. Otherwise a miss proves
 * nothing. */
static inline bool
probe_is_current(const struct store *st, const struct probe *p)
{
	return likely(atomic_load_explicit(&st->ix.seq, memory_order_relaxed) == p->seq);
}

/* True if the key is absent, given that no slot of the primary bucket has its tag. */
static inline bool
probe_ends_in_primary(const struct store *st, const struct probe *p, const struct bucket *primary,
		      uint32_t version)
{
	/* Acquire: pairs with the release in bucket_clear, as in index_find. */
	atomic_thread_fence(memory_order_acquire);
	return !version_overflows(version, p->tag) && version_same(primary, version) &&
	       probe_is_current(st, p);
}

static inline enum probe_state
probe_primary(const struct store *st, struct probe *p)
{
	const struct bucket *primary = index_bucket(&st->ix, p->bucket);
	const uint32_t version = version_open(primary);
	const uint32_t hits = bucket_match(primary, p->tag);

	if (hits != 0)
		return probe_note_candidate(st, p, primary, hits);
	if (unlikely(p->state != PROBE_PENDING)) /* the step was taken before */
		return (enum probe_state)p->state;
	if (probe_ends_in_primary(st, p, primary, version)) {
		p->state = PROBE_MISS;
		return PROBE_MISS;
	}
	p->ref = probe_alternate_bucket(st, p);
	/* The bucket's number was computed for another number of buckets. It may not exist, so it
	 * is not read. */
	if (!probe_is_current(st, p)) {
		p->state = PROBE_RETRY;
		return PROBE_RETRY;
	}
	p->state = PROBE_ALTERNATE;
	prefetch(index_bucket(&st->ix, p->ref));
	return PROBE_ALTERNATE;
}

/* True if a miss in the primary bucket still holds: this core may have stored the key since. */
static inline bool
probe_misses_still(const struct store *st, const struct probe *p)
{
	const struct bucket *primary = index_bucket(&st->ix, p->bucket);
	const uint32_t version = version_open(primary);

	return bucket_match(primary, p->tag) == 0 && probe_ends_in_primary(st, p, primary, version);
}

/* Reads both buckets, after both versions, as index_find does. */
static inline void
probe_alternate(const struct store *st, struct probe *p)
{
	if (p->state != PROBE_ALTERNATE)
		return;

	const struct bucket *primary = index_bucket(&st->ix, p->bucket);
	const struct bucket *alternate = index_bucket(&st->ix, p->ref);
	const uint32_t primary_version = version_open(primary);
	const uint32_t alternate_version = version_open(alternate);
	const uint32_t primary_hits = bucket_match(primary, p->tag);

	protocol_gap();

	const uint32_t alternate_hits = bucket_match(alternate, p->tag | TAG_DISPLACED);

	if (alternate_hits != 0) {
		const uint32_t other = p->ref;

		if (likely(probe_note_candidate(st, p, alternate, alternate_hits) ==
			   PROBE_CANDIDATE)) {
			p->bucket = other;
			p->tag |= TAG_DISPLACED;
		}
		return;
	}
	/* Acquire: pairs with the release in bucket_clear, as in index_find. */
	atomic_thread_fence(memory_order_acquire);
	if (primary_hits == 0 && version_same(primary, primary_version) &&
	    version_same(alternate, alternate_version) && probe_is_current(st, p))
		p->state = PROBE_MISS;
}

/* ---- from a probe to an item ---- */

/* Finds a key by its place. Out of line: hardly any key of a batch needs it. */
static __attribute__((noinline)) uint32_t
find_at(struct store_core *sc, struct view key, struct place *place)
{
	uint32_t tries;
	const uint32_t ref = index_find(&sc->store->ix, key, place, &tries);

	if (unlikely(tries != 0)) {
		count(sc, STORE_RETRIES, tries);
		count(sc, STORE_RETRIES_EXHAUSTED, tries == INDEX_TRIES_MAX);
	}
	return ref;
}

/* Looks the key up from the start. A candidate has overwritten the probe's place, so the key is
 * hashed again. */
static uint32_t
find(struct store_core *sc, const struct probe *p, struct view key)
{
	const struct index *ix = &sc->store->ix;
	struct place place = {.primary = p->bucket, .seq = p->seq, .tag = p->tag};

	if (p->state == PROBE_CANDIDATE)
		place = index_place(ix, index_hash(ix, key));
	else
		place.alternate = probe_alternate_bucket(sc->store, p);
	return find_at(sc, key, &place);
}

void
store_read_missed(struct store_core *sc, uint64_t hash)
{
	eviction_missed(&sc->store->slab, hash);
}

static __attribute__((noinline)) const struct item *
missed(struct store_core *sc, struct view key)
{
	store_read_missed(sc, index_hash(&sc->store->ix, key));
	return NULL;
}

static const struct item *
miss_dead(struct store_core *sc, const struct item *it, uint32_t generation)
{
	account_missed(sc, it, generation);
	return NULL;
}

/* Returns the item, or NULL if it is flushed or expired. The caller must have read the generation
 * before the lookup: after an item has left the index its generation number may come into use
 * again, and the item would seem alive (sweep.c). */
static inline const struct item *
item_if_alive(struct store_core *sc, uint32_t ref, uint32_t generation)
{
	const struct item *it = item_at(sc->store, ref);

	if (ref == 0)
		return NULL;
	protocol_gap();
	if (unlikely(item_flushed(it, generation) || item_expired(it, sc->now_s)))
		return miss_dead(sc, it, generation);
	return it;
}

/* Returns the item with its reference bit set, or NULL if it is dead. Out of line: few gets need
 * it. */
static __attribute__((noinline)) const struct item *
get_item(struct store_core *sc, uint32_t ref, struct view key, uint32_t generation)
{
	const struct item *it = item_if_alive(sc, ref, generation);

	if (ref == 0)
		return missed(sc, key);
	if (it != NULL)
		item_bump(sc, it, ref);
	return it;
}

/* True if the item is still in its slot. It is enough to compare tag and reference, since a
 * reference is not reused within a turn. A resize clears the slot before a writer can use the key's
 * new bucket (migrate.c), so it is noticed, too. */
static inline bool
probe_is_valid(const struct store *st, const struct probe *p)
{
	const struct bucket *b = index_bucket(&st->ix, p->bucket);

	return bucket_tag(b, p->slot) == p->tag && bucket_ref(b, p->slot) == p->ref;
}

/* Returns the candidate if it has the key, otherwise what a lookup finds. Out of line: items
 * with optional fields are few, and an item without them comes here only once for each reference
 * stamp. */
static __attribute__((noinline)) const struct item *
probe_resolve_slow(struct store_core *sc, const struct probe *p, struct view key,
		   uint32_t generation)
{
	const bool same = item_has_key(item_at(sc->store, p->ref), key);

	return get_item(sc, same ? p->ref : find(sc, p, key), key, generation);
}

/* Returns the item of a probe, or NULL. A single comparison recognises most hits: a simple item of
 * the present flush generation and reference stamp, with a key of this length. */
static inline const struct item *
probe_resolve(const struct store_get_batch *batch, const struct probe *p, struct view key)
{
	const struct item *it = item_at(batch->store, p->ref);

	if (likely(item_is_fast_hit(it, key.len, batch->generation, batch->reference_stamp) &&
		   bytes_same(it->body, key.data, key.len)))
		return it;
	return probe_resolve_slow(batch->core, p, key, batch->generation);
}

/* ---- the interface ---- */

uint64_t
store_probe(const struct store_core *sc, struct probe *p, struct view key)
{
	return probe_start(sc->store, p, key);
}

bool
store_probe_primary(const struct store_core *sc, struct probe *p)
{
	return probe_primary(sc->store, p) == PROBE_ALTERNATE;
}

bool
store_probe_primary_to_write(const struct store_core *sc, struct probe *p)
{
	const struct store *st = sc->store;

	if (store_probe_primary(sc, p))
		return true;
	if (p->state == PROBE_CANDIDATE)
		slab_prefetch_state(&st->slab,
				    p->ref); /* the caller is a set, which will clear the state */
	if (p->state == PROBE_MISS &&
	    bucket_empty_slot(index_bucket(&st->ix, p->bucket)) == BUCKET_SLOTS)
		prefetch(index_bucket(&st->ix, probe_alternate_bucket(st, p)));
	return false;
}

void
store_probe_alternate(const struct store_core *sc, struct probe *p)
{
	probe_alternate(sc->store, p);
}

struct store_get_batch
store_get_batch_begin(struct store_core *sc)
{
	return (struct store_get_batch){
		.core = sc,
		.store = sc->store,
		.generation = store_generation(sc->store),
		.reference_stamp = slab_reference_stamp(&sc->store->slab),
	};
}

const struct item *
store_get_in_batch(const struct store_get_batch *batch, const struct probe *p, struct view key)
{
	if (likely(p->state == PROBE_CANDIDATE && probe_is_valid(batch->store, p)))
		return probe_resolve(batch, p, key);
	if (p->state == PROBE_MISS && probe_misses_still(batch->store, p))
		return missed(batch->core, key);
	return get_item(batch->core, find(batch->core, p, key), key, batch->generation);
}

const struct item *
store_get_probed(struct store_core *sc, const struct probe *p, struct view key)
{
	const struct store_get_batch batch = store_get_batch_begin(sc);

	return store_get_in_batch(&batch, p, key);
}

const struct item *
store_get(struct store_core *sc, struct view key, uint64_t hash)
{
	const uint32_t generation = store_generation(sc->store);
	struct place place = index_place(&sc->store->ix, hash);

	return get_item(sc, find_at(sc, key, &place), key, generation);
}

const struct item *
store_peek_probed(struct store_core *sc, const struct probe *p, struct view key)
{
	const uint32_t generation = store_generation(sc->store);
	const bool valid = p->state == PROBE_CANDIDATE && probe_is_valid(sc->store, p) &&
			   item_has_key(item_at(sc->store, p->ref), key);

	return item_if_alive(sc, valid ? p->ref : find(sc, p, key), generation);
}

const struct item *
store_peek(struct store_core *sc, struct view key, uint64_t hash)
{
	const uint32_t generation = store_generation(sc->store);
	struct place place = index_place(&sc->store->ix, hash);
	const uint32_t ref = find_at(sc, key, &place);
	const struct item *it = item_at(sc->store, ref);

	protocol_gap();
	if (ref == 0 || item_flushed(it, generation) || item_expired(it, sc->now_s))
		return NULL;
	return it;
}

/* Reads the primary bucket as index_find() does. Only a clear overflow bit proves that the key is
 * absent. */
bool
store_lacks(const struct store_core *sc, uint64_t hash)
{
	const struct index *ix = &sc->store->ix;
	const struct place place = index_place(ix, hash);
	const struct bucket *primary = index_bucket(ix, place.primary);
	const uint32_t version = version_open(primary);
	const uint32_t hits = bucket_match(primary, place.tag);

	/* Acquire: pairs with the release in bucket_clear, as in index_find. */
	atomic_thread_fence(memory_order_acquire);
	return hits == 0 && !version_overflows(version, place.tag) &&
	       version_same(primary, version) && place_is_current(ix, &place);
}

void
store_bump(struct store_core *sc, const struct item *it)
{
	item_bump(sc, it, item_ref(sc->store, it));
}

bool
store_is_fetched(const struct store_core *sc, const struct item *it)
{
	return (item_head(it) & ITEM_FETCHED) != 0;
}

struct view
store_value_at(const struct store_core *sc, const struct item *it, uint32_t offset)
{
	if (unlikely((item_form(it) & ITEM_FORM_SHAPE) != 0))
		return item_value_at(sc->store, it, offset);
	return (struct view){it->body + item_key_len(it) + offset,
			     (item_head(it) >> 8 & ITEM_LEN_MAX) - offset};
}
