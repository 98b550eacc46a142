/*
 * weak_resizes.c - gets and sets beside a resize, with a geometry that may be stale.
 *
 * Goal:   a get finds a key in all phases of one resize and into the next; a set is not lost.
 * Method: weak.h. The keys are in the bucket that is migrated first, so a migration of one bucket
 *         moves them.
 */
#include "weak_setup.h"
#include "index/geometry.h"
#include "index/migrate.h"

#include <string.h>

#define KEYS_MAX 4096u
#define FIRST    100u
#define ALL      (1u << 20) /* work: all buckets */

static uint32_t deferred;

static void
migrate_some(uint32_t work)
{
	migrate(&setup_core(1)->ic, &deferred, work);
}

static void
resize_whole(uint32_t buckets)
{
	geometry_begin(&setup_store->ix, buckets);
	migrate_some(ALL);
	geometry_end(&setup_store->ix);
}

/* A key whose primary bucket is the last one, which is migrated first as the index grows. */
static uint64_t
key_of_last_bucket(uint64_t after)
{
	for (uint64_t key = after + 1; key < KEYS_MAX; key++)
		if (index_place(&setup_store->ix, setup_hash(key)).primary == SETUP_BUCKETS - 1)
			return key;
	ensure(false);
	return 0;
}

static void
begin_last(void)
{
	setup_two_keys();
	deferred = 0;
	setup_key_a = key_of_last_bucket(FIRST);
	setup_key_b = key_of_last_bucket(setup_key_a);
	setup_put(1, setup_key_a, 10);
	setup_turns(0, 2);
	setup_turns(1, 2);
}

static void
begin_resize(void)
{
	begin_last();
	geometry_begin(&setup_store->ix, 2 * SETUP_BUCKETS);
}

static void
begin_migrated(void)
{
	begin_resize();
	migrate_some(ALL);
}

static void
get_a(void)
{
	setup_seen[0].value = setup_get(0, setup_key_a);
}

static void
end_get(void)
{
	weak_check(setup_seen[0].value == 10, "a key that a resize moves is missed");
	weak_check(setup_get(0, setup_key_a) == 10, "a key is lost");
}

static void
migrate_one(void)
{
	migrate_some(1);
}

static void
begin_and_migrate_one(void)
{
	geometry_begin(&setup_store->ix, 2 * SETUP_BUCKETS);
	migrate_some(1);
}

static void
end_resize(void)
{
	geometry_end(&setup_store->ix);
}

static void
end_and_begin_again(void)
{
	geometry_end(&setup_store->ix);
	geometry_begin(&setup_store->ix, 4 * SETUP_BUCKETS);
	migrate_some(1);
}

static void
end_and_begin(void)
{
	geometry_end(&setup_store->ix);
	geometry_begin(&setup_store->ix, 4 * SETUP_BUCKETS);
}

/* New buckets are cleared before they count, as claim_slice does. */
static void
clear_and_resize(void)
{
	memset(index_bucket(&setup_store->ix, SETUP_BUCKETS), 0,
	       SETUP_BUCKETS * sizeof(struct bucket));
	resize_whole(2 * SETUP_BUCKETS);
}

/* A key of the bucket that is migrated first, in its other bucket. */
static void
begin_displaced(void)
{
	const struct index *ix;

	begin_last();
	ix = &setup_store->ix;

	const struct place p = index_lock(ix, setup_hash(setup_key_a));
	const struct spot s = index_spot_of_key(ix, &p, setup_view(&setup_key_a));
	struct bucket *to = index_bucket(ix, p.alternate);

	ensure(s.bucket != to);
	bucket_move(s.bucket, s.slot, to, bucket_empty_slot(to));
	index_unlock(ix, &p);
	geometry_begin(&setup_store->ix, 2 * SETUP_BUCKETS);
}

static void
resize_and_back(void)
{
	resize_whole(2 * SETUP_BUCKETS);
	resize_whole(SETUP_BUCKETS);
}

static void
resize_once(void)
{
	resize_whole(2 * SETUP_BUCKETS);
}

static void
set_a(void)
{
	setup_put(0, setup_key_a, 12);
}

static void
end_set(void)
{
	weak_check(setup_get(1, setup_key_a) == 12, "a set beside a resize is lost");
}

static void
add_b(void)
{
	setup_seen[0].result = setup_put_as(0, setup_key_b, 12, STORE_ADD, 0);
}

static void
add_b_and_migrate(void)
{
	setup_seen[1].result = setup_put_as(1, setup_key_b, 11, STORE_ADD, 0);
	migrate_some(1);
}

static void
end_add(void)
{
	weak_check((setup_seen[0].result == STORE_OK) + (setup_seen[1].result == STORE_OK) == 1,
		   "not one add has won");
	weak_check(setup_get(0, setup_key_b) == (setup_seen[0].result == STORE_OK ? 12 : 11),
		   "the add that has won is lost");
}

static void
probe_a(void)
{
	struct probe p;

	store_probe(setup_core(0), &p, setup_view(&setup_key_a));
	store_probe_primary(setup_core(0), &p);
	store_probe_alternate(setup_core(0), &p);
	setup_seen[0].value = setup_word(
		0, store_get_probed(setup_core(0), &p, setup_view(&setup_key_a)), setup_key_a);
}

static const struct weak_case cases[] = {
	{"get-migrate", begin_resize, {get_a, migrate_one}, end_get, 2, 1},
	{"get-begin", begin_last, {get_a, begin_and_migrate_one}, end_get, 1, 2},
	{"get-end", begin_migrated, {get_a, end_resize}, end_get, 2, 3},
	{"get-again", begin_migrated, {get_a, end_and_begin_again}, end_get, 1, 2},
	{"get-ended", begin_migrated, {get_a, end_and_begin}, end_get, 2, 3},
	{"get-cleared", begin_last, {get_a, clear_and_resize}, end_get, 0, 3},
	{"get-displaced", begin_displaced, {get_a, migrate_one}, end_get, 1, 2},
	{"get-resize", begin_last, {get_a, resize_once}, end_get, 0, 3},
	{"get-back", begin_last, {get_a, resize_and_back}, end_get, 0, 2},
	{"probe-migrate", begin_resize, {probe_a, migrate_one}, end_get, 1, 2},
	{"set-ended", begin_migrated, {set_a, end_and_begin}, end_set, 2, 3},
	{"set-migrate", begin_resize, {set_a, migrate_one}, end_set, 1, 1},
	{"set-begin", begin_last, {set_a, begin_and_migrate_one}, end_set, 1, 1},
	{"add-migrate", begin_resize, {add_b, add_b_and_migrate}, end_add, 1, 1},
};
const struct weak_protocol weak_resizes = WEAK_PROTOCOL("resize and stale geometry", cases);
