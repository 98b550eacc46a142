/*
 * Flushes, one after the other and faster than their items are collected. Goal: no flushed item
 * reappears, no other is lost or refused, and no call does more than a slice of the sweep,
 * however many flushes there are. Method: the items that a call removes from the index are
 * counted, call by call; a flush that must wait is repeated, turn by turn, as a connection does.
 */
#include "store_rig.h"
#include "support/test.h"

static struct rig rig;

SETUP(up)
{
	rig = rig_up(64, 1);
}

TEARDOWN(down)
{
	rig_down(&rig);
}

TEST(a_flushed_item_never_comes_back)
{
	char key[16];

	/* There are more flushes than generation numbers, each with a set in between. */
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof key, "key%d", i);
		check_eq(set(rig.core, key, "v"), STORE_OK);
		flush_now(rig.core);
		for (int j = 0; j <= i; j++) {
			snprintf(key, sizeof key, "key%d", j);
			check_null(find(rig.core, key));
		}
		if (i % 3 == 0)
			turns(rig.core, 2);
	}
}

/* The sweep has passed the items' buckets before the flush: at its end their generation's number
 * is not free. */
TEST(what_is_flushed_behind_the_sweep_never_comes_back)
{
	enum { KEYS = 1000, HALF = 2048 };
	struct rig r = rig_up_buckets(8, 1, 2 * HALF, 0);
	char key[16];

	while (r.store->sweep.bucket < HALF)
		seconds(r.core, 1);
	for (uint32_t i = 0; i < KEYS; i++) {
		snprintf(key, sizeof key, "key%u", i);
		check_eq(set(r.core, key, "v"), STORE_OK);
	}
	flush_now(r.core);
	check_eq(set(r.core, "again", "v"), STORE_OK);
	flush_now(r.core);
	while (r.store->sweep.bucket != 0) {
		store_turn(r.core, r.core->now_s + 1);
		store_housekeeping(r.core);
	}
	for (uint32_t flushes = 1; flushes <= GENERATIONS_MAX; flushes++) {
		check_eq(set(r.core, "again", "v"), STORE_OK);
		flush_now(r.core);
		for (uint32_t i = 0; i < KEYS; i++) {
			snprintf(key, sizeof key, "key%u", i);
			check_null(find(r.core, key));
		}
	}
	rig_down(&r);
}

/* ---- floods of flushes ---- */

/* Stores keys "<name>0" and so on, 64 a turn, with upkeep or without. */
static void
store_keys(struct store_core *sc, const char *name, uint32_t count, bool tidies)
{
	char key[16];
	uint32_t waited;

	for (uint32_t i = 0; i < count; i++) {
		snprintf(key, sizeof key, "%s%u", name, i);
		check_eq(put_waiting(sc, text(key), text("v"), 100, &waited), STORE_OK);
		if (i % 64 == 0 && tidies)
			turns(sc, 1);
		else if (i % 64 == 0)
			store_turn(sc, sc->now_s);
	}
}

static void
find_keys(struct store_core *sc, const char *name, uint32_t count)
{
	char key[16];

	for (uint32_t i = 0; i < count; i++) {
		snprintf(key, sizeof key, "%s%u", name, i);
		check_ptr(find(sc, key));
	}
}

/* Flushes often. Each flush costs a generation, for the one item stored before it. */
static void
flush_often(struct store_core *sc, uint32_t flushes)
{
	for (uint32_t i = 0; i < flushes; i++) {
		store_keys(sc, "again", 1, false);
		check_eq(store_flush(sc, 0), STORE_OK);
	}
}

static void
delete_keys(struct store_core *sc, const char *name, uint32_t count)
{
	char key[16];

	for (uint32_t i = 0; i < count; i++) {
		snprintf(key, sizeof key, "%s%u", name, i);
		del(sc, key);
	}
}

/* A core that deletes more in one turn than the retire list takes leaves tombstones. A tombstone
 * must not keep its slot or its memory from sets until the sweep arrives (there is no
 * store_housekeeping here), and the sweep soon removes all of them. */
static void
check_sets_after_many_deletes(struct rig *r, uint32_t there, uint32_t then)
{
	store_keys(r->core, "key", there, true);

	const uint64_t evicted = counted(r->core, STORE_EVICTED);

	delete_keys(r->core, "key", there);
	check(atomic_load(&r->store->tombstones) > RETIRE_LIST_MAX);
	store_turn(r->core, r->core->now_s); /* deletes use up the retire list */
	store_turn(r->core, r->core->now_s);
	store_keys(r->core, "new", then, false);
	check_eq(counted(r->core, STORE_OUT_OF_MEMORY), 0);
	check_eq(counted(r->core, STORE_EVICTED), evicted);
	find_keys(r->core, "new", then);
	turns(r->core, 1000);
	check_eq(atomic_load(&r->store->tombstones), 0);
}

