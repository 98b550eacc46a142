/*
 * Conditional writes, and tokens. Goal: meta commands and the binary protocol get, case by case,
 * the answers of memcached 1.6. Method: one small store on one core; every rule is a row or a few
 * lines, with the answer beside it.
 */
#include "support/store_calls.h"
#include "support/test.h"
#include "store_rig.h"
#include "slab/hand.h"

static struct rig rig;

SETUP(up)
{
	rig = rig_up(8, 1);
}

TEARDOWN(down)
{
	rig_down(&rig);
}

#define KEY text("k"), store_hash(rig.core, text("k"))

static const struct item *
look(void)
{
	return store_peek(rig.core, KEY);
}

/* Writes the value in the steps begin, fill, finish. */
static enum store_result
write_full(const struct store_conditions *conditions, const char *value, uint32_t flags,
	   uint32_t expiry_s, const struct item **made)
{
	const struct view v = text(value);
	struct fill f;

	check_eq(store_begin(rig.core, &f, KEY, v.len, flags, expiry_s), STORE_OK);
	store_fill(rig.core, &f, v.data, v.len);
	return store_finish_with(rig.core, &f, conditions, made);
}

static enum store_result
write_on(const struct store_conditions *conditions, const char *value, const struct item **made)
{
	return write_full(conditions, value, 0, 0, made);
}

/* Stores an item with cas 100, flags 7 and this expiry. Returns the cas. */
static uint64_t
put_old(const char *value, uint32_t expiry_s)
{
	const struct store_conditions conditions = {.set_cas = true, .new_cas = 100};
	const struct item *made;

	del(rig.core, "k");
	check_eq(write_full(&conditions, value, 7, expiry_s, &made), STORE_OK);
	check_eq(item_cas(made), 100);
	return 100;
}

