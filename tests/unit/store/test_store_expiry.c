/*
 * Expiry under pressure. Goal: while expired items are left, a class that needs memory takes
 * theirs, wherever they are, and hardly any live one's; an item whose expiry changes is found by
 * the new one. Method: a store is filled without an eviction, part of it expires, and new items
 * arrive, without the housekeeping that sweeps; the survivors are counted.
 */
#include "store_rig.h"
#include "support/test.h"

#include <stdio.h>

#define TTL_S 3u

static uint8_t value[200000];

struct fill_row {
	const char *words;
	uint32_t bytes;
	uint32_t run;         /* items in a row with an expiry, then as many without */
	uint32_t evicted_max; /* of 100 new items */
};

static bool
is_timed(const struct fill_row *row, uint64_t i)
{
	return i / row->run % 2 == 1;
}

static enum store_result
put_until(struct store_core *sc, uint64_t key, uint32_t bytes, uint32_t expiry_s)
{
	const struct view k = {(const uint8_t *)&key, sizeof key};
	enum store_result r = STORE_NOT_YET;

	for (uint32_t tries = 0; tries < 100 && r == STORE_NOT_YET; tries++) {
		struct fill f;

		store_turn(sc, sc->now_s);
		r = store_begin(sc, &f, k, store_hash(sc, k), bytes, 0, expiry_s);
		if (r != STORE_OK)
			continue;
		store_fill(sc, &f, value, bytes);
		r = store_finish(sc, &f, STORE_SET, 0);
	}
	return r;
}

/* Puts an item, with upkeep now and then. The second does not change, so the sweep does a
 * sixtieth of its pass. */
static enum store_result
put_upkeep(struct rig *rig, uint64_t key, uint32_t bytes, uint32_t expiry_s)
{
	if (key % 32 == 0)
		store_housekeeping(rig->core);
	return put_until(rig->core, key, bytes, expiry_s);
}

static bool
is_there(struct store_core *sc, uint64_t key)
{
	const struct view k = {(const uint8_t *)&key, sizeof key};

	return store_get(sc, k, store_hash(sc, k)) != NULL;
}

/* Fills the store until an item is evicted. Returns how many keys there are. */
static uint64_t
fill(struct rig *rig, const struct fill_row *row)
{
	uint64_t i = 0;

	for (; counted(rig->core, STORE_EVICTED) == 0; i++)
		check_eq(put_upkeep(rig, i, row->bytes,
				    is_timed(row, i) ? rig->core->now_s + TTL_S : 0),
			 STORE_OK);
	return i;
}

TEST(the_expired_goes_before_the_living)
{
	static const struct fill_row rows[] = {
		{"in turn", 190, 1, 1},
		{"in runs of 10,000", 190, 10000, 1},
		{"in runs of 32", 28, 32, 1},
		{"large", 9000, 1, 1},
		{"larger", 50000, 3, 2},
		{"in chunks", 200000, 1, 11},
		{"in a class of their own", 200, 1, 50},
	};

	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		const struct fill_row *row = &rows[n];
		struct rig rig = rig_up(16, 1);
		const uint64_t keys = fill(&rig, row);
		uint64_t evicted = counted(rig.core, STORE_EVICTED);
		uint64_t timed = 0, living = 0, stay = 0;

		for (uint64_t i = 0; i < keys; i++) {
			timed += is_timed(row, i);
			living += !is_timed(row, i) && is_there(rig.core, i);
		}
		store_turn(rig.core, rig.core->now_s + TTL_S + 1);
		for (uint64_t i = 0; i < timed * 8 / 10; i++)
			check_eq(put_upkeep(&rig, keys + i, row->bytes, 0), STORE_OK);
		for (uint64_t i = 0; i < keys; i++)
			stay += !is_timed(row, i) && is_there(rig.core, i);
		evicted = counted(rig.core, STORE_EVICTED) - evicted;
		printf("%s: %llu of %llu expire, %llu evicted, %llu of %llu others stay\n",
		       row->words, (unsigned long long)timed, (unsigned long long)keys,
		       (unsigned long long)evicted, (unsigned long long)stay,
		       (unsigned long long)living);
		check(evicted <= timed * row->evicted_max / 100 + 1);
		check(stay + evicted >= living);
		rig_down(&rig);
	}
}