TEST(tombstones_give_way_to_sets)
{
	static const struct {
		uint32_t mebibytes, there, then;
		bool never_evict;
		uint32_t buckets; /* of an index of fixed size; 0: it grows with the items */
	} rows[] = {
		{32, 100000, 20000, false, 0},
		{32, 100000, 160000, true, 0},
		{8, 100000, 60000, false, 0},  /* all of its memory */
		{8, 40000, 40000, true, 4096}, /* nearly all of its slots, too */
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct store_config cfg = rig_config(rows[i].mebibytes, 1, STORE_VALUE_MAX);
		struct store_plan plan = store_plan_of(&cfg);
		struct rig r;

		cfg.never_evict = rows[i].never_evict;
		if (rows[i].buckets != 0)
			plan.bucket_count = rows[i].buckets;
		if (rows[i].buckets != 0)
			plan.bucket_step = 0;
		r = rig_up_planned(&cfg, &plan);
		check_sets_after_many_deletes(&r, rows[i].there, rows[i].then);
		rig_down(&r);
	}
}

/* A bucket that is migrated takes its tombstones with it. */
TEST(tombstones_go_with_a_migrated_bucket)
{
	enum { THERE = 38000, THEN = 1000, BUCKETS = 4096, FEWER = 2048 };
	struct rig r = rig_up_buckets(8, 1, BUCKETS, 0);

	store_keys(r.core, "key", THERE, true);
	delete_keys(r.core, "key", THERE);
	check(atomic_load(&r.store->tombstones) > RETIRE_LIST_MAX);
	store_turn(r.core, r.core->now_s);
	store_turn(r.core, r.core->now_s);
	store_keys(r.core, "new", THEN, false);
	check(resize_begin(r.core, FEWER));
	for (uint32_t i = 0; i < 10000 && index_bucket_count(&r.store->ix) != FEWER; i++)
		store_turn(r.core, r.core->now_s);
	check_eq(index_bucket_count(&r.store->ix), FEWER);
	check_eq(counted(r.core, STORE_INDEX_EVICTED), 0);
	find_keys(r.core, "new", THEN);
	turns(r.core, 1000);
	check_eq(atomic_load(&r.store->tombstones), 0);
	rig_down(&r);
}

/* An urgent sweep takes more buckets at a time, as far as the retire list has room. */
TEST(an_urgent_sweep_leaves_no_tombstone)
{
	enum { THERE = 38000, FLUSHES = GENERATIONS_MAX - GENERATIONS_FEW + 1 };
	struct rig r = rig_up_buckets(8, 1, 4096, 0);

	store_keys(r.core, "key", THERE, true);
	flush_often(r.core, FLUSHES);
	for (uint32_t i = 0; i < 1000; i++) {
		turns(r.core, 1);
		check_eq(atomic_load(&r.store->tombstones), 0);
	}
	check_eq(counted(r.core, STORE_FLUSHED), THERE + FLUSHES);
	rig_down(&r);
}

/* While the retire list stays full, because another core does not turn, the sweep waits and
 * leaves no tombstone. */
TEST(a_sweep_waits_for_room_on_the_retire_list)
{
	enum { THERE = 38000, FLUSHES = GENERATIONS_MAX - GENERATIONS_FEW + 1 };
	struct rig r = rig_up_buckets(8, 2, 4096, 0);
	struct store_core *other = store_core_of(r.store, 1);

	store_keys(r.core, "key", THERE, true);
	store_turn(other, STORE_CLOCK_START);
	flush_often(r.core, FLUSHES);
	for (uint32_t i = 0; i < 100; i++) {
		turns(r.core, 1);
		check_eq(atomic_load(&r.store->tombstones), 0);
	}
	check(counted(r.core, STORE_FLUSHED) > RETIRE_LIST_MAX / 2 &&
	      counted(r.core, STORE_FLUSHED) < RETIRE_LIST_MAX);
	for (uint32_t i = 0; i < 1000; i++) {
		store_turn(other, STORE_CLOCK_START);
		turns(r.core, 1);
	}
	check_eq(store_sum(r.store, STORE_FLUSHED), THERE + FLUSHES);
	check_eq(atomic_load(&r.store->tombstones), 0);
	rig_down(&r);
}

/* ---- bounded calls and right answers ---- */

/* The most items that one call removes: those of the sweep, and of a slice
 * of a resize under way. */
#define SLICE_ITEMS (SWEEP_WORK_TURN + SWEEP_ITEMS_MAX + MIGRATE_WORK / MIGRATE_ITEM)

static uint64_t
taken_out(struct store_core *sc)
{
	return counted(sc, STORE_ITEMS_UNLINKED);
}

/* Checks the removals of one call since *before. */
static void
check_slice(struct store_core *sc, uint64_t *before)
{
	const uint64_t now = taken_out(sc);

	check(now - *before <= SLICE_ITEMS);
	*before = now;
}