TEST(a_write_compares_if_it_is_asked_to)
{
	static const struct {
		enum store_mode mode;
		bool there, match;
		enum store_result result;
		const char *after;
	} rows[] = {
		{STORE_SET, false, false, STORE_OK, "new"},
		{STORE_SET, true, false, STORE_EXISTS, "old"},
		{STORE_SET, true, true, STORE_OK, "new"},
		{STORE_ADD, false, false, STORE_OK, "new"},
		{STORE_ADD, true, true, STORE_NOT_STORED, "old"},
		{STORE_REPLACE, false, false, STORE_NOT_STORED, NULL},
		{STORE_REPLACE, true, false, STORE_EXISTS, "old"},
		{STORE_REPLACE, true, true, STORE_OK, "new"},
		{STORE_CAS, false, false, STORE_NOT_FOUND, NULL},
		{STORE_CAS, true, false, STORE_EXISTS, "old"},
		{STORE_CAS, true, true, STORE_OK, "new"},
		{STORE_APPEND, false, false, STORE_NOT_STORED, NULL},
		{STORE_APPEND, true, false, STORE_EXISTS, "old"},
		{STORE_APPEND, true, true, STORE_OK, "oldnew"},
		{STORE_PREPEND, true, false, STORE_EXISTS, "old"},
		{STORE_PREPEND, true, true, STORE_OK, "newold"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct item *made;
		struct store_conditions conditions = {.mode = rows[i].mode, .compare = true};

		del(rig.core, "k");
		if (rows[i].there)
			conditions.cas = put_old("old", 0) + !rows[i].match;
		check_eq(write_on(&conditions, "new", &made), rows[i].result);
		check_eq(made != NULL, rows[i].result == STORE_OK);
		check(made == NULL || made == look());
		if (rows[i].after != NULL)
			check(holds(rig.core, "k", rows[i].after));
		else
			check_null(look());
	}
}

TEST(an_older_version_is_stored_as_stale_where_that_is_wanted)
{
	static const struct {
		uint64_t cas;
		bool wanted;
		enum store_result result;
		bool stale;
	} rows[] = {
		{100, true, STORE_OK, false},   {99, true, STORE_OK, true},
		{1, true, STORE_OK, true},      {101, true, STORE_EXISTS, false},
		{0, true, STORE_EXISTS, false}, {99, false, STORE_EXISTS, false},
	};

	/* Each row runs with an old item with and without an expiry, already won and not. */
	for (size_t i = 0; i < 4 * sizeof rows / sizeof *rows; i++) {
		const bool expires = i & 1, won = i & 2;
		const struct store_conditions conditions = {.mode = STORE_CAS,
							    .cas = rows[i / 4].cas,
							    .stale_if_older = rows[i / 4].wanted};
		const struct item *made;

		put_old("old", expires ? 50 : 0);
		if (won)
			check(store_win(rig.core, look()));
		check_eq(write_full(&conditions, "new", 3, 70, &made), rows[i / 4].result);
		if (made == NULL) {
			check(holds(rig.core, "k", "old"));
			continue;
		}
		check(holds(rig.core, "k", "new"));
		check_eq(item_is_stale(made), rows[i / 4].stale);
		check_eq(item_is_won(made), rows[i / 4].stale && won);
		check_eq(item_expiry_s(made), !rows[i / 4].stale ? 70 : expires ? 50 : 0);
		check_eq(item_flags(made), 3);
		check(item_cas(made) > 100);
	}
}

TEST(a_late_write_without_room_for_the_expiry_gets_some)
{
	const struct store_conditions conditions = {
		.mode = STORE_CAS, .cas = 5, .stale_if_older = true};
	const struct item *made;

	put_old("old", 50);
	check_eq(write_full(&conditions, "new", 9, 0, &made), STORE_OK);
	check_eq(item_expiry_s(made), 50);
	check_eq(item_flags(made), 9);
	check(holds(rig.core, "k", "new"));
}

TEST(a_client_may_choose_the_number_of_a_version)
{
	static const struct {
		uint64_t chosen, next;
	} rows[] = {
		{5, 6},
		{ITEM_CAS_MAX, ITEM_CAS_MAX + 1ull},
		{ITEM_CAS_MAX + 1ull, ITEM_CAS_MAX + 2ull},
		{1ull << 62, (1ull << 62) + 1},
		/* No floor follows these numbers: the next one is above
		 * the highest before them. */
		{UINT64_MAX - 1, (1ull << 62) + 2},
		{UINT64_MAX, (1ull << 62) + 3},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct store_conditions conditions = {.set_cas = true,
							    .new_cas = rows[i].chosen};
		const struct item *made;

		check_eq(write_full(&conditions, "1", 7, 90, &made), STORE_OK);
		check(item_cas(made) == rows[i].chosen);
		check_eq(item_flags(made), 7);
		check_eq(item_expiry_s(made), 90);
		check_eq(set(rig.core, "k", "2"), STORE_OK);
		check(item_cas(look()) == rows[i].next);
		check(holds(rig.core, "k", "2"));
	}
}

#define TOKENS_MAX 64u

struct tokens {
	uint64_t had[TOKENS_MAX];
	uint32_t count;
};

/* Checks that the server numbered the key's version with a number that no client has had. */
static void
is_new_token(struct tokens *t)
{
	const uint64_t cas = item_cas(look());

	check(cas != 0);
	for (uint32_t i = 0; i < t->count; i++)
		check(cas != t->had[i]);
	check(t->count < TOKENS_MAX);
	t->had[t->count++] = cas;
}

static void
choose(struct tokens *t, uint64_t cas)
{
	const struct store_conditions conditions = {.set_cas = true, .new_cas = cas};
	const struct item *made;

	check_eq(write_on(&conditions, "5", &made), STORE_OK);
	check(item_cas(made) == cas);
	check(t->count < TOKENS_MAX);
	t->had[t->count++] = cas;
}

static void
write_each_way(struct tokens *t)
{
	const struct store_removal stale = {.mark_stale = true}, empty = {.drop_value = true};
	const struct item *left;
	uint64_t number;

	check_eq(set(rig.core, "k", "5"), STORE_OK);
	is_new_token(t);
	check_eq(store_count(rig.core, KEY, 1, false, &number), STORE_OK);
	is_new_token(t);
	check_eq(write_full(&(struct store_conditions){.mode = STORE_APPEND}, "0", 0, 0, &left),
		 STORE_OK);
	is_new_token(t);
	check_eq(store_delete_with(rig.core, KEY, &stale, &left), STORE_OK);
	is_new_token(t);
	check_eq(store_delete_with(rig.core, KEY, &empty, &left), STORE_OK);
	is_new_token(t);
	del(rig.core, "k");
	check_eq(set(rig.core, "k", "5"), STORE_OK);
	is_new_token(t);
}

TEST(no_number_comes_back_after_a_chosen_one)
{
	static const uint64_t rows[][4] = {
		{1, 1, 1, 1},
		{50, 1, 49, 3},
		{ITEM_CAS_MAX, 1, ITEM_CAS_MAX - 2, 1},
		{ITEM_CAS_MAX + 1ull, 7, ITEM_CAS_MAX + 1ull, 7},
		{1ull << 61, 1, 1ull << 60, 2},
		{UINT64_MAX, 1, UINT64_MAX, UINT64_MAX - 1},
		{1ull << 62, (1ull << 62) + 1, (1ull << 62) - 1, 1},
		{(1ull << 62) + 1, (1ull << 62) + 20, UINT64_MAX, 1},
		{(1ull << 62) + (1ull << 33), (1ull << 62) + (1ull << 32), 9, 1ull << 62},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct tokens t = {.count = 0};

		del(rig.core, "k");
		check_eq(set(rig.core, "k", "1"), STORE_OK);
		is_new_token(&t);
		for (uint32_t n = 0; n < 4; n++) {
			choose(&t, rows[i][n]);
			if (i % 2 == 0 || n % 2 != 0)
				write_each_way(&t);
		}
	}
}

/* 0 is the number of no version; in the binary protocol it stands for any. */
TEST(zero_is_not_chosen)
{
	const struct store_conditions zero = {.set_cas = true};
	const struct item *made;
	struct tokens t = {.count = 0};

	for (uint32_t i = 0; i < 3; i++) {
		check_eq(write_on(&zero, "1", &made), STORE_OK);
		is_new_token(&t);
	}
}

/* Numbers that clients choose must not leave the store without numbers. */
TEST(after_the_last_number_comes_another)
{
	const struct store_conditions last = {.set_cas = true, .new_cas = UINT64_MAX};
	const struct item *made;
	uint64_t before = 0;

	for (int i = 0; i < 5; i++) {
		check_eq(write_on(&last, "1", &made), STORE_OK);
		check_eq(del(rig.core, "k"), STORE_OK);
		check_eq(set(rig.core, "k", "2"), STORE_OK);
		check(item_cas(look()) > before);
		check(item_cas(look()) < UINT64_MAX);
		before = item_cas(look());
	}
}

TEST(one_reader_wins_and_no_other)
{
	const struct store_conditions won = {.mode = STORE_ADD, .won = true};
	const struct item *made;

	check_eq(write_on(&won, "", &made), STORE_OK); /* as mg with N makes it */
	check(item_is_won(made));
	check(!item_is_stale(made));
	check(!store_win(rig.core, made));
	check_eq(item_value_len(made), 0);
	check_eq(write_on(&won, "", &made), STORE_NOT_STORED);
	check_eq(set(rig.core, "k", "value"), STORE_OK);
	check(!item_is_won(look()));
	check(store_win(rig.core, look()));
	check(item_is_won(look()));
	for (int i = 0; i < 3; i++)
		check(!store_win(rig.core, look()));
	check(holds(rig.core, "k", "value"));
}

/* The effect of each operation on the marks of the old version. */
TEST(status_bits_stay_with_the_same_value)
{
	static const struct {
		const char *what;
		bool keeps_token, keeps_key;
	} rows[] = {{"touch", true, true},  {"touch once more", true, true},
		    {"incr", true, true},   {"append", false, true},
		    {"set", false, false},  {"stale", false, true},
		    {"empty", false, true}, {"replace", false, false}};

	for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
		const struct store_conditions first = {.won = i % 2 == 0, .binary_key = true};
		const struct store_removal stale = {.mark_stale = true},
					   empty = {.drop_value = true};
		const struct store_conditions append = {.mode = STORE_APPEND},
					      plain = {.mode = STORE_SET},
					      replace = {.mode = STORE_REPLACE};
		const struct item *it = NULL;
		uint64_t value;

		check_eq(write_on(&first, "10", &it), STORE_OK);
		check(item_key_is_binary(it));
		switch (i / 2) {
		case 0: /* has no room for an expiry: copied */
			check_eq(store_touch(rig.core, KEY, 50, &it), STORE_OK);
			break;
		case 1:
			check_eq(store_touch(rig.core, KEY, 50, &it), STORE_OK);
			check_eq(store_touch(rig.core, KEY, 60, &it), STORE_OK);
			break;
		case 2:
			check_eq(store_count(rig.core, KEY, 1, false, &value), STORE_OK);
			break;
		case 3:
			check_eq(write_on(&append, "0", &it), STORE_OK);
			break;
		case 4:
			check_eq(write_on(&plain, "1", &it), STORE_OK);
			break;
		case 5:
			check_eq(store_delete_with(rig.core, KEY, &stale, &it), STORE_OK);
			break;
		case 6:
			check_eq(store_delete_with(rig.core, KEY, &empty, &it), STORE_OK);
			break;
		default:
			check_eq(write_on(&replace, "1", &it), STORE_OK);
			break;
		}
		check_eq(item_is_won(look()), rows[i / 2].keeps_token && i % 2 == 0);
		check_eq(item_key_is_binary(look()), rows[i / 2].keeps_key);
		check_eq(item_is_stale(look()), i / 2 == 5);
	}
}

