/*
 * What each operation does to one key. Goal: the rules of memcached 1.6, case by case. Method:
 * one small store on one core; every rule is a row or a few lines, with the answer beside it.
 */
#include "support/test.h"
#include "store_rig.h"

static struct rig rig;

static int
up(void **state)
{
	rig = rig_up(8, 1);
	return 0;
}

static int
down(void **state)
{
	rig_down(&rig);
	return 0;
}

static void
a_mode_stores_only_where_it_may(void **state)
{
	static const struct {
		enum store_mode mode;
		bool there;
		enum store_result result;
		const char *after;
	} rows[] = {
		{STORE_SET, false, STORE_OK, "new"},
		{STORE_SET, true, STORE_OK, "new"},
		{STORE_ADD, false, STORE_OK, "new"},
		{STORE_ADD, true, STORE_NOT_STORED, "old"},
		{STORE_REPLACE, false, STORE_NOT_STORED, NULL},
		{STORE_REPLACE, true, STORE_OK, "new"},
		{STORE_APPEND, false, STORE_NOT_STORED, NULL},
		{STORE_APPEND, true, STORE_OK, "oldnew"},
		{STORE_PREPEND, false, STORE_NOT_STORED, NULL},
		{STORE_PREPEND, true, STORE_OK, "newold"},
		{STORE_CAS, false, STORE_NOT_FOUND, NULL},
		{STORE_CAS, true, STORE_EXISTS, "old"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		del(rig.core, "k");
		if (rows[i].there)
			check_eq(set(rig.core, "k", "old"), STORE_OK);
		check_eq(put(rig.core, text("k"), text("new"), rows[i].mode, 0), rows[i].result);
		if (rows[i].after != NULL)
			check(holds(rig.core, "k", rows[i].after));
		else
			check_null(find(rig.core, "k"));
	}
}

static void
a_dead_item_counts_as_absent(void **state)
{
	static const struct {
		enum store_mode mode;
		enum store_result result;
	} rows[] = {
		{STORE_SET, STORE_OK},
		{STORE_ADD, STORE_OK},
		{STORE_REPLACE, STORE_NOT_STORED},
		{STORE_APPEND, STORE_NOT_STORED},
		{STORE_PREPEND, STORE_NOT_STORED},
		{STORE_CAS, STORE_NOT_FOUND},
	};

	for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
		const struct item *it;
		uint64_t value;

		set_full(rig.core, "k", "1", 0, i % 2 ? 1 : 0);
		if (i % 2 == 0)
			store_flush(rig.core, 0);
		check_null(find(rig.core, "k"));
		check_eq(store_arith(rig.core, text("k"), store_hash(rig.core, text("k")), 1, false,
				     &value),
			 STORE_NOT_FOUND);
		check_eq(store_touch(rig.core, text("k"), store_hash(rig.core, text("k")), 0, &it),
			 STORE_NOT_FOUND);
		check_eq(put(rig.core, text("k"), text("2"), rows[i / 2].mode, 1),
			 rows[i / 2].result);
		check_eq(find(rig.core, "k") != NULL, rows[i / 2].result == STORE_OK);
		del(rig.core, "k");
		set_full(rig.core, "k", "1", 0, 1);
		check_eq(del(rig.core, "k"), STORE_NOT_FOUND);
	}
}

static void
a_cas_stores_once_for_each_version(void **state)
{
	uint64_t last = 0;

	check_eq(set(rig.core, "k", "0"), STORE_OK);
	for (int i = 0; i < 100; i++) {
		const uint64_t cas = item_cas(find(rig.core, "k"));

		check(cas > last);
		last = cas;
		check_eq(put(rig.core, text("k"), text("a"), STORE_CAS, cas - 1), STORE_EXISTS);
		check_eq(put(rig.core, text("k"), text("b"), STORE_CAS, cas), STORE_OK);
		check_eq(put(rig.core, text("k"), text("c"), STORE_CAS, cas), STORE_EXISTS);
		check(holds(rig.core, "k", "b"));
	}
}

