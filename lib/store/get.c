/*
 * get.c - from keys to items, one at a time or many on their way at once.
 *
 * A get from memory is three waits: for the home bucket, for the other one if the tag is not in
 * the first, for the item. What counts is the number of lines asked for: the other bucket is left
 * alone where the home has the tag. A batch is a pipeline, every key some stages behind the one
 * before it, so that no stage waits for the slowest key.
 */
#include "inside.h"

/* How much of an item is asked for: what a lookup reads of one whose key has 16 bytes; and where
 * the value is read next, one of 32 bytes too. An object begins anywhere in a line, so that may be
 * one line or two. */
#define HEAD_BYTES  24u
#define WHOLE_BYTES 56u

/* Keys between two stages: enough to cover the time memory takes (README, decisions). */
#define DEPTH  8u
#define STAGES 4u
#define FLIGHT (DEPTH * STAGES) /* a power of two */

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

	*p = (struct probe){.place = index_place(&st->ix, hash)};
	prefetch(index_bucket(&st->ix, p->place.home));
	return hash;
}

static inline void
probe_see(const struct store *st, struct probe *p, const struct bucket *b, uint32_t hits,
	  uint32_t first_slot, uint32_t ahead)
{
	const uint32_t slot = (uint32_t)__builtin_ctz(hits);
	const uint32_t ref = bucket_ref(b, slot);
	const uint8_t *it = arena_at(&st->arena, ref);

	if (ref == 0)
		return;
	p->state = PROBE_SEEN;
	p->slot = (uint16_t)(first_slot + slot);
	p->ref = ref;
	prefetch(it);
	prefetch(it + ahead - 1);
	slab_prefetch_mark(&st->slab, ref);
}

static inline void
probe_home(const struct store *st, struct probe *p, uint32_t ahead)
{
	const struct bucket *home = index_bucket(&st->ix, p->place.home);
	const uint32_t hits = bucket_match(home, p->place.tag);

	if (hits != 0)
		probe_see(st, p, home, hits, 0, ahead);
	else
		prefetch(index_bucket(&st->ix, p->place.away));
}

/* With a second look into the home: index_find says why both versions come first. */
static inline void
probe_away(const struct store *st, struct probe *p, uint32_t ahead)
{
	const struct bucket *home = index_bucket(&st->ix, p->place.home);
	const struct bucket *away = index_bucket(&st->ix, p->place.away);

	if (p->state != PROBE_OPEN)
		return;

	const uint32_t home_version = version_open(home);
	const uint32_t away_version = version_open(away);
	const uint32_t home_hits = bucket_match(home, p->place.tag);

	protocol_gap();

	const uint32_t away_hits = bucket_match(away, p->place.tag);

	if (away_hits != 0) {
		probe_see(st, p, away, away_hits, BUCKET_SLOTS, ahead);
		return;
	}
	/* Acquire: pairs with the release in bucket_clear, as in index_find. */
	atomic_thread_fence(memory_order_acquire);
	if (home_hits == 0 &&
	    (mutant_no_version() ||
	     (version_same(home, home_version) && version_same(away, away_version) &&
	      (place_is_current(&st->ix, &p->place) || mutant_old_miss()))))
		p->state = PROBE_GONE;
}

static uint32_t
find(struct store_core *sc, struct view key, const struct place *place)
{
	struct place now = *place;
	uint32_t tries;
	const uint32_t ref = index_find(&sc->store->ix, key, &now, &tries);

	if (unlikely(tries != 0)) {
		count(sc, STORE_RETRIES, tries);
		count(sc, STORE_RETRIES_OVER, tries == INDEX_TRIES_MAX);
	}
	return ref;
}

/* Is the item that was seen the key's, and still where it was? Then it is a hit, and a hit is
 * final. Whatever came between has changed the slot: a reference comes back in a later turn only.
 * So has a resize, that clears the slot before anyone can write to the key's new bucket. */
static inline bool
probe_holds(const struct store *st, const struct probe *p, struct view key)
{
	const bool at_home = p->slot < BUCKET_SLOTS;
	const struct bucket *b = index_bucket(&st->ix, at_home ? p->place.home : p->place.away);
	const uint32_t slot = p->slot - (at_home ? 0 : BUCKET_SLOTS);

	return p->state == PROBE_SEEN &&
	       (mutant_stale_probe() ||
		(bucket_tag(b, slot) == p->place.tag && bucket_ref(b, slot) == p->ref)) &&
	       item_has_key(item_at(st, p->ref), key);
}

static inline const struct item *
use(struct store_core *sc, uint32_t ref)
{
	const struct store *st = sc->store;
	const struct item *it = item_at(st, ref);

	if (ref == 0 || unlikely(item_dead(sc, it)))
		return NULL;
	slab_mark(&st->slab, ref);
	if (unlikely(item_form(it) & ITEM_IS_CHUNKED))
		item_mark_chunks(st, it);
	return it;
}

static inline const struct item *
probe_get(struct store_core *sc, const struct probe *p, struct view key)
{
	return use(sc, likely(probe_holds(sc->store, p, key)) ? p->ref : find(sc, key, &p->place));
}

/* Where this core did nothing else since the steps before, what they saw is the answer: others'
 * writes meanwhile come after it. */
static inline const struct item *
probe_land(struct store_core *sc, const struct probe *p, struct view key)
{
	if (p->state == PROBE_GONE)
		return NULL;
	if (likely(p->state == PROBE_SEEN && item_has_key(item_at(sc->store, p->ref), key)))
		return use(sc, p->ref);
	return use(sc, find(sc, key, &p->place));
}

/* ---- the door ---- */

uint64_t
store_probe(const struct store_core *sc, struct probe *p, struct view key)
{
	return probe_start(sc->store, p, key);
}

void
store_prefetch_away(const struct store_core *sc, const struct probe *p)
{
	prefetch(index_bucket(&sc->store->ix, p->place.away));
}

void
store_probe_home(const struct store_core *sc, struct probe *p)
{
	probe_home(sc->store, p, WHOLE_BYTES);
}

void
store_probe_away(const struct store_core *sc, struct probe *p)
{
	probe_away(sc->store, p, WHOLE_BYTES);
}

const struct item *
store_get_probed(struct store_core *sc, const struct probe *p, struct view key)
{
	return probe_get(sc, p, key);
}

const struct item *
store_get(struct store_core *sc, struct view key, uint64_t hash)
{
	const struct probe p = {.place = index_place(&sc->store->ix, hash)};

	return probe_get(sc, &p, key);
}

void
store_get_many(struct store_core *sc, const struct view *keys, uint32_t count,
	       const struct item **items)
{
	const struct store *st = sc->store;
	struct probe probes[FLIGHT];

	/* Numbers below 0 wrap to large ones: those keys are not there yet. */
	for (uint32_t i = 0; i < count + (STAGES - 1) * DEPTH; i++) {
		const uint32_t second = i - DEPTH, third = i - 2 * DEPTH, last = i - 3 * DEPTH;

		if (i < count)
			probe_start(st, &probes[i % FLIGHT], keys[i]);
		if (second < count)
			probe_home(st, &probes[second % FLIGHT], HEAD_BYTES);
		if (third < count)
			probe_away(st, &probes[third % FLIGHT], HEAD_BYTES);
		if (last < count)
			items[last] = probe_land(sc, &probes[last % FLIGHT], keys[last]);
	}
}

struct view
store_value_at(const struct store_core *sc, const struct item *it, uint32_t offset)
{
	return item_value_at(sc->store, it, offset);
}
