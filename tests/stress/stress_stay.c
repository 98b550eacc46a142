/*
 * A key may have one bucket for both for a while during a resize. The resize plans what to do with
 * that bucket, and then locks it; between the two the key is deleted and stored again. Goal: the
 * key is found afterwards, and once it is deleted it is not found again. Method: one thread as two
 * cores. In every gap in which no bucket is locked, the other core deletes and stores each such key
 * that is displaced. The index is small, so that there are some. A run repeats exactly.
 */
#include "store/account.h"
#include "store/resize.h"
#include "image/store_image.h"
#include "image/store_plan.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS    3000u
#define MOST      32u /* buckets */
#define LEAST     18u
#define KEYS      150u
#define TURNS_MAX 2000u
#define MEMORY    (8u << 20)

static struct store_core *writer; /* NULL: it is not its turn */
static uint64_t first_key;
static uint32_t again;

static struct view
view_of(const uint64_t *n)
{
	return (struct view){(const uint8_t *)n, sizeof *n};
}

static void
put(struct store_core *sc, uint64_t n)
{
	struct fill f;

	ensure(store_begin(sc, &f, view_of(&n), store_hash(sc, view_of(&n)), 1, 0, 0) == STORE_OK);
	store_fill(sc, &f, "1", 1);
	ensure(store_finish(sc, &f, STORE_SET, 0) == STORE_OK);
}

static bool
is_displaced_within_its_primary_bucket(const struct index *ix, uint64_t n, uint64_t hash)
{
	const struct place p = index_place(ix, hash);

	if (p.primary != p.alternate)
		return false;

	const struct spot spot = index_spot_of_key(ix, &p, view_of(&n));

	return spot.bucket != NULL && (spot.tag & TAG_DISPLACED) != 0;
}

static bool
nothing_is_locked(const struct index *ix)
{
	bool locked = false;

	for (uint32_t n = 0; n < index_bucket_end(ix); n++)
		locked |= bucket_locked(index_bucket(ix, n));
	return !locked;
}

void
stress_gap(void)
{
	struct store_core *sc = writer;

	if (sc == NULL || !nothing_is_locked(&sc->store->ix))
		return;
	writer = NULL;
	for (uint64_t n = first_key; n < first_key + KEYS; n++) {
		const uint64_t hash = store_hash(sc, view_of(&n));

		if (!is_displaced_within_its_primary_bucket(&sc->store->ix, n, hash))
			continue;
		store_delete(sc, view_of(&n), hash);
		put(sc, n);
		again++;
	}
	writer = sc;
}

static void
resize(struct store *st, uint32_t bucket_count)
{
	ensure(resize_begin(store_core_of(st, 0), bucket_count));
	for (uint32_t i = 0; i < TURNS_MAX && index_bucket_count(&st->ix) != bucket_count; i++)
		for (uint32_t core = 0; core < 2; core++)
			store_turn(store_core_of(st, core), STORE_CLOCK_START);
}

static uint32_t
keys_there(struct store_core *sc)
{
	uint32_t count = 0;

	for (uint64_t n = first_key; n < first_key + KEYS; n++)
		count += store_get(sc, view_of(&n), store_hash(sc, view_of(&n))) != NULL;
	return count;
}

static uint64_t
forgotten(const struct store *st)
{
	return store_sum(st, STORE_INDEX_EVICTED) + store_sum(st, STORE_EVICTED);
}

int
main(void)
{
	const struct store_config cfg = {
		.memory_bytes = MEMORY, .cores = 2, .value_max = 1024, .seed = 0x5eed};
	struct store_plan plan = store_plan_of(&cfg);
	struct region region = {.size = align_up(store_bytes(&cfg), 4096)};
	uint32_t missing = 0, back = 0;

	plan.bucket_count = MOST;
	plan.bucket_step = 0;
	region.base = aligned_alloc(4096, region.size);
	if (region.base == NULL)
		return 1;

	struct store *st = store_create_planned(&region, &cfg, &plan);
	struct store_core *sc = store_core_of(st, 0);

	for (uint32_t round = 0; round < ROUNDS; round++) {
		const uint64_t before = forgotten(st);

		first_key = (uint64_t)round * KEYS;
		for (uint64_t n = first_key; n < first_key + KEYS; n++)
			put(sc, n);
		writer = store_core_of(st, 1);
		resize(st, LEAST);
		writer = NULL;
		missing += forgotten(st) == before && keys_there(sc) != KEYS;
		for (uint64_t n = first_key; n < first_key + KEYS; n++)
			store_delete(sc, view_of(&n), store_hash(sc, view_of(&n)));
		resize(st, MOST);
		back += keys_there(sc);
	}
	printf("stored again %u times: missing %u, back %u\n", again, missing, back);
	free(region.base);
	return again != 0 && missing == 0 && back == 0 ? 0 : 1;
}
