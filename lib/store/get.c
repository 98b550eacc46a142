/*
 * get.c - from keys to items, one at a time or in batches.
 *
 * A get from memory waits twice: for the primary bucket and for the item. It waits a third time,
 * for the alternate bucket, if its tag is not in the primary bucket and the overflow bit is set; if
 * the bit is clear, that is a miss. A batch takes these steps in groups of keys, each group some
 * steps behind the one before, so that no step waits for the slowest key.
 */
#include "account.h"
#include "item_access.h"

/* Bytes of an item that are prefetched: what a lookup reads of one with a key of 16 bytes; and,
 * where the value is read next, a value of 32 bytes, too. An object may begin anywhere in a line,
 * so that is one line or two. */
#define HEAD_BYTES  24u
#define WHOLE_BYTES 56u

/* Keys of a batch that take a step together: memory has answered the first when the last is asked
 * for (STORE_DECISIONS.md). */
#define GROUP 32u
#define STEPS 4u /* groups on their way; a power of two */

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

	/* The other fields have a meaning once the state says so. */
	p->bucket = place.primary;
	p->seq = place.seq;
	p->tag = place.tag;
	p->state = PROBE_PENDING;
	/* Outside a resize the alternate bucket follows from the tag, if it is needed. */
	if (unlikely((place.seq & GEOMETRY_RESIZING) != 0))
		p->ref = place.alternate;
	prefetch(index_bucket(&st->ix, place.primary));
	return hash;
}

/* Of a probe that has not seen anything. */
static inline uint32_t
probe_alternate_bucket(const struct store *st, const struct probe *p)
{
	if (unlikely((p->seq & GEOMETRY_RESIZING) != 0))
		return p->ref;

	const uint32_t bucket_count = index_bucket_count(&st->ix);

	/* If the geometry has changed, the primary bucket twice will do: no miss counts. */
	return likely(index_seq(&st->ix) == p->seq)
		       ? bucket_alternate(bucket_count, p->bucket, p->tag)
		       : p->bucket;
}

/* Note the first of the matching slots; there is one. */
static inline enum probe_state
probe_note_candidate(const struct store *st, struct probe *p, const struct bucket *b, uint32_t hits,
		     uint32_t ahead)
{
	const uint32_t slot = (uint32_t)__builtin_ctz(hits);
	const uint32_t ref = bucket_ref(b, slot);
	const uint8_t *it = arena_at(&st->arena, ref);

	/* A writer has emptied the slot between the two looks. */
	if (unlikely(ref == 0)) {
		if (p->state == PROBE_PENDING)
			p->state = PROBE_RETRY;
		return (enum probe_state)p->state;
	}
	p->state = PROBE_CANDIDATE;
	p->slot = (uint8_t)slot;
	p->ref = ref;
	prefetch(it);
	prefetch(it + ahead - 1);
	return PROBE_CANDIDATE;
}

/* A miss counts only under the geometry it was looked for in. */
static inline bool
probe_is_current(const struct store *st, const struct probe *p)
{
	return likely(atomic_load_explicit(&st->ix.seq, memory_order_relaxed) == p->seq);
}

static inline enum probe_state
probe_primary(const struct store *st, struct probe *p, uint32_t ahead)
{
	const struct bucket *primary = index_bucket(&st->ix, p->bucket);
	const uint32_t version = version_open(primary);
	const uint32_t hits = bucket_match(primary, p->tag);

	if (hits != 0)
		return probe_note_candidate(st, p, primary, hits, ahead);
	if (unlikely(p->state != PROBE_PENDING)) /* the step was taken before */
		return (enum probe_state)p->state;
	/* Acquire: pairs with the release in bucket_clear, as in index_find. */
	atomic_thread_fence(memory_order_acquire);
	if (!version_overflows(version, p->tag) && version_same(primary, version) &&
	    probe_is_current(st, p)) {
		p->state = PROBE_MISS;
		return PROBE_MISS;
	}
	p->ref = probe_alternate_bucket(st, p);
	/* A bucket computed with another number of buckets may not exist. */
	if (!probe_is_current(st, p)) {
		p->state = PROBE_RETRY;
		return PROBE_RETRY;
	}
	p->state = PROBE_ALTERNATE;
	prefetch(index_bucket(&st->ix, p->ref));
	return PROBE_ALTERNATE;
}

