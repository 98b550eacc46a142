/*
 * The index. Goal: the vector compare finds what the scalar one finds; a bucket's other bucket
 * leads back; the table takes 99 of 100 slots before it evicts; keys stay found while others are
 * moved; every item is where its tag says, and the primary bucket of a displaced item has its
 * overflow bit. Method: random buckets; a real table filled with the smallest items.
 */
#include "support/test.h"
#include "../store/store_rig.h"
#include "index/path.h"

#define SEED 20261121u

static uint64_t
next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 20;
}

TEST(vector_and_scalar_compare_agree_on_every_bucket)
{
	uint64_t random = SEED;

	for (int round = 0; round < 20000; round++) {
		struct bucket b;
		const uint16_t want = (uint16_t)(next_random(&random) % 4 * 0x5555);

		memset(&b, (int)next_random(&random), sizeof b);
		for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
			b.tag[i] = (uint16_t)(next_random(&random) % 4 * 0x5555);
		check_eq(bucket_match(&b, want), bucket_match_scalar(&b, want));
		for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
			check_eq(bucket_displaced(&b) >> i & 1, b.tag[i] >= TAG_DISPLACED);
	}
	for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++) {
		for (uint32_t tag = 1; tag < 65536; tag += 257) {
			struct bucket b;

			memset(&b, 0, sizeof b);
			b.tag[slot] = (uint16_t)tag;
			check_eq(bucket_match(&b, (uint16_t)tag), 1u << slot);
			check_eq(bucket_match(&b, (uint16_t)(tag ^ 0x100)), 0);
			check_eq(bucket_displaced(&b), (uint32_t)(tag >= TAG_DISPLACED) << slot);
		}
	}
}

TEST(the_alternate_bucket_leads_back_and_is_never_the_same)
{
	uint64_t random = SEED;

	static const uint32_t counts[] = {INDEX_BUCKETS_MIN, 18,       1000,          65536,
					  1000002,           1u << 31, UINT32_MAX - 1};

	for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
		const struct index ix = {.bucket_count = counts[c]};

		for (int i = 0; i < 20000; i++) {
			const uint64_t hash = next_random(&random) << 32 ^ next_random(&random);
			const struct place p = index_place(&ix, hash);

			check(p.tag != 0);
			check(p.primary < counts[c]);
			check(p.alternate < counts[c]);
			check(p.primary != p.alternate);
			check_eq(bucket_alternate(counts[c], p.alternate, p.tag), p.primary);
			check_eq(bucket_alternate(counts[c], p.alternate, p.tag | TAG_DISPLACED),
				 p.primary);
		}
	}
}

/* The hash spreads both over the whole range, or the table would be full too early. */
TEST(primary_and_alternate_buckets_are_spread_evenly)
{
	enum { BUCKETS = 1000, KEYS = 1000000 };
	const struct index ix = {.bucket_count = BUCKETS};
	uint32_t primary[BUCKETS] = {0}, alternate[BUCKETS] = {0};

	for (uint64_t i = 0; i < KEYS; i++) {
		const struct place p = index_place(&ix, hash_bytes(&i, sizeof i, SEED));

		primary[p.primary]++;
		alternate[p.alternate]++;
	}
	for (uint32_t i = 0; i < BUCKETS; i++) {
		/* Seven standard deviations. */
		check(primary[i] > 780 && primary[i] < 1220);
		check(alternate[i] > 780 && alternate[i] < 1220);
	}
}