/* The attack: flushes, each after a set, as fast as they are accepted. No set is refused
 * meanwhile; an item that is set after a flush stays until the next. */
TEST(a_flood_of_flushes_does_a_slice_of_the_sweep_at_a_time)
{
	enum { THERE = 300000, FLUSHES = 10 * GENERATIONS_MAX, TURNS_MAX = 200000 };
	uint32_t done = 0, waited = 0, turn = 0;
	uint64_t before;

	store_keys(rig.core, "key", THERE, true);
	before = taken_out(rig.core);
	for (; done < FLUSHES && turn < TURNS_MAX; turn++) {
		enum store_result r;

		check_eq(set(rig.core, "again", "v"), STORE_OK);
		check_ptr(find(rig.core, "again"));
		check_slice(rig.core, &before);
		r = store_flush(rig.core, 0);
		check_slice(rig.core, &before);
		check(r == STORE_OK || r == STORE_NOT_YET);
		check_eq(find(rig.core, "again") == NULL, r == STORE_OK);
		done += r == STORE_OK;
		waited += r == STORE_NOT_YET;
		store_turn(rig.core, rig.core->now_s);
		check_slice(rig.core, &before);
		store_housekeeping(rig.core);
		check(taken_out(rig.core) - before <= SWEEP_WORK_MAX + SWEEP_ITEMS_MAX);
		before = taken_out(rig.core);
	}
	check_eq(done, FLUSHES);
	check(waited > 0);
	check_eq(counted(rig.core, STORE_OUT_OF_MEMORY), 0);
	check_eq(atomic_load(&rig.store->tombstones), 0);
}

/* An urgent sweep does not go far among live items either: buckets count, too. */
TEST(an_urgent_sweep_checks_few_buckets_a_turn)
{
	uint32_t most = 0;

	store_keys(rig.core, "key", 300000, true);
	flush_now(rig.core);
	seconds(rig.core, 2 * SWEEP_PASS_S); /* empty, and large */
	flush_often(rig.core, GENERATIONS_MAX - 1);
	for (uint32_t i = 0; i < 10000 && store_generations_left(rig.store) < GENERATIONS_FEW;
	     i++) {
		const uint32_t bucket = rig.store->sweep.bucket;

		store_turn(rig.core, rig.core->now_s);
		if (rig.store->sweep.bucket > bucket && rig.store->sweep.bucket - bucket > most)
			most = rig.store->sweep.bucket - bucket;
	}
	check(store_generations_left(rig.store) >= GENERATIONS_FEW);
	check(most > SWEEP_SLICE_MIN && most <= SWEEP_SLICE_MAX);
}

/* A waiting caller is served if another caller's flush is done first. */
TEST(one_flush_does_for_all_who_wait)
{
	uint32_t asked;

	store_keys(rig.core, "key", 100000, true);
	flush_often(rig.core, GENERATIONS_MAX - 1);
	check_eq(set(rig.core, "k", "v"), STORE_OK);
	check_eq(store_flush(rig.core, 0), STORE_NOT_YET);
	check_ptr(find(rig.core, "k"));
	asked = store_flushes(rig.core);
	turns(rig.core, 10);
	check_eq(store_flushes(rig.core), asked);
	flush_now(rig.core);
	check(store_flushes(rig.core) != asked);
	check_null(find(rig.core, "k"));
}

/* A delayed flush is on time, however many others arrive before its second. */
TEST(a_flush_for_later_has_its_number)
{
	store_keys(rig.core, "key", 100000, true);
	flush_often(rig.core, GENERATIONS_MAX - 2);
	check_eq(set(rig.core, "k", "v"), STORE_OK);
	check_eq(store_flush(rig.core, rig.core->now_s + 1), STORE_OK);
	check_ptr(find(rig.core, "k"));
	store_turn(rig.core, rig.core->now_s + 1);
	check_null(find(rig.core, "k"));
	check_eq(set(rig.core, "k", "v"), STORE_OK);
	check_eq(store_flush(rig.core, rig.core->now_s + 5), STORE_NOT_YET);
	store_turn(rig.core, rig.core->now_s + 5);
	check_ptr(find(rig.core, "k"));
}

/* An immediate flush replaces a delayed one, and takes its number. */
TEST(a_flush_of_now_replaces_the_one_for_later)
{
	store_keys(rig.core, "key", 100000, true);
	flush_often(rig.core, GENERATIONS_MAX - 2);
	check_eq(store_flush(rig.core, rig.core->now_s + 5), STORE_OK);
	check_eq(set(rig.core, "k", "v"), STORE_OK);
	check_eq(store_flush(rig.core, 0), STORE_OK);
	check_eq(set(rig.core, "k", "v"), STORE_OK);
	store_turn(rig.core, rig.core->now_s + 5);
	check_ptr(find(rig.core, "k"));
}