static void
no_key_sees_a_version_twice(void **state)
{
	uint64_t last = 0, value;

	for (int i = 0; i < 2000; i++) {
		switch (i % 7) {
		case 1:
			del(rig.core, "k");
			break;
		case 3:
			check_eq(unlink_object(rig.core, item_ref(rig.store, find(rig.core, "k")),
					       false),
				 UNLINKED_RETIRED);
			break;
		case 5:
			store_flush(rig.core, 0);
			break;
		default:
			break;
		}
		if (i % 2 == 0 || find(rig.core, "k") == NULL)
			check_eq(set(rig.core, "k", "7"), STORE_OK);
		else
			check_eq(store_arith(rig.core, text("k"), store_hash(rig.core, text("k")),
					     1, false, &value),
				 STORE_OK);

		const uint64_t cas = item_cas(find(rig.core, "k"));

		check(cas > last);
		last = cas;
		turns(rig.core, 1);
	}
}

static void
a_version_may_outgrow_24_bits(void **state)
{
	const uint64_t hash = store_hash(rig.core, text("k"));
	const struct place p = index_place(&rig.store->ix, hash);
	uint64_t value;

	atomic_store(store_floor(rig.store, p.tag), ITEM_CAS_MAX - 4);
	check_eq(set_full(rig.core, "k", "41", 77, 1000), STORE_OK);
	for (uint64_t i = 1; i < 10; i++) {
		check_eq(item_cas(find(rig.core, "k")), ITEM_CAS_MAX - 4 + i);
		check_eq(store_arith(rig.core, text("k"), hash, 1, false, &value), STORE_OK);
		check_eq(value, 41 + i);
		check_eq(item_flags(find(rig.core, "k")), 77);
		check_eq(item_expiry_s(find(rig.core, "k")), 1000);
	}
	check_eq(del(rig.core, "k"), STORE_OK);
	check_eq(set(rig.core, "k", "x"), STORE_OK);
	check_eq(item_cas(find(rig.core, "k")), ITEM_CAS_MAX - 4 + 11);
	check(holds(rig.core, "k", "x"));
}

static void
a_number_goes_up_and_down_as_memcached_says(void **state)
{
	static const struct {
		const char *before;
		uint64_t delta;
		bool decr;
		enum store_result result;
		const char *after;
	} rows[] = {
		{"10", 1, true, STORE_OK, "9 "},
		{"9", 1, false, STORE_OK, "10"},
		{"5", 7, true, STORE_OK, "0"},
		{"100", 100, true, STORE_OK, "0  "},
		{"18446744073709551615", 1, false, STORE_OK, "0                   "},
		{"18446744073709551615", 0, true, STORE_OK, "18446744073709551615"},
		{"0", UINT64_MAX, false, STORE_OK, "18446744073709551615"},
		{"1 2", 1, false, STORE_OK, "2  "},
		{"7\r\nx", 3, false, STORE_OK, "10  "},
		{"007", 1, false, STORE_OK, "8  "},
		{"", 1, false, STORE_NOT_A_NUMBER, ""},
		{" ", 1, false, STORE_NOT_A_NUMBER, " "},
		{"-1", 1, false, STORE_NOT_A_NUMBER, "-1"},
		{"12a", 1, false, STORE_NOT_A_NUMBER, "12a"},
		{"a", 1, true, STORE_NOT_A_NUMBER, "a"},
		{"18446744073709551616", 1, false, STORE_NOT_A_NUMBER, "18446744073709551616"},
		{"000000000000000000001", 1, false, STORE_OK, "2                    "},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t value = 0;

		check_eq(set_full(rig.core, "n", rows[i].before, 5, 900), STORE_OK);
		check_eq(store_arith(rig.core, text("n"), store_hash(rig.core, text("n")),
				     rows[i].delta, rows[i].decr, &value),
			 rows[i].result);
		check(holds(rig.core, "n", rows[i].after));
		check_eq(item_flags(find(rig.core, "n")), 5);
		check_eq(item_expiry_s(find(rig.core, "n")), 900);
		if (rows[i].result == STORE_OK)
			check(value == strtoull(rows[i].after, NULL, 10));
	}
}

static void
append_and_prepend_keep_flags_and_expiry(void **state)
{
	static const enum store_mode modes[] = {STORE_APPEND, STORE_PREPEND};

	for (int i = 0; i < 2; i++) {
		struct fill f;
		const struct view k = text("k");

		check_eq(set_full(rig.core, "k", "mid", 42, 500), STORE_OK);
		check_eq(store_begin(rig.core, &f, k, store_hash(rig.core, k), 2, 7, 3), STORE_OK);
		store_fill(rig.core, &f, "x", 1);
		store_fill(rig.core, &f, "y", 1);
		check_eq(store_finish(rig.core, &f, modes[i], 0), STORE_OK);
		check(holds(rig.core, "k", i == 0 ? "midxy" : "xymid"));
		check_eq(item_flags(find(rig.core, "k")), 42);
		check_eq(item_expiry_s(find(rig.core, "k")), 500);
	}
}

