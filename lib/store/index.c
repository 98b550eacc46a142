#include "index.h"

void
index_init(struct index *ix, const struct arena *arena, uint32_t bucket_count, uint64_t seed)
{
	ensure(bucket_count >= INDEX_BUCKETS_MIN && bucket_count % 2 == 0);
	ix->buckets = (struct bucket *)(void *)arena_page(arena, 0);
	ix->arena = arena;
	ix->seed = seed;
	atomic_init(&ix->bucket_count, bucket_count);
}

struct geometry {
	uint32_t seq, old_count, new_count;
	uint32_t left; /* old buckets that are empty by now */
};

static struct geometry
geometry_now(const struct index *ix)
{
	struct geometry g;
	uint32_t seq;

	/* As often as a resize begins or ends meanwhile, so hardly ever. */
	do {
		seq = index_seq(ix);
		g.old_count = atomic_load_explicit(&ix->bucket_count, memory_order_relaxed);
		g.new_count = atomic_load_explicit(&ix->new_count, memory_order_relaxed);
		g.left = (seq - atomic_load_explicit(&ix->first_seq, memory_order_relaxed)) /
			 GEOMETRY_STEP;
		/* Acquire: pairs with the releases in geometry_begin, that comes after the end of
		 * the one before. */
		atomic_thread_fence(memory_order_acquire);
		g.seq = atomic_load_explicit(&ix->seq, memory_order_relaxed);
	} while (g.seq != seq);
	return g;
}

/* Has this old bucket given its items away? They go where there is room already: from the top when
 * the index grows, from the bottom when it shrinks. */
static bool
bucket_is_left(const struct geometry *g, uint32_t bucket)
{
	return g->new_count > g->old_count ? bucket >= g->old_count - g->left : bucket < g->left;
}

static struct place
place_moving(const struct geometry *g, uint64_t hash)
{
	const struct place from = place_among(g->old_count, hash);
	const struct place to = place_among(g->new_count, hash);

	return (struct place){
		.home = bucket_is_left(g, from.home) ? to.home : from.home,
		.away = bucket_is_left(g, from.away) ? to.away : from.away,
		.seq = g->seq,
		.tag = from.tag,
	};
}

struct place
index_place_moving(const struct index *ix, uint64_t hash)
{
	const struct geometry g = geometry_now(ix);

	if ((g.seq & GEOMETRY_MOVING) != 0)
		return place_moving(&g, hash);

	struct place p = place_among(g.old_count, hash); /* it is over */

	p.seq = g.seq;
	return p;
}

uint32_t
index_bucket_target(const struct index *ix)
{
	const struct geometry g = geometry_now(ix);

	return (g.seq & GEOMETRY_MOVING) != 0 ? g.new_count : g.old_count;
}

uint32_t
index_bucket_end(const struct index *ix)
{
	const struct geometry g = geometry_now(ix);

	return (g.seq & GEOMETRY_MOVING) != 0 && g.new_count > g.old_count ? g.new_count
									   : g.old_count;
}

/* ---- for resize.c ---- */

void
geometry_begin(struct index *ix, uint32_t new_count)
{
	const uint32_t seq = atomic_load_explicit(&ix->seq, memory_order_relaxed);
	const uint32_t first = (seq + GEOMETRY_STEP) | GEOMETRY_MOVING;

	/* Release: pairs with the fence in geometry_now; who reads these sees the resize before
	 * ended. */
	atomic_store_explicit(&ix->new_count, new_count, memory_order_release);
	atomic_store_explicit(&ix->first_seq, first, memory_order_release);
	/* Release: pairs with the acquire in index_seq. */
	atomic_store_explicit(&ix->seq, first, memory_order_release);
}

uint32_t
geometry_next(const struct index *ix)
{
	const struct geometry g = geometry_now(ix);

	if (g.left == g.old_count)
		return UINT32_MAX;
	return g.new_count > g.old_count ? g.old_count - 1 - g.left : g.left;
}

/* spread() turned round: a key's home is the hash's share of the buckets, rounded down. */
void
geometry_new_homes(const struct index *ix, uint32_t bucket, uint32_t *first, uint32_t *last)
{
	const struct geometry g = geometry_now(ix);

	*first = (uint32_t)((uint64_t)bucket * g.new_count / g.old_count);
	*last = (uint32_t)((((uint64_t)bucket + 1) * g.new_count - 1) / g.old_count);
}

