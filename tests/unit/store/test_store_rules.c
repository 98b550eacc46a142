/*
 * The effect of each operation on one key. Goal: the rules of memcached 1.6, case by case.
 * Method: one small store on one core; every rule is a row or a few lines, with the answer beside
 * it.
 */
#include "store/floors.h"
#include "support/store_calls.h"
#include "support/test.h"
#include "store_rig.h"

static struct rig rig;

SETUP(up)
{
	rig = rig_up(8, 1);
}

TEARDOWN(down)
{
	rig_down(&rig);
}

TEST(a_mode_stores_only_where_it_may)
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

TEST(a_dead_item_counts_as_absent)
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
		check_eq(store_count(rig.core, text("k"), store_hash(rig.core, text("k")), 1, false,
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

TEST(a_cas_stores_once_for_each_version)
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

TEST(no_key_sees_a_version_twice)
{
	uint64_t last = 0, value;

	for (int i = 0; i < 2000; i++) {
		switch (i % 7) {
		case 1:
			del(rig.core, "k");
			break;
		case 3:
			check_eq(evict_object(rig.core, item_ref(rig.store, find(rig.core, "k")),
					      GHOST_NONE),
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
			check_eq(store_count(rig.core, text("k"), store_hash(rig.core, text("k")),
					     1, false, &value),
				 STORE_OK);

		const uint64_t cas = item_cas(find(rig.core, "k"));

		check(cas > last);
		last = cas;
		turns(rig.core, 1);
	}
}

TEST(a_version_may_outgrow_24_bits)
{
	const uint64_t hash = store_hash(rig.core, text("k"));
	const struct place p = index_place(&rig.store->ix, hash);
	uint64_t value;

	atomic_store(store_floor(rig.store, p.tag), ITEM_CAS_MAX - 4);
	check_eq(set_full(rig.core, "k", "41", 77, 1000), STORE_OK);
	for (uint64_t i = 1; i < 10; i++) {
		check_eq(item_cas(find(rig.core, "k")), ITEM_CAS_MAX - 4 + i);
		check_eq(store_count(rig.core, text("k"), hash, 1, false, &value), STORE_OK);
		check_eq(value, 41 + i);
		check_eq(item_flags(find(rig.core, "k")), 77);
		check_eq(item_expiry_s(find(rig.core, "k")), 1000);
	}
	check_eq(del(rig.core, "k"), STORE_OK);
	check_eq(set(rig.core, "k", "x"), STORE_OK);
	check_eq(item_cas(find(rig.core, "k")), ITEM_CAS_MAX - 4 + 11);
	check(holds(rig.core, "k", "x"));
}

TEST(a_number_goes_up_and_down_as_memcached_says)
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
		check_eq(store_count(rig.core, text("n"), store_hash(rig.core, text("n")),
				     rows[i].delta, rows[i].decr, &value),
			 rows[i].result);
		check(holds(rig.core, "n", rows[i].after));
		check_eq(item_flags(find(rig.core, "n")), 5);
		check_eq(item_expiry_s(find(rig.core, "n")), 900);
		if (rows[i].result == STORE_OK)
			check(value == strtoull(rows[i].after, NULL, 10));
	}
}

/* Any number of spaces and zeros may precede the digits, which are read in blocks. A stray byte
 * may be at any place. */
TEST(a_number_is_read_behind_spaces_and_zeros)
{
	char before[128];

	for (uint32_t spaces = 0; spaces < 36; spaces++)
		for (uint32_t zeros = 0; zeros < 36; zeros++) {
			const uint32_t len = spaces + zeros + 2;
			uint64_t value = 0;

			for (uint32_t i = 0; i < spaces; i++)
				before[i] = " \t\n\v\f\r"[i % 6];
			memset(before + spaces, '0', zeros);
			memcpy(before + spaces + zeros, "41", 3);
			check_eq(set(rig.core, "n", before), STORE_OK);
			check_eq(store_count(rig.core, text("n"), store_hash(rig.core, text("n")),
					     1, false, &value),
				 STORE_OK);
			check_eq(value, 42);
			before[(spaces * 37 + zeros) % len] = spaces % 2 == 0 ? '\b' : '/';
			check_eq(set(rig.core, "n", before), STORE_OK);
			check_eq(store_count(rig.core, text("n"), store_hash(rig.core, text("n")),
					     1, false, &value),
				 STORE_NOT_A_NUMBER);
		}
}

TEST(append_and_prepend_keep_flags_and_expiry)
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

TEST(a_touch_changes_the_expiry_and_nothing_else)
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

TEST(an_item_lives_until_its_second_comes)
{
	check_eq(set_full(rig.core, "k", "v", 0, 10), STORE_OK);
	store_turn(rig.core, 9);
	check_ptr(find(rig.core, "k"));
	store_turn(rig.core, 10);
	check_null(find(rig.core, "k"));
	check_eq(set_full(rig.core, "past", "v", 0, 1), STORE_OK);
	check_null(find(rig.core, "past"));
}

TEST(a_flush_forgets_what_was_there_and_no_more)
{
	check_eq(set(rig.core, "a", "1"), STORE_OK);
	store_flush(rig.core, 0);
	check_null(find(rig.core, "a"));
	check_eq(set(rig.core, "b", "1"), STORE_OK);
	check_ptr(find(rig.core, "b"));
	store_flush(rig.core, 5); /* later: items stored until then are flushed, too */
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

TEST(housekeeping_reclaims_dead_items)
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
	seconds(rig.core, SWEEP_PASS_S + 1);
	store_usage_mt(rig.store, &usage);
	check_eq(usage.items, 5000);
	check_eq(counted(rig.core, STORE_FLUSHED), 10000);
	check_eq(counted(rig.core, STORE_EXPIRED), 5000);
}

/* Each second reclaims its share: no more than the quota, and all within a walk. */
TEST(dead_items_are_reclaimed_within_a_sweep_and_no_faster)
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
	turns(rig.core, 1000); /* a resize under way would carry some of them past the sweep */
	store_turn(rig.core, 9);
	check_eq(counted(rig.core, STORE_EXPIRED), 0);
	quota = sweep_quota(rig.store); /* of the index's present size */
	for (uint32_t s = 0; s <= SWEEP_PASS_S; s++) {
		seconds(rig.core, 1);

		const uint64_t now = counted(rig.core, STORE_EXPIRED);

		check(now - before <= (uint64_t)quota * BUCKET_SLOTS);
		before = now;
	}
	store_usage_mt(rig.store, &usage);
	check_eq(usage.items, 0);
	check_eq(before, 60000);
}

TEST(keys_of_any_bytes_and_length_are_apart)
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
