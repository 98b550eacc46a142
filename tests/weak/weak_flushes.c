/*
 * weak_flushes.c - flushes and the sweep beside writers, moves and gets.
 *
 * Goal:   once the sweep has ended, no item older than the generation it began with is in the
 *         index; and an item whose generation number returns is never alive again.
 * Method: weak.h. The sweep passes all 16 buckets in one thread.
 */
#include "weak_setup.h"
#include "index/relocate.h"
#include "store/sweep.h"

static uint64_t key_c;

static void
flush(uint32_t core)
{
	weak_check(store_flush(setup_core(core), 0) == STORE_OK, "a flush was refused");
}

static void
sweep_all(uint32_t core)
{
	do {
		setup_core(core)->now_s++;
		sweep_slice(setup_core(core));
	} while (setup_store->sweep.bucket != 0);
}

static void
end_swept(void)
{
	const uint32_t generation = store_generation(setup_store);

	weak_check(atomic_load(&setup_store->oldest_generation) == generation,
		   "the sweep has not ended");
	for (uint32_t i = 0; i < SETUP_BUCKETS; i++)
		for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++) {
			const uint32_t ref = bucket_ref(index_bucket(&setup_store->ix, i), slot);

			weak_check(ref == 0 || !item_flushed(item_at(setup_store, ref), generation),
				   "a flushed item is behind the sweep");
		}
}

/* ---- a set of a key without a version ---- */

static void
begin_one_key(void)
{
	setup_begin(SETUP_CORES);
	setup_turns(2, 1); /* a turn sweeps once few numbers are left */
	setup_put(0, setup_key_a, 10);
	setup_put(1, setup_key_b, 20);
	setup_drop(0, setup_key_b);
	setup_turns(0, 4);
	setup_turns(1, 4);
}

static void
set_b(void)
{
	setup_put(0, setup_key_b, 12);
}

static void
flush_and_sweep(void)
{
	flush(1);
	sweep_all(1);
}

/* ---- a displaced key that another core moves back ---- */

/* Moves a key whose primary bucket is before its alternate one, so the sweep passes that first. */
static void
begin_displaced(void)
{
	const struct index *ix;
	struct place p;

	begin_one_key();
	ix = &setup_store->ix;
	do {
		setup_key_a++;
		p = index_place(ix, setup_hash(setup_key_a));
	} while (p.primary >= p.alternate);
	setup_put(1, setup_key_a, 10);

	const struct place locked = index_lock(ix, setup_hash(setup_key_a));
	const struct spot s = index_spot_of_key(ix, &locked, setup_view(&setup_key_a));
	struct bucket *to = index_bucket(ix, p.alternate);

	bucket_move(s.bucket, s.slot, to, bucket_empty_slot(to));
	index_unlock(ix, &locked);
}

static void
move_back(void)
{
	const struct index *ix = &setup_store->ix;
	struct relocation r = {0};

	relocate_begin(&r, ix);
	relocate_bucket(&r, &setup_core(0)->ic, index_place(ix, setup_hash(setup_key_a)).alternate);
}

/* ---- the number of a generation returns ---- */

/* The key is of the oldest generation; no number is free. */
static void
begin_no_number(void)
{
	begin_one_key();
	while (store_generations_left(setup_store) != 0) {
		flush(1);
		setup_put(1, setup_key_b, 20); /* there is something to flush */
	}
}

static void
get_flushed(void)
{
	weak_check(setup_get(0, setup_key_a) == 0, "a flushed item is alive again");
}

static void
sweep_for_numbers(void)
{
	sweep_all(1);
}

/* A key whose bucket has no item, so the sweep takes no lock there. */
static uint64_t
key_of_empty_bucket(void)
{
	const struct index *ix = &setup_store->ix;
	uint64_t key = setup_key_b + 1;

	while (bucket_match(index_bucket(ix, index_place(ix, setup_hash(key)).primary), 0) !=
	       BUCKET_ALL)
		key++;
	return key;
}

static void
begin_numbers(void)
{
	begin_no_number();
	key_c = key_of_empty_bucket();
}

/* After the second step the key's number is that of the generation. */
static void
flush_twice(void)
{
	if (store_flush(setup_core(2), 0) != STORE_OK)
		return;
	setup_put(2, key_c, 20);
	store_flush(setup_core(2), 0);
}

/* ---- a delayed flush ---- */

#define DUE (STORE_CLOCK_START + 5)

static void
begin_due(void)
{
	begin_one_key();
	ensure(store_flush(setup_core(1), DUE) == STORE_OK);
}

static void
turn_and_get(void)
{
	store_turn(setup_core(0), DUE);
	weak_check(setup_get(0, setup_key_a) == 0, "an item of before a flush that was due");
}

static void
turn_at_due(void)
{
	store_turn(setup_core(1), DUE);
}

static const struct weak_case cases[] = {
	{"set-sweep", begin_one_key, {set_b, flush_and_sweep}, end_swept, 1, 1},
	{"return-sweep", begin_displaced, {move_back, flush_and_sweep}, end_swept, 2, 1},
	{"number-returns",
	 begin_numbers,
	 {get_flushed, sweep_for_numbers, flush_twice},
	 setup_nothing,
	 0,
	 2},
	{"get-due", begin_due, {turn_and_get, turn_at_due}, setup_nothing, 1, 1},
};
const struct weak_protocol weak_flushes = WEAK_PROTOCOL("flush and sweep", cases);