static void
a_touch_changes_the_expiry_and_nothing_else(void **state)
{
	static const struct {
		uint32_t before, touch;
	} rows[] = {{0, 0}, {0, 50}, {50, 60}, {50, 0}};
	const struct view k = text("k");

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct item *it = NULL;

		check_eq(set_full(rig.core, "k", "value", 9, rows[i].before), STORE_OK);

		const uint64_t cas = item_cas(find(rig.core, "k"));

		check_eq(store_touch(rig.core, k, store_hash(rig.core, k), rows[i].touch, &it),
			 STORE_OK);
		check(it == find(rig.core, "k"));
		check(holds(rig.core, "k", "value"));
		check_eq(item_expiry_s(it), rows[i].touch);
		check_eq(item_flags(it), 9);
		check_eq(item_cas(it), cas);
	}
}

static void
an_item_lives_until_its_second_comes(void **state)
{
	check_eq(set_full(rig.core, "k", "v", 0, 10), STORE_OK);
	store_turn(rig.core, 9);
	check_ptr(find(rig.core, "k"));
	store_turn(rig.core, 10);
	check_null(find(rig.core, "k"));
	check_eq(set_full(rig.core, "past", "v", 0, 1), STORE_OK);
	check_null(find(rig.core, "past"));
}

static void
a_flush_forgets_what_was_there_and_no_more(void **state)
{
	check_eq(set(rig.core, "a", "1"), STORE_OK);
	store_flush(rig.core, 0);
	check_null(find(rig.core, "a"));
	check_eq(set(rig.core, "b", "1"), STORE_OK);
	check_ptr(find(rig.core, "b"));
	store_flush(rig.core, 5); /* later: what is stored until then goes too */
	check_eq(set(rig.core, "c", "1"), STORE_OK);
	store_turn(rig.core, 4);
	check_ptr(find(rig.core, "b"));
	store_flush(rig.core, 6); /* a later call replaces a pending one */
	store_turn(rig.core, 5);
	check_ptr(find(rig.core, "c"));
	store_turn(rig.core, 6);
	check_null(find(rig.core, "b"));
	check_null(find(rig.core, "c"));
	check_eq(set(rig.core, "d", "1"), STORE_OK);
	store_turn(rig.core, 60);
	check_ptr(find(rig.core, "d"));
}

static void
a_flushed_item_never_comes_back(void **state)
{
	char key[16];

	/* More flushes than generations have numbers, each with something in between. */
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof key, "key%d", i);
		check_eq(set(rig.core, key, "v"), STORE_OK);
		store_flush(rig.core, 0);
		for (int j = 0; j <= i; j++) {
			snprintf(key, sizeof key, "key%d", j);
			check_null(find(rig.core, key));
		}
		if (i % 3 == 0)
			turns(rig.core, 2);
	}
}

/* The walk has been there, but before the flush: as it ends, their generation's number is not free.
 */
static void
what_is_flushed_behind_the_walk_never_comes_back(void **state)
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
	store_flush(r.core, 0);
	check_eq(set(r.core, "again", "v"), STORE_OK);
	store_flush(r.core, 0);
	while (r.store->sweep.bucket != 0) {
		store_turn(r.core, r.core->now_s + 1);
		store_tidy(r.core);
	}
	for (uint32_t flushes = 1; flushes <= GENERATIONS_MAX; flushes++) {
		check_eq(set(r.core, "again", "v"), STORE_OK);
		store_flush(r.core, 0);
		for (uint32_t i = 0; i < KEYS; i++) {
			snprintf(key, sizeof key, "key%u", i);
			check_null(find(r.core, key));
		}
	}
	rig_down(&r);
}

/* ---- floods of flushes ---- */

/* Keys "<name>0" and so on, 64 a turn; the store is tidied, or not. */
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

/* Each costs a generation, for the one item before it. */
static void
flush_often(struct store_core *sc, uint32_t flushes)
{
	for (uint32_t i = 0; i < flushes; i++) {
		store_keys(sc, "again", 1, false);
		store_flush(sc, 0);
	}
}