/* The primary bucket is read again: index_find says why both versions come first. */
static inline void
probe_alternate(const struct store *st, struct probe *p, uint32_t ahead)
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

		if (likely(probe_note_candidate(st, p, alternate, alternate_hits, ahead) ==
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

/* ---- what they lead to ---- */

/* Out of line: hardly any key of a batch needs it. */
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

/* Look the key up from the start; the hash is computed again only if the probe no longer has it. */
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

static const struct item *
miss_dead(struct store_core *sc, const struct item *it, uint32_t generation)
{
	account_missed(sc, it, generation);
	return NULL;
}

/* The generation was read before the lookup found the reference: once an item is out of the index
 * its generation's number may return, while a reader still judges it. */
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

/* Out of line, too. */
static __attribute__((noinline)) const struct item *
get_item(struct store_core *sc, uint32_t ref, uint32_t generation)
{
	const struct item *it = item_if_alive(sc, ref, generation);

	if (it != NULL)
		item_bump(sc, it, ref);
	return it;
}

/* Is the item still in its slot? Any change since has changed the slot, since a reference comes
 * back in a later turn only. A resize has changed it, too: it clears the slot before a writer can
 * use the key's new bucket (migrate.c). */
static inline bool
probe_is_valid(const struct store *st, const struct probe *p)
{
	const struct bucket *b = index_bucket(&st->ix, p->bucket);

	return bucket_tag(b, p->slot) == p->tag && bucket_ref(b, p->slot) == p->ref;
}

/* The item seen if it is the key's, else the one found. Out of line: few items have optional
 * fields, and the others come here once a reference stamp. */
static __attribute__((noinline)) const struct item *
probe_resolve_slow(struct store_core *sc, const struct probe *p, struct view key,
		   uint32_t generation)
{
	const bool same = item_has_key(item_at(sc->store, p->ref), key);

	return get_item(sc, same ? p->ref : find(sc, p, key), generation);
}

/* The item seen if it is the key's: a hit, and a hit is final. One compare tells the usual item:
 * simple, of this flush generation, referenced, with a key of this length. */
static inline const struct item *
probe_resolve(const struct store_run *run, const struct probe *p, struct view key)
{
	const struct item *it = item_at(run->store, p->ref);

	if (likely(item_is_fast_hit(it, key.len, run->generation, run->reference_stamp) &&
		   bytes_same(it->body, key.data, key.len)))
		return it;
	return probe_resolve_slow(run->core, p, key, run->generation);
}

/* This core did nothing else since the steps before, so what they saw is the answer: writes of
 * other cores meanwhile count as later. */
static inline const struct item *
probe_finish(const struct store_run *run, const struct probe *p, struct view key)
{
	if (p->state == PROBE_CANDIDATE)
		return probe_resolve(run, p, key);
	return p->state == PROBE_MISS
		       ? NULL
		       : get_item(run->core, find(run->core, p, key), run->generation);
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
	return probe_primary(sc->store, p, WHOLE_BYTES) == PROBE_ALTERNATE;
}

bool
store_probe_primary_to_write(const struct store_core *sc, struct probe *p)
{
	const struct store *st = sc->store;

	if (store_probe_primary(sc, p))
		return true;
	if (p->state == PROBE_MISS &&
	    bucket_empty_slot(index_bucket(&st->ix, p->bucket)) == BUCKET_SLOTS)
		prefetch(index_bucket(&st->ix, probe_alternate_bucket(st, p)));
	return false;
}

void
store_probe_alternate(const struct store_core *sc, struct probe *p)
{
	probe_alternate(sc->store, p, WHOLE_BYTES);
}

struct store_run
store_run(struct store_core *sc)
{
	return (struct store_run){
		.core = sc,
		.store = sc->store,
		.generation = store_generation(sc->store),
		.reference_stamp = slab_reference_stamp(&sc->store->slab),
	};
}

const struct item *
store_get_run(const struct store_run *run, const struct probe *p, struct view key)
{
	if (likely(p->state == PROBE_CANDIDATE && probe_is_valid(run->store, p)))
		return probe_resolve(run, p, key);
	return get_item(run->core, find(run->core, p, key), run->generation);
}

const struct item *
store_get_probed(struct store_core *sc, const struct probe *p, struct view key)
{
	const struct store_run run = store_run(sc);

	return store_get_run(&run, p, key);
}

const struct item *
store_get(struct store_core *sc, struct view key, uint64_t hash)
{
	const uint32_t generation = store_generation(sc->store);
	struct place place = index_place(&sc->store->ix, hash);

	return get_item(sc, find_at(sc, key, &place), generation);
}

const struct item *
store_peek_probed(struct store_core *sc, const struct probe *p, struct view key)
{
	const uint32_t generation = store_generation(sc->store);
	const bool stands = p->state == PROBE_CANDIDATE && probe_is_valid(sc->store, p) &&
			    item_has_key(item_at(sc->store, p->ref), key);

	return item_if_alive(sc, stands ? p->ref : find(sc, p, key), generation);
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

/* ---- batches ---- */

/* One group of keys between two steps. */
struct flight {
	struct probe probes[GROUP];
	const struct view *keys;
	uint32_t count;
	uint32_t open; /* bit i: key i is looked for in its alternate bucket */
};

static inline void
flight_start(const struct store *st, struct flight *f, const struct view *keys, uint32_t count)
{
	f->keys = keys;
	f->count = count < GROUP ? count : GROUP;
	f->open = 0;
	for (uint32_t i = 0; i < f->count; i++)
		probe_start(st, &f->probes[i], keys[i]);
}

static inline void
flight_probe_primary(const struct store *st, struct flight *f)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (probe_primary(st, &f->probes[i], HEAD_BYTES) == PROBE_ALTERNATE)
			f->open |= 1u << i;
}

static inline void
flight_probe_alternate(const struct store *st, struct flight *f)
{
	for (uint32_t open = f->open; open != 0; open &= open - 1)
		probe_alternate(st, &f->probes[__builtin_ctz(open)], HEAD_BYTES);
}

static inline void
flight_finish(const struct store_run *run, const struct flight *f, const struct item **items)
{
	for (uint32_t i = 0; i < f->count; i++)
		items[i] = probe_finish(run, &f->probes[i], f->keys[i]);
}

/* Flattened: gcc does not inline the hash of a short key, which costs a tenth. */
__attribute__((flatten)) void
store_get_many(struct store_core *sc, const struct view *keys, uint32_t count,
	       const struct item **items)
{
	const struct store *st = sc->store;
	const struct store_run run = store_run(sc);
	const uint32_t groups = (count + GROUP - 1) / GROUP;
	struct flight flights[STEPS];

	/* Numbers below 0 wrap to large ones: those groups do not exist. */
	for (uint32_t n = 0; n < groups + STEPS - 1; n++) {
		if (n < groups)
			flight_start(st, &flights[n % STEPS], keys + n * GROUP, count - n * GROUP);
		if (n - 1 < groups)
			flight_probe_primary(st, &flights[(n - 1) % STEPS]);
		if (n - 2 < groups)
			flight_probe_alternate(st, &flights[(n - 2) % STEPS]);
		if (n - 3 < groups)
			flight_finish(&run, &flights[(n - 3) % STEPS], items + (n - 3) * GROUP);
	}
}

struct view
store_value_at(const struct store_core *sc, const struct item *it, uint32_t offset)
{
	if (unlikely((item_form(it) & ITEM_FORM_SHAPE) != 0))
		return item_value_at(sc->store, it, offset);
	return (struct view){it->body + item_key_len(it) + offset,
			     (item_head(it) >> 8 & ITEM_LEN_MAX) - offset};
}
