/*
 * index.c - geometry, locks and slots of the index; the lookup is in index.h.
 */
#include "geometry.h"

void
index_bind(struct index *ix, const struct arena *arena)
{
	ix->buckets = (struct bucket *)(void *)arena_page(arena, 0);
	ix->arena = arena;
}

void
index_init(struct index *ix, uint32_t bucket_count, uint64_t seed)
{
	ensure(bucket_count >= INDEX_BUCKETS_MIN && bucket_count % 2 == 0);
	ix->seed = seed;
	atomic_init(&ix->bucket_count, bucket_count);
}

struct place
index_place_resizing(const struct index *ix, uint64_t hash)
{
	const struct geometry g = geometry_now(ix);

	if ((g.seq & GEOMETRY_RESIZING) != 0)
		return geometry_place(&g, hash);

	struct place p = place_among(g.old_count, hash); /* the resize has ended */

	p.seq = g.seq;
	return p;
}

uint32_t
index_bucket_target(const struct index *ix)
{
	const struct geometry g = geometry_now(ix);

	return (g.seq & GEOMETRY_RESIZING) != 0 ? g.new_count : g.old_count;
}

uint32_t
index_bucket_end(const struct index *ix)
{
	const struct geometry g = geometry_now(ix);

	return (g.seq & GEOMETRY_RESIZING) != 0 && g.new_count > g.old_count ? g.new_count
									     : g.old_count;
}

/* ---- geometry.h ---- */

void
geometry_begin(struct index *ix, uint32_t new_count)
{
	const uint32_t seq = atomic_load_explicit(&ix->seq, memory_order_relaxed);
	const uint32_t first = (seq + GEOMETRY_STEP) | GEOMETRY_RESIZING;

	/* Release: pairs with the fence in geometry_now, so a core that reads these values sees the
	 * end of the previous resize. */
	atomic_store_explicit(&ix->new_count, new_count, memory_order_release);
	atomic_store_explicit(&ix->first_seq, first, memory_order_release);
	/* Release: pairs with the acquire in index_seq. */
	atomic_store_explicit(&ix->seq, first, memory_order_release);
}

uint32_t
geometry_next(const struct index *ix)
{
	const struct geometry g = geometry_now(ix);

	if (g.migrated == g.old_count)
		return UINT32_MAX;
	return g.new_count > g.old_count ? g.old_count - 1 - g.migrated : g.migrated;
}

/* spread() rounds down, so an old bucket corresponds to a range of hashes. The ends of the range
 * give the first and the last new bucket. */
void
geometry_new_primaries(const struct index *ix, uint32_t bucket, uint32_t *first, uint32_t *last)
{
	const struct geometry g = geometry_now(ix);

	*first = (uint32_t)((uint64_t)bucket * g.new_count / g.old_count);
	*last = (uint32_t)((((uint64_t)bucket + 1) * g.new_count - 1) / g.old_count);
}

struct geometry
geometry_after(const struct index *ix)
{
	struct geometry g = geometry_now(ix);

	g.migrated++;
	return g;
}

void
geometry_step(struct index *ix)
{
	const uint32_t seq = atomic_load_explicit(&ix->seq, memory_order_relaxed);

	/* Release: pairs with the acquire in index_seq. */
	atomic_store_explicit(&ix->seq, seq + GEOMETRY_STEP, memory_order_release);
}

void
geometry_end(struct index *ix)
{
	const uint32_t seq = atomic_load_explicit(&ix->seq, memory_order_relaxed);
	const uint32_t count = atomic_load_explicit(&ix->new_count, memory_order_relaxed);

	/* Release: pairs with the acquire in index_bucket_count. */
	atomic_store_explicit(&ix->bucket_count, count, memory_order_release);
	/* Release: pairs with the acquire in index_seq. */
	atomic_store_explicit(&ix->seq, (seq + GEOMETRY_STEP) & ~GEOMETRY_RESIZING,
			      memory_order_release);
}

/* ---- for writers ---- */

void
bucket_lock_wait(struct bucket *b)
{
	do
		spin_pause();
	while (!bucket_try_lock(b));
}

void
bucket_lock_both(struct bucket *a, struct bucket *b)
{
	const bool swap = b < a;

	bucket_lock(swap ? b : a);
	protocol_gap();
	if (likely(a != b))
		bucket_lock(swap ? a : b);
}