/* A flusher who outruns the walk hides in one turn what the limbo cannot take: most of what there
 * is. What hides must not keep others from its place, nor from its memory, before the walk comes by
 * (no store_tidy here); and the walk is soon done with it. */
static void
check_sets_after_many_flushes(struct rig *r, uint32_t there, uint32_t then)
{
	store_keys(r->core, "key", there, true);

	const uint64_t evicted = counted(r->core, STORE_EVICTED);

	flush_often(r->core, GENERATIONS_MAX + 1);
	check(atomic_load(&r->store->hidden) > LIMBO_MAX);
	store_keys(r->core, "new", then, false);
	check_eq(counted(r->core, STORE_OUT_OF_MEMORY), 0);
	check_eq(counted(r->core, STORE_EVICTED), evicted);
	find_keys(r->core, "new", then);
	turns(r->core, 1000);
	check_eq(atomic_load(&r->store->hidden), 0);
}

static void
what_hides_from_lookups_gives_way_to_sets(void **state)
{
	static const struct {
		uint32_t mebibytes, there, then;
		bool never_evict;
		uint32_t buckets; /* of an index that stays as it is; 0: it grows with the items */
	} rows[] = {
		{32, 100000, 20000, false, 0},
		{32, 100000, 160000, true, 0},
		{8, 300000, 150000, false, 0}, /* all of its memory */
		{8, 40000, 40000, true, 4096}, /* and nearly all of its slots */
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
		check_sets_after_many_flushes(&r, rows[i].there, rows[i].then);
		rig_down(&r);
	}
}

/* Buckets that are given up take their zombies along. */
static void
what_hides_leaves_with_its_bucket(void **state)
{
	enum { THERE = 38000, THEN = 1000, BUCKETS = 4096, FEWER = 2048 };
	struct rig r = rig_up_buckets(8, 1, BUCKETS, 0);

	store_keys(r.core, "key", THERE, true);
	flush_often(r.core, GENERATIONS_MAX + 1);
	check(atomic_load(&r.store->hidden) > LIMBO_MAX);
	store_keys(r.core, "new", THEN, false);
	check(resize_begin(r.core, FEWER));
	for (uint32_t i = 0; i < 10000 && index_bucket_count(&r.store->ix) != FEWER; i++)
		store_turn(r.core, r.core->now_s);
	check_eq(index_bucket_count(&r.store->ix), FEWER);
	check_eq(counted(r.core, STORE_INDEX_FORGOTTEN), 0);
	find_keys(r.core, "new", THEN);
	turns(r.core, 1000);
	check_eq(atomic_load(&r.store->hidden), 0);
	rig_down(&r);
}

/* After many flushes it takes more buckets at a time, as far as the limbo goes. */
static void
a_walk_in_a_hurry_hides_nothing(void **state)
{
	enum { THERE = 38000, FLUSHES = GENERATIONS_MAX - GENERATIONS_FEW + 1 };
	struct rig r = rig_up_buckets(8, 1, 4096, 0);

	store_keys(r.core, "key", THERE, true);
	flush_often(r.core, FLUSHES);
	for (uint32_t i = 0; i < 1000; i++) {
		turns(r.core, 1);
		check_eq(atomic_load(&r.store->hidden), 0);
	}
	check_eq(counted(r.core, STORE_FLUSHED), THERE + FLUSHES);
	rig_down(&r);
}

/* Nor does it where the limbo stays full, because another core does not turn: it waits. */
static void
a_walk_waits_for_room_in_the_limbo(void **state)
{
	enum { THERE = 38000, FLUSHES = GENERATIONS_MAX - GENERATIONS_FEW + 1 };
	struct rig r = rig_up_buckets(8, 2, 4096, 0);
	struct store_core *other = store_core_of(r.store, 1);

	store_keys(r.core, "key", THERE, true);
	store_turn(other, STORE_CLOCK_START);
	flush_often(r.core, FLUSHES);
	for (uint32_t i = 0; i < 100; i++) {
		turns(r.core, 1);
		check_eq(atomic_load(&r.store->hidden), 0);
	}
	check(counted(r.core, STORE_FLUSHED) > LIMBO_MAX / 2 &&
	      counted(r.core, STORE_FLUSHED) < LIMBO_MAX);
	for (uint32_t i = 0; i < 1000; i++) {
		store_turn(other, STORE_CLOCK_START);
		turns(r.core, 1);
	}
	check_eq(counted(r.core, STORE_FLUSHED), THERE + FLUSHES);
	check_eq(atomic_load(&r.store->hidden), 0);
	rig_down(&r);
}