TEST(stale_bits_stay_with_the_same_value)
{
	const struct store_removal stale = {.mark_stale = true};
	const struct item *it;
	uint64_t value;

	check_eq(set(rig.core, "k", "10"), STORE_OK);
	check_eq(store_delete_with(rig.core, KEY, &stale, &it), STORE_OK);
	check_eq(store_touch(rig.core, KEY, 50, &it), STORE_OK);
	check(item_is_stale(look()));
	check_eq(store_count(rig.core, KEY, 1, false, &value), STORE_OK);
	check(item_is_stale(look()));
	check_eq(put(rig.core, text("k"), text("0"), STORE_APPEND, 0), STORE_OK);
	check(!item_is_stale(look()));
}

/* A core may still hold the previous version: it cannot win what another reader may win now. */
TEST(the_token_leaves_the_version_before)
{
	const struct item *before, *now;
	uint64_t value;

	check_eq(set(rig.core, "k", "10"), STORE_OK);
	before = look();
	check_eq(store_touch(rig.core, KEY, 50, &now), STORE_OK);
	check(now != before);
	check(!store_win(rig.core, before));
	check(store_win(rig.core, now));
	check(!store_win(rig.core, now));

	check_eq(set(rig.core, "k", "10"), STORE_OK);
	before = look();
	check_eq(store_count(rig.core, KEY, 1, false, &value), STORE_OK);
	check(!store_win(rig.core, before));
	check(store_win(rig.core, look()));
}