struct place
geometry_place_after(const struct index *ix, uint64_t hash)
{
	struct geometry g = geometry_now(ix);

	g.left++;
	return place_moving(&g, hash);
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
	atomic_store_explicit(&ix->seq, (seq + GEOMETRY_STEP) & ~GEOMETRY_MOVING,
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
	const bool swap = !mutant_lock_order() && b < a;

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
	bucket_lock_both(index_bucket(ix, p->home), index_bucket(ix, p->away));
}

struct place
index_lock(const struct index *ix, uint64_t hash)
{
	struct place p = index_place(ix, hash);

	protocol_gap();
	lock_place(ix, &p);
	/* Again only if the key has left one of the two since, which it does twice a resize. The
	 * acquire of the lock pairs with the release of whoever emptied the bucket: if that came
	 * first, we see it. */
	while (unlikely(!place_is_current(ix, &p)) && !mutant_old_pair()) {
		const struct place now = index_place(ix, hash);

		if (now.home == p.home && now.away == p.away)
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
	bucket_unlock_both(index_bucket(ix, p->home), index_bucket(ix, p->away));
}

/* As index_lock, of the home. */
static struct place
lock_home(const struct index *ix, uint64_t hash)
{
	struct place p = index_place(ix, hash);

	protocol_gap();
	bucket_lock(index_bucket(ix, p.home));
	while (unlikely(!place_is_current(ix, &p)) && !mutant_old_pair()) {
		const struct place now = index_place(ix, hash);

		if (now.home == p.home)
			return now;
		bucket_unlock(index_bucket(ix, p.home));
		p = now;
		bucket_lock(index_bucket(ix, p.home));
	}
	return p;
}

/* Where the home alone will not do. Trying is as good as the order of addresses: who fails gives
 * back what it has. */
static __attribute__((noinline)) void
hold_both(const struct index *ix, struct view key, uint64_t hash, struct hold *h)
{
	h->both = true;
	if (h->place.home != h->place.away && bucket_try_lock(index_bucket(ix, h->place.away))) {
		if (place_is_current(ix, &h->place)) {
			h->spot = index_spot_of_key(ix, &h->place, key);
			return;
		}
		bucket_unlock(index_bucket(ix, h->place.away));
	}
	bucket_unlock(index_bucket(ix, h->place.home));
	h->place = index_lock(ix, hash);
	h->spot = index_spot_of_key(ix, &h->place, key);
}

void
index_hold(const struct index *ix, struct view key, uint64_t hash, enum hold_need need,
	   struct hold *h)
{
	uint32_t ref;

	h->place = lock_home(ix, hash);
	h->both = false;

	struct bucket *home = index_bucket(ix, h->place.home);
	const uint32_t version = atomic_load_explicit(&home->version, memory_order_relaxed);

	if (likely(need != HOLD_BOTH)) {
		h->spot = (struct spot){.bucket = home, .tag = h->place.tag};
		h->spot.slot = bucket_scan(ix, home, key, h->place.tag, &ref);
		if (h->spot.slot < BUCKET_SLOTS)
			return;
		protocol_gap();
		h->spot.bucket = NULL;
		if ((!version_overflows(version, h->place.tag) || mutant_home_alone()) &&
		    (need == HOLD_KEY || bucket_empty_slot(home) < BUCKET_SLOTS))
			return;
	}
	hold_both(ix, key, hash, h);
}

void
index_release(const struct index *ix, const struct hold *h)
{
	bucket_unlock(index_bucket(ix, h->place.home));
	if (unlikely(h->both) && h->place.away != h->place.home)
		bucket_unlock(index_bucket(ix, h->place.away));
}

uint32_t
bucket_empty_slot(const struct bucket *b)
{
	/* Tag 0 is an empty slot or a zombie; the reference tells. */
	for (uint32_t free = bucket_match(b, 0); free != 0; free &= free - 1) {
		const uint32_t slot = (uint32_t)__builtin_ctz(free);

		if (atomic_load_explicit(&b->ref[slot], memory_order_relaxed) == 0)
			return slot;
	}
	return BUCKET_SLOTS;
}

/* The key's buckets, and its tag as it stands in each. */
static struct spot
spot_in(const struct index *ix, const struct place *p, bool away)
{
	return (struct spot){.bucket = index_bucket(ix, away ? p->away : p->home),
			     .tag = away ? p->tag | TAG_AWAY : p->tag};
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

		for (uint32_t hits = bucket_match(s.bucket, s.tag); hits != 0; hits &= hits - 1) {
			s.slot = (uint32_t)__builtin_ctz(hits);
			if (bucket_ref(s.bucket, s.slot) == ref)
				return s;
		}
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
	if ((spot.tag & TAG_AWAY) != 0)
		bucket_overflow(index_bucket(ix, p->home), p->tag);
	protocol_gap();
	bucket_put(spot.bucket, spot.slot, ref, spot.tag);
}