/* Returns the pages of the class of such items. */
static uint32_t
pages_of(struct rig *rig, uint64_t key)
{
	const struct view k = {(const uint8_t *)&key, sizeof key};
	const struct item *it = store_get(rig->core, k, store_hash(rig->core, k));

	check_ptr(it);
	return slab_class_pages(&rig->store->slab.classes[item_class(rig->store, it)]);
}

/* Expiring items free enough memory for new items with an expiry, so their class
 * always has objects to spare. It has more pages than it needs, and they go to the
 * class that evicts live items. */
TEST(a_class_gives_what_expiry_leaves_it)
{
	const struct fill_row row = {"", 200, 1, 0};
	struct rig rig = rig_up(16, 1);
	uint64_t key = fill(&rig, &row);
	uint32_t before, after;

	before = pages_of(&rig, is_timed(&row, key - 1) ? key - 1 : key - 2);
	for (uint32_t s = 0; s < 150; s++) {
		store_turn(rig.core, rig.core->now_s + 1);
		for (uint32_t n = 0; n < 3000; n++, key++)
			check_eq(put_upkeep(&rig, key, row.bytes,
					    n % 10 == 9 ? rig.core->now_s + TTL_S : 0),
				 STORE_OK);
	}
	after = pages_of(&rig, key - 1);
	printf("%u pages with what expires at first, then %u\n", before, after);
	check(before >= 30 && after <= before / 8);
	rig_down(&rig);
}

/* A touch sets an earlier expiry, and for other items a later one, which must not
 * cost them their place. */
TEST(a_touched_item_goes_by_its_new_expiry)
{
	static const struct fill_row row = {"", 190, 1, 0};
	struct rig rig = rig_up(16, 1);
	const uint32_t start_s = rig.core->now_s;
	uint64_t keys = 0, sooner = 0, later = 0, evicted;
	const struct item *it;

	for (; counted(rig.core, STORE_EVICTED) == 0; keys++)
		check_eq(put_upkeep(&rig, keys, row.bytes, start_s + 1000), STORE_OK);
	for (uint64_t i = 0; i < keys; i++) {
		const struct view k = {(const uint8_t *)&i, sizeof i};

		store_touch(rig.core, k, store_hash(rig.core, k),
			    is_timed(&row, i) ? start_s + TTL_S : start_s + 2000, &it);
		if (i % 32 == 0)
			store_turn(rig.core, start_s);
	}
	store_turn(rig.core, start_s + TTL_S + 1);
	evicted = counted(rig.core, STORE_EVICTED);
	for (uint64_t i = 0; i < keys * 4 / 10; i++)
		check_eq(put_upkeep(&rig, keys + i, row.bytes, 0), STORE_OK);
	for (uint64_t i = 0; i < keys; i++) {
		sooner += is_timed(&row, i) && is_there(rig.core, i);
		later += !is_timed(&row, i) && is_there(rig.core, i);
	}
	check_eq(sooner, 0);
	check(counted(rig.core, STORE_EVICTED) - evicted < keys / 100);
	check(later >= keys / 2 - keys / 100);
	rig_down(&rig);
}

/* A page leaves its class under the hand, and another one joins it. */
TEST(the_hand_survives_pages_that_move)
{
	struct rig rig = rig_up(8, 1);
	uint64_t key = 0;

	for (uint32_t round = 0; round < 12; round++) {
		const uint32_t bytes = round % 2 == 0 ? 100 : 7000;

		for (uint64_t written = 0; written < 12u << 20; written += bytes + 40, key++) {
			check_eq(put_until(rig.core, key, bytes, rig.core->now_s + 1 + key % TTL_S),
				 STORE_OK);
			if (key % 64 == 0)
				store_housekeeping(rig.core);
			if (key % 1024 == 0)
				store_turn(rig.core, rig.core->now_s + 1);
		}
	}
	check(atomic_load(&rig.store->slab.evacuated_pages) > 12);
	check(counted(rig.core, STORE_EXPIRED_RECLAIMED) > 1000);
	rig_down(&rig);
}