void
bucket_unlock_both(struct bucket *a, struct bucket *b)
{
	bucket_unlock(a);
	if (likely(a != b))
		bucket_unlock(b);
}

static void
lock_place(const struct index *ix, const struct place *p)
{
	bucket_lock_both(index_bucket(ix, p->primary), index_bucket(ix, p->alternate));
}

struct place
index_lock(const struct index *ix, uint64_t hash)
{
	struct place p = index_place(ix, hash);

	protocol_gap();
	lock_place(ix, &p);
	/* Repeated only if the key has left one of the two buckets meanwhile, which can happen
	 * twice in a resize. Locking a bucket pairs with the unlock by the core that emptied it, so
	 * that core's step of the geometry is visible here. */
	while (unlikely(!place_is_current(ix, &p))) {
		const struct place now = index_place(ix, hash);

		if (now.primary == p.primary && now.alternate == p.alternate)
			return now;
		index_unlock(ix, &p);
		p = now;
		lock_place(ix, &p);
	}
	return p;
}

void
index_unlock(const struct index *ix, const struct place *p)
{
	bucket_unlock_both(index_bucket(ix, p->primary), index_bucket(ix, p->alternate));
}

/* Returns the place without its alternate bucket, except during a resize, when that is computed
 * together with the primary one. */
static inline struct place
primary_place(const struct index *ix, uint64_t hash)
{
	const uint32_t seq = index_seq(ix);

	if (unlikely((seq & GEOMETRY_RESIZING) != 0))
		return index_place_resizing(ix, hash);
	return (struct place){.primary = hash_primary(index_bucket_count(ix), hash),
			      .seq = seq,
			      .tag = hash_tag(hash)};
}

/* Locks as index_lock does, but only the primary bucket. */
static inline struct place
lock_primary(const struct index *ix, uint64_t hash)
{
	struct place p = primary_place(ix, hash);

	protocol_gap();
	bucket_lock(index_bucket(ix, p.primary));
	while (unlikely(!place_is_current(ix, &p))) {
		const struct place now = primary_place(ix, hash);

		if (now.primary == p.primary)
			return now;
		bucket_unlock(index_bucket(ix, p.primary));
		p = now;
		bucket_lock(index_bucket(ix, p.primary));
	}
	return p;
}

/* Returns one of the key's buckets (alternate: which), with the key's tag as that bucket stores
 * it. */
static inline struct spot
spot_in(const struct index *ix, const struct place *p, bool alternate)
{
	return (struct spot){.bucket = index_bucket(ix, alternate ? p->alternate : p->primary),
			     .tag = alternate ? p->tag | TAG_DISPLACED : p->tag};
}

/* Returns the slot of a key that is not in its primary bucket. */
static struct spot
spot_in_alternate(const struct index *ix, const struct place *p, struct view key)
{
	const struct bucket *primary = index_bucket(ix, p->primary);
	const uint32_t version = atomic_load_explicit(&primary->version, memory_order_relaxed);
	struct spot s = spot_in(ix, p, true);
	uint32_t ref;

	if (!version_overflows(version, p->tag))
		return (struct spot){.bucket = NULL};
	s.slot = bucket_scan(ix, s.bucket, key, s.tag, &ref);
	return s.slot < BUCKET_SLOTS ? s : (struct spot){.bucket = NULL};
}

/* Locks the alternate bucket, too. A try need not follow the order of addresses. If it fails, both
 * buckets are released and locked in that order. */
static __attribute__((noinline)) void
lock_both(const struct index *ix, struct view key, uint64_t hash, enum lock_scope scope,
	  struct key_lock *lock)
{
	struct bucket *primary = index_bucket(ix, lock->place.primary);
	const struct place now = index_place(ix, hash);

	lock->both = true;
	if (now.primary == lock->place.primary && now.primary != now.alternate &&
	    bucket_try_lock(index_bucket(ix, now.alternate))) {
		if (place_is_current(ix, &now)) {
			lock->place = now;
			lock->spot = scope == LOCK_BOTH ? index_spot_of_key(ix, &now, key)
							: spot_in_alternate(ix, &now, key);
			return;
		}
		bucket_unlock(index_bucket(ix, now.alternate));
	}
	bucket_unlock(primary);
	lock->place = index_lock(ix, hash);
	lock->spot = index_spot_of_key(ix, &lock->place, key);
}