TEST(ninety_nine_slots_of_a_hundred_are_used_before_an_eviction)
{
	struct rig rig = rig_up_buckets(64, 1, 100000, 0);
	const uint64_t slots = (uint64_t)index_bucket_count(&rig.store->ix) * BUCKET_SLOTS;
	uint64_t n = 0;

	for (; counted(rig.core, STORE_EVICTED) == 0; n++) {
		const struct view key = {(const uint8_t *)&n, sizeof n};

		check_eq(put(rig.core, key, key, STORE_ADD, 0), STORE_OK);
		if (n % 64 == 0)
			turns(rig.core, 1);
	}
	printf("%llu of %llu slots (%.2f %%) used at the first failure, %.3f moves an insert\n",
	       (unsigned long long)n, (unsigned long long)slots, 100.0 * (double)n / (double)slots,
	       (double)counted(rig.core, STORE_MOVES) / (double)n);
	check_eq(counted(rig.core, STORE_EVICTED_INDEX_FULL), 1);
	check(n * 100 >= slots * 99);

	uint64_t lost = 0;

	for (uint64_t i = 0; i < n; i++) {
		const struct view key = {(const uint8_t *)&i, sizeof i};
		const struct item *it = store_get(rig.core, key, store_hash(rig.core, key));

		lost += it == NULL;
		if (it != NULL)
			check(value_is(rig.core, it, key));
	}
	check_eq(lost, 1); /* the evicted one */
	rig_down(&rig);
}

/* Returns the number of a bucket's displaced items, and adds the errors found
 * in its items to *wrong. */
static uint32_t
judge_bucket(const struct store *st, uint32_t n, uint32_t *wrong)
{
	const struct bucket *b = index_bucket(&st->ix, n);
	uint32_t away_count = 0;

	for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++) {
		if (bucket_tag(b, slot) == 0)
			continue;

		const struct view key = item_key(item_at(st, bucket_ref(b, slot)));
		const struct place p =
			index_place(&st->ix, hash_bytes(key.data, key.len, st->seed));
		const bool alternate = (bucket_tag(b, slot) & TAG_DISPLACED) != 0;
		const struct bucket *primary = index_bucket(&st->ix, p.primary);

		away_count += alternate;
		*wrong += n != (alternate ? p.alternate : p.primary);
		*wrong += (bucket_tag(b, slot) & ~TAG_DISPLACED) != p.tag;
		*wrong += alternate && !version_overflows(version_open(primary), p.tag);
	}
	return away_count;
}

static uint32_t
judge_all(const struct store *st, uint32_t *wrong)
{
	uint32_t away_count = 0;

	*wrong = 0;
	for (uint32_t n = 0; n < index_bucket_count(&st->ix); n++)
		away_count += judge_bucket(st, n, wrong);
	return away_count;
}

/* The index is filled until items are moved and evicted, then a third is
 * deleted and stored again. */
TEST(a_displaced_item_has_its_overflow_bit_in_the_primary_bucket)
{
	struct rig rig = rig_up_buckets(16, 1, 26000, 0);
	const uint64_t slots = (uint64_t)index_bucket_count(&rig.store->ix) * BUCKET_SLOTS;
	uint32_t away_count, wrong;

	for (uint64_t i = 0; i < slots * 5 / 3; i++) {
		const uint64_t n = i % slots * (i < slots ? 1 : 3) % slots;
		const struct view key = {(const uint8_t *)&n, sizeof n};

		if (i >= slots)
			store_delete(rig.core, key, store_hash(rig.core, key));
		check_eq(put(rig.core, key, key, STORE_SET, 0), STORE_OK);
		if (i % 64 == 0)
			turns(rig.core, 1);
	}
	away_count = judge_all(rig.store, &wrong);
	check(counted(rig.core, STORE_MOVES) > 1000);
	check(away_count > slots / 20);
	check_eq(wrong, 0);
	rig_down(&rig);
}

/* Returns the place of a key whose buckets are both full. */
static struct place
crowded_place(const struct store *st)
{
	for (uint64_t hash = 1;; hash += 0x9e3779b97f4a7c15ull) {
		const struct place p = index_place(&st->ix, hash);

		if (index_spot_empty(&st->ix, &p).bucket == NULL)
			return p;
	}
}