TEST(a_stale_item_is_served_and_won_once_each_time_it_becomes_stale)
{
	static const struct store_removal hows[] = {
		{.mark_stale = true},
		{.mark_stale = true, .new_expiry = true, .expiry_s = 60},
		{.mark_stale = true, .new_expiry = true, .expiry_s = 0},
		{.mark_stale = true, .compare = true, .cas = 100},
		{.mark_stale = true, .set_cas = true, .new_cas = 1000},
		{.mark_stale = true, .set_cas = true, .new_cas = 1ull << 40},
	};

	for (size_t i = 0; i < 2 * sizeof hows / sizeof *hows; i++) {
		const struct store_removal *how = &hows[i / 2];
		const uint32_t expiry_s = i % 2 ? 50 : 0;
		const struct item *left;

		put_old("value", expiry_s);
		check(store_win(rig.core, look()));
		check_eq(store_delete_with(rig.core, KEY, how, &left), STORE_OK);
		check(left == look());
		check(holds(rig.core, "k", "value"));
		check_eq(item_flags(left), 7);
		check_eq(item_expiry_s(left), how->new_expiry ? how->expiry_s : expiry_s);
		check(how->set_cas ? item_cas(left) == how->new_cas : item_cas(left) > 100);
		check(item_is_stale(left));
		check(!item_is_won(left));
		check(store_win(rig.core, left));
		check(!store_win(rig.core, left));
	}
}