static void
upkeep_gives_back_what_is_dead(void **state)
{
	struct store_usage usage;
	char key[16];

	for (int i = 0; i < 10000; i++) {
		snprintf(key, sizeof key, "key%d", i);
		check_eq(set_full(rig.core, key, "v", 0, i % 2 ? 20 : 0), STORE_OK);
		if (i % 64 == 0)
			turns(rig.core, 1);
	}
	store_flush(rig.core, 0);
	for (int i = 0; i < 10000; i++) {
		snprintf(key, sizeof key, "new%d", i);
		check_eq(set_full(rig.core, key, "v", 0, i % 2 ? 20 : 0), STORE_OK);
		if (i % 64 == 0)
			turns(rig.core, 1);
	}
	store_turn(rig.core, 20);
	seconds(rig.core, SWEEP_WALK_S + 1);
	store_usage_mt(rig.store, &usage);
	check_eq(usage.items, 5000);
	check_eq(counted(rig.core, STORE_FLUSHED), 10000);
	check_eq(counted(rig.core, STORE_EXPIRED), 5000);
}

/* Every second its share: no more than the quota, and all within a walk. */
static void
the_dead_are_given_back_within_a_walk_and_no_faster(void **state)
{
	uint32_t quota;
	uint64_t before = 0;
	struct store_usage usage;
	char key[16];

	for (int i = 0; i < 60000; i++) {
		snprintf(key, sizeof key, "key%d", i);
		check_eq(set_full(rig.core, key, "v", 0, 10), STORE_OK);
		turns(rig.core, i % 64 == 0);
	}
	store_turn(rig.core, 9);
	check_eq(counted(rig.core, STORE_EXPIRED), 0);
	quota = sweep_quota(rig.store); /* of the index as large as it is by now */
	for (uint32_t s = 0; s <= SWEEP_WALK_S; s++) {
		seconds(rig.core, 1);

		const uint64_t now = counted(rig.core, STORE_EXPIRED);

		check(now - before <= (uint64_t)quota * BUCKET_SLOTS);
		before = now;
	}
	store_usage_mt(rig.store, &usage);
	check_eq(usage.items, 0);
	check_eq(before, 60000);
}

static void
keys_of_any_bytes_and_length_are_apart(void **state)
{
	uint8_t key[ITEM_KEY_MAX];

	memset(key, 0, sizeof key);
	for (uint32_t len = 1; len <= ITEM_KEY_MAX; len++)
		check_eq(put(rig.core, (struct view){key, len},
			     (struct view){(const uint8_t *)&len, sizeof len}, STORE_ADD, 0),
			 STORE_OK);
	for (uint32_t len = 1; len <= ITEM_KEY_MAX; len++) {
		const struct view k = {key, len};
		const struct item *it = store_get(rig.core, k, store_hash(rig.core, k));

		check_ptr(it);
		check_eq(item_key(it).len, len);
		check_eq(load_u32(store_value_at(rig.core, it, 0).data), len);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, up, down)
		TEST(a_mode_stores_only_where_it_may),
		TEST(a_dead_item_counts_as_absent),
		TEST(a_cas_stores_once_for_each_version),
		TEST(no_key_sees_a_version_twice),
		TEST(a_version_may_outgrow_24_bits),
		TEST(a_number_goes_up_and_down_as_memcached_says),
		TEST(append_and_prepend_keep_flags_and_expiry),
		TEST(a_touch_changes_the_expiry_and_nothing_else),
		TEST(an_item_lives_until_its_second_comes),
		TEST(a_flush_forgets_what_was_there_and_no_more),
		TEST(a_flushed_item_never_comes_back),
		TEST(what_is_flushed_behind_the_walk_never_comes_back),
		TEST(what_hides_from_lookups_gives_way_to_sets),
		TEST(what_hides_leaves_with_its_bucket),
		TEST(a_walk_in_a_hurry_hides_nothing),
		TEST(a_walk_waits_for_room_in_the_limbo),
		TEST(upkeep_gives_back_what_is_dead),
		TEST(the_dead_are_given_back_within_a_walk_and_no_faster),
		TEST(keys_of_any_bytes_and_length_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
