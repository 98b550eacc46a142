#include "index.h"

void
index_init(struct index *ix, struct region *region, const struct arena *arena,
	   uint32_t bucket_count)
{
	ensure(bucket_count >= INDEX_BUCKETS_MIN && bucket_count % 2 == 0);
	ix->buckets = region_take(region, bucket_count * sizeof(struct bucket), CACHE_LINE_BYTES);
	ix->arena = arena;
	ix->bucket_count = bucket_count;
}

void
bucket_lock(struct bucket *b)
{
	for (;;) {
		uint32_t v = atomic_load_explicit(&b->version, memory_order_relaxed);

		/* Acquire: pairs with the release in bucket_unlock. Sequentially consistent, so
		 * that what we read next (the flush generation) is read after the bit is out. */
		if ((v & VERSION_LOCK) == 0 && atomic_compare_exchange_weak_explicit(
						       &b->version, &v, v | VERSION_LOCK,
						       memory_order_seq_cst, memory_order_relaxed))
			return;
		spin_pause();
	}
}

void
bucket_unlock(struct bucket *b)
{
	const uint32_t v = atomic_load_explicit(&b->version, memory_order_relaxed);

	/* Release: pairs with the acquire in bucket_lock. */
	atomic_store_explicit(&b->version, v & ~VERSION_LOCK, memory_order_release);
}

void
bucket_lock_both(struct bucket *a, struct bucket *b)
{
	const bool swap = !mutant_lock_order() && b < a;

	bucket_lock(swap ? b : a);
	protocol_gap();
	bucket_lock(swap ? a : b);
}

void
bucket_unlock_both(struct bucket *a, struct bucket *b)
{
	bucket_unlock(a);
	bucket_unlock(b);
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
