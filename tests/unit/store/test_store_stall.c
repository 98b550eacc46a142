/*
 * A core that does not turn. Goal: other cores can make as many sets as fall into 10 ms at a
 * million a second, if memory is kept for that; then sets must wait, none is refused, and cached
 * items stay; once the core turns again, sets succeed again. A write that was begun can be ended.
 * Method: one thread is two or three cores in turns, and one of them does not turn.
 */
#include "support/test.h"
#include "store_rig.h"

#include <stdio.h>

#define TURN_SETS 32u
#define STILL     1u /* the core that does not turn */
#define WAITS     1000u

static uint8_t bytes[1 << 16];

static const struct {
	uint32_t mebibytes, len, keys; /* fewer keys than fit: all sets replace */
	uint32_t least;                /* sets that succeed while a core does not turn */
} stalls[] = {
	{64, 32, 4000000, 15000}, {64, 32, 200000, 12000}, {64, 100, 4000000, 8000},
	{64, 1000, 100000, 1800}, {64, 10000, 10000, 130},
};

static enum store_result
set_number(struct store_core *sc, uint32_t key, uint32_t len)
{
	return put(sc, (struct view){(const uint8_t *)&key, sizeof key}, (struct view){bytes, len},
		   STORE_SET, 0);
}

static bool
is_there(struct store_core *sc, uint32_t key)
{
	const struct view k = {(const uint8_t *)&key, sizeof key};

	return store_get(sc, k, store_hash(sc, k)) != NULL;
}

static void
turn_all(struct rig *rig, uint32_t cores, bool with_still)
{
	for (uint32_t i = 0; i < cores; i++)
		if (i != STILL || with_still)
			turns(store_core_of(rig->store, i), 1);
}

/* Sets until the store is full, and some more. Returns how many. */
static uint32_t
fill(struct rig *rig, uint32_t row)
{
	const uint32_t all = 2 * (stalls[row].mebibytes << 20) / (stalls[row].len + 16);
	const uint32_t n = all < stalls[row].keys ? all : stalls[row].keys;

	for (uint32_t i = 0; i < n; i++) {
		check_eq(set_number(rig->core, i, stalls[row].len), STORE_OK);
		if (i % TURN_SETS == 0)
			turn_all(rig, 2, true);
	}
	return n;
}

/* Sets until one must wait; returns how many succeeded. */
static uint32_t
set_while_it_lasts(struct rig *rig, uint32_t row, uint32_t first)
{
	for (uint32_t i = 0;; i++) {
		const uint32_t key = (first + i) % stalls[row].keys;
		const enum store_result r = set_number(rig->core, key, stalls[row].len);

		if (i % TURN_SETS == 0)
			turn_all(rig, 2, false);
		if (r == STORE_OK)
			continue;
		check_eq(r, STORE_NOT_YET);
		return i;
	}
}

TEST(other_cores_store_while_one_is_stalled_and_then_wait)
{
	for (uint32_t row = 0; row < sizeof stalls / sizeof *stalls; row++) {
		struct rig rig = rig_up(stalls[row].mebibytes, 2);
		const uint32_t n = fill(&rig, row);
		const uint32_t done = set_while_it_lasts(&rig, row, n);
		const uint32_t key = (n + done - 1) % stalls[row].keys;

		print_message("-m %u, %u bytes, %s: %u sets\n", stalls[row].mebibytes,
			      stalls[row].len, n < stalls[row].keys ? "new keys" : "replaced",
			      done);
		check(done >= stalls[row].least);
		check(store_is_low_on_memory(rig.core));
		/* However long it takes, no set is refused, and cached items stay. */
		for (uint32_t i = 0; i < WAITS; i++) {
			check_eq(set_number(rig.core, key, stalls[row].len), STORE_NOT_YET);
			check(is_there(rig.core, key));
			turn_all(&rig, 2, false);
		}
		for (uint32_t i = 0; i < 4; i++)
			turn_all(&rig, 2, true);
		for (uint32_t i = 0; i < 4 * TURN_SETS; i++) {
			check_eq(set_number(rig.core, key + i, stalls[row].len), STORE_OK);
			if (i % TURN_SETS == 0)
				turn_all(&rig, 2, true);
		}
		rig_down(&rig);
	}
}

/* A core has used all memory; another one, which retired nothing, finds none. */
TEST(a_core_that_retired_nothing_waits_as_well)
{
	for (uint32_t row = 2; row < sizeof stalls / sizeof *stalls; row++) {
		struct rig rig = rig_up(stalls[row].mebibytes, 3);
		struct store_core *other = store_core_of(rig.store, 2);
		const uint32_t n = fill(&rig, row);
		enum store_result r = STORE_OK;

		turn_all(&rig, 3, true);
		set_while_it_lasts(&rig, row, n);
		for (uint32_t i = 0; i < RETIRE_LIST_MAX && r == STORE_OK; i++) {
			r = set_number(other, i, stalls[row].len);
			turn_all(&rig, 3, false);
		}
		check_eq(r, STORE_NOT_YET);
		rig_down(&rig);
	}
}

/* A core without retired items may go offline: no page waits for it. */
TEST(a_core_turns_until_what_it_retired_is_free)
{
	struct rig rig = rig_up(8, 2);
	struct store_core *still = store_core_of(rig.store, STILL);

	turn_all(&rig, 2, true);
	check(!store_has_retired(still));
	for (uint32_t i = 0; i < TURN_SETS; i++) {
		check_eq(set_number(still, i, 32), STORE_OK);
		check_eq(set_number(still, i, 32), STORE_OK);
	}
	check(store_has_retired(still));
	turns(still, 4);
	check(store_has_retired(still)); /* the other core may still read it */
	for (uint32_t i = 0; i < 4; i++)
		turn_all(&rig, 2, true);
	check(!store_has_retired(still));
	rig_down(&rig);
}

TEST(what_is_begun_can_be_ended)
{
	enum { FILLS = 2000 };
	static struct fill fills[FILLS];
	static uint32_t keys[FILLS];
	struct rig rig = rig_up(64, 2);
	const uint32_t n = fill(&rig, 2);

	for (uint32_t i = 0; i < FILLS; i++) {
		keys[i] = n + i;

		const struct view k = {(const uint8_t *)&keys[i], sizeof keys[i]};

		check_eq(store_begin(rig.core, &fills[i], k, store_hash(rig.core, k), 300, 0, 0),
			 STORE_OK);
		store_fill(rig.core, &fills[i], bytes, 300);
		turn_all(&rig, 2, true);
	}
	set_while_it_lasts(&rig, 2, n + FILLS);
	for (uint32_t i = 0; i < FILLS; i++) {
		check_eq(store_finish(rig.core, &fills[i], STORE_SET, 0), STORE_OK);
		check(is_there(rig.core, keys[i]));
	}
	rig_down(&rig);
}