static struct spot
step_at(struct rig *rig, const struct place *p)
{
	const struct index *ix = &rig->store->ix;
	struct spot spot;

	bucket_lock_both(index_bucket(ix, p->primary), index_bucket(ix, p->alternate));
	spot = path_step(&rig->core->ic, p);
	bucket_unlock_both(index_bucket(ix, p->primary), index_bucket(ix, p->alternate));
	return spot;
}

/* A neighbour makes room by one move, but a flushed one is dropped: the sweep may have passed the
 * bucket it would go to. No item is moved into a bucket that another core has locked. */
TEST(a_neighbour_moves_unless_it_is_flushed_or_its_bucket_is_locked)
{
	struct rig rig = rig_up_buckets(16, 1, 2000, 0);
	const uint32_t items = 2000 * BUCKET_SLOTS * 9 / 10;
	struct index *ix = &rig.store->ix;
	uint64_t moves;
	uint32_t wrong;

	for (uint64_t n = 0; n < items; n++) {
		const struct view key = {(const uint8_t *)&n, sizeof n};

		check_eq(put(rig.core, key, key, STORE_SET, 0), STORE_OK);
		if (n % 64 == 0)
			turns(rig.core, 1);
	}

	struct place p = crowded_place(rig.store);
	struct spot spot;

	for (uint32_t n = 0; n < ix->bucket_count; n++)
		bucket_lock(index_bucket(ix, n));
	moves = counted(rig.core, STORE_MOVES);
	check(path_step(&rig.core->ic, &p).bucket == NULL);
	for (uint32_t n = 0; n < ix->bucket_count; n++)
		bucket_unlock(index_bucket(ix, n));
	check_eq(counted(rig.core, STORE_MOVES), moves);

	/* The geometry has changed since the place was computed. */
	p.seq += GEOMETRY_STEP;
	check(step_at(&rig, &p).bucket == NULL);
	p.seq -= GEOMETRY_STEP;

	spot = step_at(&rig, &p);
	check(spot.bucket != NULL && bucket_ref(spot.bucket, spot.slot) == 0);
	check_eq(counted(rig.core, STORE_MOVES), moves + 1);
	judge_all(rig.store, &wrong);
	check_eq(wrong, 0);

	store_flush(rig.core, 0);
	p = crowded_place(rig.store);
	spot = step_at(&rig, &p);
	check(spot.bucket != NULL && bucket_ref(spot.bucket, spot.slot) == 0);
	check_eq(counted(rig.core, STORE_MOVES), moves + 1);
	check_eq(counted(rig.core, STORE_FLUSHED), 1);
	rig_down(&rig);
}

/* Returns the overflow bits of primary buckets that no displaced item needs. */
static uint32_t
needless_bits(const struct store *st)
{
	const uint32_t buckets = index_bucket_count(&st->ix);
	uint32_t *needed = calloc(buckets, sizeof *needed), needless = 0;

	for (uint32_t n = 0; n < buckets; n++)
		for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++) {
			const uint16_t tag = bucket_tag(index_bucket(&st->ix, n), slot);

			if ((tag & TAG_DISPLACED) != 0)
				needed[bucket_alternate(buckets, n, tag)] |= overflow_bits(tag);
		}
	for (uint32_t n = 0; n < buckets; n++)
		needless += (uint32_t)__builtin_popcount(version_open(index_bucket(&st->ix, n)) &
							 OVERFLOW_MASK & ~needed[n]);
	free(needed);
	return needless;
}

/* The index is filled to the brim, then a third is deleted: the sweep's walks relocate the items
 * that have room, and clear the overflow bits that are needless. */