TEST(an_item_can_lose_its_value_and_stay)
{
	static const struct store_removal hows[] = {
		{.drop_value = true},
		{.drop_value = true, .mark_stale = true},
		{.drop_value = true, .new_expiry = true, .expiry_s = 60},
		{.drop_value = true, .compare = true, .cas = 100},
		{.drop_value = true, .set_cas = true, .new_cas = 1ull << 40},
	};

	for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
		const struct item *left;

		put_old("value", 50);
		check_eq(store_delete_with(rig.core, KEY, &hows[i], &left), STORE_OK);
		check(left == look());
		check_eq(item_value_len(left), 0);
		check_eq(item_flags(left), 0);
		check_eq(item_expiry_s(left), hows[i].expiry_s);
		check_eq(item_is_stale(left), hows[i].mark_stale);
		check(hows[i].set_cas ? item_cas(left) == hows[i].new_cas : item_cas(left) > 100);
		check(view_equal(item_key(left), text("k")));
	}
}

TEST(a_removal_asks_what_is_there)
{
	static const struct store_removal hows[] = {{.compare = true},
						    {.mark_stale = true, .compare = true},
						    {.drop_value = true, .compare = true}};

	for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
		struct store_removal how = hows[i];
		const struct item *left;

		del(rig.core, "k");
		check_eq(store_delete_with(rig.core, KEY, &how, &left), STORE_NOT_FOUND);
		check_null(left);
		how.cas = put_old("value", 0) + 1;
		check_eq(store_delete_with(rig.core, KEY, &how, &left), STORE_EXISTS);
		check_null(left);
		check_eq(item_cas(look()), 100);
		check(!item_is_stale(look()));
		check(holds(rig.core, "k", "value"));
		how.cas = 100;
		check_eq(store_delete_with(rig.core, KEY, &how, &left), STORE_OK);
		check_eq(left != NULL, how.mark_stale || how.drop_value);
		check_eq(look() != NULL, left != NULL);
		store_flush(rig.core, 0);
		check_eq(store_delete_with(rig.core, KEY, &how, &left), STORE_NOT_FOUND);
	}
}

TEST(a_large_value_becomes_stale_whole)
{
	static uint8_t bytes[300000];
	const struct view value = {bytes, sizeof bytes};
	const struct store_removal how = {.mark_stale = true};
	const struct item *left;

	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 251);
	check_eq(put(rig.core, text("k"), value, STORE_SET, 0), STORE_OK);
	check_eq(store_delete_with(rig.core, KEY, &how, &left), STORE_OK);
	check_ptr(left);
	check(value_is(rig.core, look(), value));
	check(item_is_stale(look()));
	check(store_win(rig.core, look()));
	check(!store_win(rig.core, look()));
}

/* Without memory for a stale copy the store forgets the item rather than leave a
 * value that looks good. */
TEST(a_large_item_without_memory_for_a_copy_is_marked_where_it_lies, no_setup)
{
	static uint8_t bytes[3u << 20];
	struct rig small = rig_up_for(8, 1, sizeof bytes);
	const struct view key = text("large"), value = {bytes, sizeof bytes};
	const uint64_t hash = store_hash(small.core, key);
	const struct store_removal how = {.mark_stale = true};
	const struct item *left;
	uint32_t waited, in_place = 0;

	for (int i = 0; i < 10; i++) {
		check_eq(put_waiting(small.core, key, value, 1000, &waited), STORE_OK);

		const struct item *it = store_peek(small.core, key, hash);
		const uint64_t cas = item_cas(it);
		/* The search for memory may have evicted the item already. */
		const enum store_result r = store_delete_with(small.core, key, hash, &how, &left);

		check(r == STORE_OK ? left != NULL : r == STORE_NOT_FOUND);
		check(left == store_peek(small.core, key, hash));
		check(left == NULL || (item_is_stale(left) && !item_is_won(left)));
		check(left != it || item_cas(left) > cas);
		in_place += left == it && left != NULL;
	}
	check(in_place > 0);
	rig_down(&small);
}

