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

struct spot
index_spot_of_key(const struct index *ix, const struct place *p, struct view key)
{
	const uint32_t buckets[2] = {p->home, p->away};
	uint32_t ref;

	for (uint32_t i = 0; i < 2; i++) {
		struct bucket *b = index_bucket(ix, buckets[i]);
		const uint32_t slot = bucket_scan(ix, b, key, p->tag, &ref);

		if (slot < BUCKET_SLOTS)
			return (struct spot){b, slot};
	}
	return (struct spot){NULL, 0};
}

struct spot
index_spot_of_ref(const struct index *ix, const struct place *p, uint32_t ref)
{
	const uint32_t buckets[2] = {p->home, p->away};

	for (uint32_t i = 0; i < 2; i++) {
		struct bucket *b = index_bucket(ix, buckets[i]);

		for (uint32_t hits = bucket_match(b, p->tag); hits != 0; hits &= hits - 1) {
			const uint32_t slot = (uint32_t)__builtin_ctz(hits);

			if (bucket_ref(b, slot) == ref)
				return (struct spot){b, slot};
		}
	}
	return (struct spot){NULL, 0};
}

struct spot
index_spot_empty(const struct index *ix, const struct place *p)
{
	const uint32_t buckets[2] = {p->home, p->away};

	for (uint32_t i = 0; i < 2; i++) {
		struct bucket *b = index_bucket(ix, buckets[i]);
		const uint32_t slot = bucket_empty_slot(b);

		if (slot < BUCKET_SLOTS)
			return (struct spot){b, slot};
	}
	return (struct spot){NULL, 0};
}