void
index_lock_key(const struct index *ix, struct view key, uint64_t hash, enum lock_scope need,
	       struct key_lock *lock)
{
	uint32_t ref;

	lock->place = lock_primary(ix, hash);
	lock->both = false;

	struct bucket *primary = index_bucket(ix, lock->place.primary);
	const uint32_t version = atomic_load_explicit(&primary->version, memory_order_relaxed);

	if (likely(need != LOCK_BOTH)) {
		lock->spot = (struct spot){.bucket = primary, .tag = lock->place.tag};
		lock->spot.slot = bucket_scan(ix, primary, key, lock->place.tag, &ref);
		if (lock->spot.slot < BUCKET_SLOTS)
			return;
		protocol_gap();
		lock->spot.bucket = NULL;
		if (!version_overflows(version, lock->place.tag) &&
		    (need == LOCK_KEY || bucket_empty_slot(primary) < BUCKET_SLOTS))
			return;
	}
	lock_both(ix, key, hash, need, lock);
}

void
index_unlock_key(const struct index *ix, const struct key_lock *lock)
{
	bucket_unlock(index_bucket(ix, lock->place.primary));
	if (unlikely(lock->both) && lock->place.alternate != lock->place.primary)
		bucket_unlock(index_bucket(ix, lock->place.alternate));
}

uint32_t
bucket_empty_slot(const struct bucket *b)
{
	/* An empty slot and a tombstone both have tag 0; only the reference differs. */
	for (uint32_t free = bucket_match(b, 0); free != 0; free &= free - 1) {
		const uint32_t slot = (uint32_t)__builtin_ctz(free);

		if (atomic_load_explicit(&b->ref[slot], memory_order_relaxed) == 0)
			return slot;
	}
	return BUCKET_SLOTS;
}

struct spot
index_spot_of_key(const struct index *ix, const struct place *p, struct view key)
{
	uint32_t ref;

	for (uint32_t i = 0; i < 2; i++) {
		struct spot s = spot_in(ix, p, i != 0);

		s.slot = bucket_scan(ix, s.bucket, key, s.tag, &ref);
		if (s.slot < BUCKET_SLOTS)
			return s;
	}
	return (struct spot){.bucket = NULL};
}

struct spot
index_spot_of_ref(const struct index *ix, const struct place *p, uint32_t ref)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct spot s = spot_in(ix, p, i != 0);

		s.slot = bucket_slot_of(s.bucket, s.tag, ref);
		if (s.slot < BUCKET_SLOTS)
			return s;
	}
	return (struct spot){.bucket = NULL};
}

struct spot
index_spot_empty(const struct index *ix, const struct place *p)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct spot s = spot_in(ix, p, i != 0);

		s.slot = bucket_empty_slot(s.bucket);
		if (s.slot < BUCKET_SLOTS)
			return s;
	}
	return (struct spot){.bucket = NULL};
}

void
index_put(const struct index *ix, const struct place *p, struct spot spot, uint32_t ref)
{
	if ((spot.tag & TAG_DISPLACED) != 0)
		bucket_overflow(index_bucket(ix, p->primary), p->tag);
	protocol_gap();
	bucket_put(spot.bucket, spot.slot, ref, spot.tag);
}

/* The new slot is filled, then the version incremented, then the old slot cleared. So a lookup
 * finds the key in one of the two, or notices the version. An item that leaves its primary
 * bucket sets the overflow bit first. One that returns leaves the bit set, since other items may
 * need it. */
void
bucket_move(struct bucket *from, uint32_t slot, struct bucket *to, uint32_t empty)
{
	const uint32_t ref = bucket_ref(from, slot);
	const uint16_t tag = bucket_tag(from, slot);

	if ((tag & TAG_DISPLACED) == 0)
		bucket_overflow(from, tag);
	bucket_put(to, empty, ref, tag ^ TAG_DISPLACED);
	protocol_gap();
	bucket_moved(from);
	protocol_gap();
	bucket_clear(from, slot);
}