TEST(a_number_is_made_where_there_is_none)
{
	static const struct {
		const char *before;
		struct store_arith_args sum;
		enum store_result result;
		uint64_t value;
		bool created;
		const char *after;
		uint32_t expiry_s;
	} rows[] = {
		{NULL, {.delta = 1}, STORE_NOT_FOUND, 0, false, NULL, 0},
		{NULL, {.delta = 1, .vivify = true, .initial = 13}, STORE_OK, 13, true, "13", 0},
		{NULL,
		 {.delta = 1, .vivify = true, .initial = UINT64_MAX, .initial_expiry_s = 40},
		 STORE_OK,
		 UINT64_MAX,
		 true,
		 "18446744073709551615",
		 40},
		{NULL,
		 {.decr = true, .delta = 1, .vivify = true, .compare = true, .cas = 4},
		 STORE_OK,
		 0,
		 true,
		 "0",
		 0},
		{"5", {.delta = 2, .vivify = true, .initial = 13}, STORE_OK, 7, false, "7", 50},
		{"5", {.delta = 2, .compare = true, .cas = 100}, STORE_OK, 7, false, "7", 50},
		{"5", {.delta = 2, .compare = true, .cas = 99}, STORE_EXISTS, 0, false, "5", 50},
		{"5",
		 {.delta = 2, .new_expiry = true, .expiry_s = 60},
		 STORE_OK,
		 7,
		 false,
		 "7",
		 60},
		{"5", {.delta = 2, .new_expiry = true}, STORE_OK, 7, false, "7", 0},
		{"5", {.decr = true, .delta = 7}, STORE_OK, 0, false, "0", 50},
		{"x", {.delta = 2, .vivify = true}, STORE_NOT_A_NUMBER, 0, false, "x", 50},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct store_arith_result total;

		del(rig.core, "k");
		if (rows[i].before != NULL)
			put_old(rows[i].before, 50);
		check_eq(store_arith_with(rig.core, KEY, &rows[i].sum, &total), rows[i].result);
		check_eq(total.created, rows[i].created);
		check_eq(total.made != NULL, rows[i].result == STORE_OK);
		if (total.made != NULL) {
			check(total.made == look());
			check(total.value == rows[i].value);
		}
		if (rows[i].after == NULL) {
			check_null(look());
			continue;
		}
		check(holds(rig.core, "k", rows[i].after));
		check_eq(item_expiry_s(look()), rows[i].expiry_s);
		check_eq(item_flags(look()), rows[i].before != NULL ? 7 : 0);
	}
}

TEST(a_number_may_have_a_version_of_its_own)
{
	static const uint64_t numbers[] = {3, 1ull << 30, UINT64_MAX};

	for (size_t i = 0; i < 2 * sizeof numbers / sizeof *numbers; i++) {
		const struct store_arith_args sum = {.delta = 1,
						     .set_cas = true,
						     .new_cas = numbers[i / 2],
						     .vivify = true,
						     .binary_key = true};
		struct store_arith_result total;

		del(rig.core, "k");
		if (i % 2)
			put_old("5", 50);
		check_eq(store_arith_with(rig.core, KEY, &sum, &total), STORE_OK);
		check(item_cas(total.made) == numbers[i / 2]);
		check_eq(total.value, i % 2 ? 6 : 0);
		check_eq(item_key_is_binary(total.made), i % 2 == 0);
	}
}

TEST(an_append_begins_a_value_where_it_may)
{
	static const enum store_mode modes[] = {STORE_APPEND, STORE_PREPEND};

	for (size_t i = 0; i < 4; i++) {
		const struct store_conditions conditions = {
			.mode = modes[i / 2], .vivify = true, .binary_key = true};
		const struct item *made;
		const bool there = i % 2;

		del(rig.core, "k");
		if (there)
			put_old("old", 50);
		check_eq(write_full(&conditions, "new", 3, 70, &made), STORE_OK);
		check(made == look());
		check(holds(rig.core, "k", !there ? "new" : i / 2 == 0 ? "oldnew" : "newold"));
		check_eq(item_flags(made), there ? 7 : 3);
		check_eq(item_expiry_s(made), there ? 50 : 70);
		check_eq(item_key_is_binary(made), !there);
	}
}

