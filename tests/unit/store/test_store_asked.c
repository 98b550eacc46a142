/*
 * Values that are written once, and read once some time later. Goal: they stay as long as in an
 * exact LRU, since gets that miss make probation longer. Gets that are followed by a set do not,
 * nor does a client that repeats a get again and again, nor one that requests keys that never
 * existed. Method: counts of hits, and the step of the class.
 */
#include "store_rig.h"
#include "support/test.h"
#include "slab/slab_pages.h"

#define MEMORY_MB 8u
#define LEN       200u
#define LARGE_LEN 6000u /* some 1,200 are held: a window is a good part of them */
#define ROUNDS    10u   /* capacities that are set before hits count */

static struct rig rig;
static uint32_t operations, len = LEN;

SETUP(up)
{
	rig = rig_up(MEMORY_MB, 1);
	operations = 0;
}

TEARDOWN(down)
{
	rig_down(&rig);
}

static struct view
key_of(const uint64_t *n)
{
	return (struct view){(const uint8_t *)n, sizeof *n};
}

static void
set_number(uint64_t n)
{
	static const uint8_t bytes[LARGE_LEN];
	uint32_t waited;

	check_eq(put_waiting(rig.core, key_of(&n), (struct view){bytes, len}, 1000, &waited),
		 STORE_OK);
	turns(rig.core, operations++ % 8 == 0);
}

static bool
get_number(uint64_t n)
{
	return store_get(rig.core, key_of(&n), store_hash(rig.core, key_of(&n))) != NULL;
}

/* Returns the probation step of the class of these values. */
static uint32_t
step(void)
{
	const struct slab *sl = &rig.store->slab;
	const uint32_t bytes = (uint32_t)sizeof(struct item) + (uint32_t)sizeof(uint64_t) + LEN;

	return slab_probation_step(&sl->classes[slab_class_for(sl, bytes)]);
}

/* Sets values until one is evicted; returns how many were set. */
static uint64_t
fill(void)
{
	uint64_t n = 0;

	while (counted(rig.core, STORE_EVICTED) == 0)
		set_number(n++);
	return n;
}

TEST(what_is_read_once_later_is_there_as_with_lru, no_setup)
{
	static const uint32_t lags[] = {3, 6, 10, 20, 40};

	for (uint32_t l = 0; l < sizeof lags / sizeof *lags; l++) {
		up();

		const uint64_t held = fill(), lag = held * lags[l] / 100;
		uint64_t hits = 0, gets = 0;

		for (uint64_t n = held; n < (ROUNDS + 3) * held; n++) {
			set_number(n);

			const bool hit = get_number(n - lag);

			gets += n >= ROUNDS * held;
			hits += n >= ROUNDS * held && hit;
		}
		printf("lag %u %%: %.4f of gets hit\n", lags[l], (double)hits / (double)gets);
		check(hits * 100 >= gets * 98);
		down();
	}
}

/* A trial of a shorter probation ends as soon as it fails, and the next one comes later. */
TEST(trials_of_a_shorter_probation_cost_little, no_setup)
{
	static const uint32_t lags[] = {6, 8, 12, 15};

	len = LARGE_LEN;
	for (uint32_t l = 0; l < sizeof lags / sizeof *lags; l++) {
		up();

		const uint64_t held = fill(), lag = held * lags[l] / 100;
		uint64_t misses = 0, gets = 0;

		for (uint64_t n = held; n < 6 * ROUNDS * held; n++) {
			set_number(n);

			const bool hit = get_number(n - lag);

			gets += n >= ROUNDS * held;
			misses += n >= ROUNDS * held && !hit;
		}
		printf("lag %u %%: %.5f of gets missed\n", lags[l], (double)misses / (double)gets);
		check(misses * 640 <= gets);
		down();
	}
	len = LEN;
}

/* Each miss is followed by a set, so the key's ghost is found and the miss counts no more. */
TEST(a_set_behind_a_miss_takes_the_question_back)
{
	const uint64_t held = fill();
	const struct asked *asked = rig.store->slab.asked;
	const struct slab *sl = &rig.store->slab;
	const uint32_t class = slab_class_for(sl, (uint32_t)sizeof(struct item) +
							  (uint32_t)sizeof(uint64_t) + LEN);

	for (uint64_t n = held; n < 6 * held; n++) {
		const uint64_t again = n - held / 5;

		set_number(n);
		if (!get_number(again))
			set_number(again);
	}
	check(asked_load(&asked->class[class].asked[0]) < ASKED_MIN);
	check_eq(asked->class[class].longest, 0);
}

TEST(one_who_polls_a_missing_key_moves_nothing)
{
	const uint64_t held = fill();

	for (uint64_t n = held; n < 6 * held; n++) {
		set_number(n);
		for (uint32_t i = 0; i < 10; i++)
			get_number(0);
	}
	check_eq(step(), 0);
}

TEST(keys_that_never_were_move_nothing)
{
	const uint64_t held = fill();

	for (uint64_t n = held; n < 3 * held; n++) {
		set_number(n);
		for (uint64_t i = 0; i < 100; i++)
			get_number(1ull << 40 | n * 100 | i);
	}
	check_eq(step(), 0);
}

/* Probation is short again once such a load has ended. */
TEST(probation_is_short_again_when_nobody_asks)
{
	const uint64_t held = fill();

	for (uint64_t n = held; n < 6 * held; n++) {
		set_number(n);
		get_number(n - held / 5);
	}
	check(step() > PROBATION_KNEE);
	for (uint64_t n = 6 * held; n < 80 * held; n++)
		set_number(n);
	check_eq(step(), 0);
}