TEST(the_sweep_relocates_items_and_clears_their_overflow_bits)
{
	struct rig rig = rig_up_buckets(8, 1, 13000, 0);
	const uint64_t slots = (uint64_t)index_bucket_count(&rig.store->ix) * BUCKET_SLOTS;
	uint32_t wrong;

	for (uint64_t i = 0; i < slots * 4 / 3; i++) {
		const uint64_t n = i < slots ? i : (i - slots) * 3;
		const struct view key = {(const uint8_t *)&n, sizeof n};

		if (i < slots)
			check_eq(put(rig.core, key, key, STORE_SET, 0), STORE_OK);
		else
			store_delete(rig.core, key, store_hash(rig.core, key));
		if (i % 64 == 0)
			turns(rig.core, 1);
	}

	const uint32_t before = judge_all(rig.store, &wrong);
	const uint64_t linked =
		counted(rig.core, STORE_ITEMS_LINKED) - counted(rig.core, STORE_ITEMS_UNLINKED);
	const uint32_t needless = needless_bits(rig.store);

	check_eq(wrong, 0);
	/* The first walk relocates, two renew the bits, and a fourth is needed as a walk may have
	 * been half-way. */
	seconds(rig.core, 4 * (SWEEP_PASS_S + 1));

	const uint32_t after = judge_all(rig.store, &wrong);

	printf("displaced: %u of %llu, then %u; needless bits: %u, then %u\n", before,
	       (unsigned long long)linked, after, needless, needless_bits(rig.store));
	check_eq(wrong, 0);
	check_eq(counted(rig.core, STORE_ITEMS_LINKED) - counted(rig.core, STORE_ITEMS_UNLINKED),
		 linked);
	check(after < before / 2);
	check(needless > 1000);
	check_eq(needless_bits(rig.store), 0);
	rig_down(&rig);
}

/* A growing index has the bits of all items that were ever displaced, since new buckets inherit
 * those of old ones. Two walks from its end on renew them. */
TEST(bits_that_a_growth_left_are_gone_after_two_walks)
{
	enum { KEYS = 100000 };
	struct rig rig = rig_up(16, 1);
	struct store_usage usage;
	uint32_t wrong;

	for (uint64_t n = 0; n < KEYS; n++) {
		const struct view key = {(const uint8_t *)&n, sizeof n};

		check_eq(put(rig.core, key, key, STORE_SET, 0), STORE_OK);
		turns(rig.core, n % 32 == 0);
	}
	do {
		turns(rig.core, 1);
		store_usage_mt(rig.store, &usage);
	} while (usage.index_resizing);

	const uint32_t before = needless_bits(rig.store);

	/* The first walk was half-way, and two more follow. The second one relocates some items
	 * of the first one's bits. */
	seconds(rig.core, 3 * (SWEEP_PASS_S + 1));
	printf("needless bits: %u, then %u\n", before, needless_bits(rig.store));
	check(before > 10000 && needless_bits(rig.store) < before / 100);
	judge_all(rig.store, &wrong);
	check_eq(wrong, 0);
	rig_down(&rig);
}

/* In a table that is nine tenths full, few misses find an overflow bit
 * in their primary bucket. */
TEST(most_misses_end_in_the_primary_bucket)
{
	enum { MISSES = 100000 };
	struct rig rig = rig_up_buckets(16, 1, 26000, 0);
	const uint64_t slots = (uint64_t)index_bucket_count(&rig.store->ix) * BUCKET_SLOTS;
	uint32_t further = 0;

	for (uint64_t n = 0; n < slots * 9 / 10; n++) {
		const struct view key = {(const uint8_t *)&n, sizeof n};

		check_eq(put(rig.core, key, key, STORE_ADD, 0), STORE_OK);
		if (n % 64 == 0)
			turns(rig.core, 1);
	}
	for (uint64_t n = slots; n < slots + MISSES; n++) {
		const struct place p =
			index_place(&rig.store->ix, hash_bytes(&n, sizeof n, rig.store->seed));
		const struct bucket *primary = index_bucket(&rig.store->ix, p.primary);

		further += version_overflows(version_open(primary), p.tag);
	}
	printf("%u of %u misses look further than their primary bucket\n", further, MISSES);
	check(further < MISSES * 15 / 100);
	rig_down(&rig);
}