TEST(a_peek_leaves_no_trace_and_a_get_does)
{
	static const enum {
		PEEK,
		PEEK_STEPS,
		USE,
		GET,
		TOUCH
	} hows[] = {PEEK, PEEK_STEPS, USE, GET, TOUCH};

	for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
		const struct item *it;
		struct probe probe;

		store_delete(rig.core, KEY); /* an update would be a use */
		check_eq(set(rig.core, "k", "value"), STORE_OK);
		it = look();
		check(!store_is_fetched(rig.core, it));
		switch (hows[i]) {
		case PEEK:
			check(look() == it);
			break;
		case PEEK_STEPS:
			store_probe(rig.core, &probe, text("k"));
			store_probe_primary(rig.core, &probe);
			store_probe_alternate(rig.core, &probe);
			check(store_peek_probed(rig.core, &probe, text("k")) == it);
			break;
		case USE:
			store_bump(rig.core, it);
			break;
		case GET:
			check(find(rig.core, "k") == it);
			break;
		case TOUCH:
			check_eq(store_touch(rig.core, KEY, 50, &it), STORE_OK);
			break;
		}
		check_eq(store_is_fetched(rig.core, it), hows[i] >= USE);
		item_apply_referenced(rig.core);
		check_eq(slab_is_referenced(&rig.store->slab, item_ref(rig.store, it)),
			 hows[i] >= USE);
	}
}

/* The CLOCK hand clears the reference bit, but not the mark that the item was used once. */
TEST(that_an_item_was_fetched_outlives_the_clock_hand)
{
	uint32_t refs[EVICT_SLICE + OBJECTS_PER_LOOK];
	struct slab *sl = &rig.store->slab;
	const struct item *it;

	check_eq(set(rig.core, "k", "value"), STORE_OK);
	it = find(rig.core, "k");
	item_apply_referenced(rig.core);
	check(slab_is_referenced(sl, item_ref(rig.store, it)));
	hand_clock(sl, rig.core->magazines, slab_class_of_ref(sl, item_ref(rig.store, it)), false,
		   refs, 1);
	check(!slab_is_referenced(sl, item_ref(rig.store, it)));
	check(store_is_fetched(rig.core, look()));
}

TEST(an_item_is_idle_since_the_clock_hand_passed)
{
	uint32_t refs[EVICT_SLICE + OBJECTS_PER_LOOK];
	struct slab *sl = &rig.store->slab;
	const struct item *it;

	store_turn(rig.core, 100);
	check_eq(set(rig.core, "k", "value"), STORE_OK);
	check_eq(store_idle_s(rig.core, look()), 0); /* its page was taken now */
	store_turn(rig.core, 130);
	check_eq(store_idle_s(rig.core, look()), 30);
	it = find(rig.core, "k");
	check_eq(store_idle_s(rig.core, it), 0);
	item_apply_referenced(rig.core);

	const uint32_t class = slab_class_of_ref(sl, item_ref(rig.store, it));
	const uint32_t words = sl->classes[class].per_page / OBJECTS_PER_LOOK + 1;

	for (uint32_t i = 0; i < words; i++)
		hand_clock(sl, rig.core->magazines, class, false, refs, 1);
	store_turn(rig.core, 140);
	check_eq(store_idle_s(rig.core, look()), 10);
}

/* An item's idle time is bounded by its age, also on an old page. */
TEST(no_item_is_idle_for_longer_than_it_has_been_there)
{
	store_turn(rig.core, 100);
	check_eq(set(rig.core, "other", "value"), STORE_OK);
	store_turn(rig.core, 115);
	check_eq(set(rig.core, "k", "value"), STORE_OK);
	check_eq(store_idle_s(rig.core, look()), 0);
	store_turn(rig.core, 118);
	check_eq(store_idle_s(rig.core, look()), 3);
}
