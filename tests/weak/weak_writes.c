/*
 * weak_writes.c - two writers of one key.
 *
 * Goal:   of two sets, adds, counts or deletes of a key none is lost, and one wins where one must.
 * Method: weak.h.
 */
#include "weak_setup.h"
#include "store/item_access.h"

static void
begin_empty(void)
{
	setup_begin(2);
	setup_put(0, setup_key_b, 20); /* the magazines are filled */
	setup_put(1, setup_key_b, 20);
	setup_turns(0, 4);
	setup_turns(1, 4);
}

static void
set_a(void)
{
	setup_put(1, setup_key_a, 11);
}

static void
set_a_0(void)
{
	setup_put(0, setup_key_a, 12);
}

static void
end_set_set(void)
{
	const uint64_t v = setup_get(0, setup_key_a);

	weak_check(v == 11 || v == 12, "both sets are lost");
}

static void
add_a_0(void)
{
	setup_seen[0].result = setup_put_as(0, setup_key_a, 12, STORE_ADD, 0);
}

static void
add_a_1(void)
{
	setup_seen[1].result = setup_put_as(1, setup_key_a, 11, STORE_ADD, 0);
}

static void
end_add_add(void)
{
	weak_check((setup_seen[0].result == STORE_OK) + (setup_seen[1].result == STORE_OK) == 1,
		   "not one add has won");
	weak_check(setup_get(0, setup_key_a) == (setup_seen[0].result == STORE_OK ? 12 : 11),
		   "the add that has won is lost");
}

static void
begin_number(void)
{
	setup_two_keys();

	struct fill f;

	ensure(store_begin(setup_core(0), &f, setup_view(&setup_key_a), setup_hash(setup_key_a), 1,
			   0, 0) == STORE_OK);
	store_fill(setup_core(0), &f, "5", 1);
	ensure(store_finish(setup_core(0), &f, STORE_SET, 0) == STORE_OK);
	setup_turns(0, 2);
	setup_turns(1, 2);
}

static void
count_a(uint32_t c)
{
	const struct store_arith_args args = {.delta = 1};
	struct store_arith_result r;

	setup_seen[c].result = store_arith_with(setup_core(c), setup_view(&setup_key_a),
						setup_hash(setup_key_a), &args, &r);
	setup_seen[c].value = r.value;
}

static void
count_0(void)
{
	count_a(0);
}

static void
count_1(void)
{
	count_a(1);
}

static void
end_count(void)
{
	weak_check(setup_seen[0].result == STORE_OK && setup_seen[1].result == STORE_OK,
		   "a count was refused");
	weak_check(setup_seen[0].value + setup_seen[1].value == 6 + 7, "a count is lost");
}

static void
delete_a_0(void)
{
	setup_seen[0].result =
		store_delete(setup_core(0), setup_view(&setup_key_a), setup_hash(setup_key_a));
}

static void
delete_a_1(void)
{
	setup_seen[1].result =
		store_delete(setup_core(1), setup_view(&setup_key_a), setup_hash(setup_key_a));
}

static void
end_delete(void)
{
	weak_check((setup_seen[0].result == STORE_OK) + (setup_seen[1].result == STORE_OK) == 1,
		   "not one delete has found it");
	weak_check(setup_get(0, setup_key_a) == 0, "the delete is lost");
}

/* ---- stale versions ---- */

static void
begin_stale(void)
{
	const struct store_removal how = {.mark_stale = true};
	const uint64_t key = 1;
	const struct item *left;

	setup_two_keys();
	ensure(store_delete_with(setup_core(0), setup_view(&key), setup_hash(key), &how, &left) ==
	       STORE_OK);
	setup_turns(0, 2);
	setup_turns(1, 2);
}

static void
win(uint32_t core)
{
	const struct item *it = setup_item(core, setup_key_a);

	setup_seen[core].hit = it != NULL && store_win(setup_core(core), it);
}

static void
win_0(void)
{
	win(0);
}

static void
win_1(void)
{
	win(1);
}

static void
end_win(void)
{
	weak_check(setup_seen[0].hit + setup_seen[1].hit == 1, "not one reader has won");
}

#define LARGE ITEM_PIN_MIN_BYTES
static uint64_t old_cas, new_cas;

/* A large item, which is marked where it lies. Its numbers differ in both halves. */
static void
begin_large(void)
{
	static const uint8_t value[LARGE];
	const struct store_conditions how = {
		.mode = STORE_SET, .set_cas = true, .new_cas = 5ull << 32 | 1};
	const struct item *made;
	struct fill f;

	setup_two_keys();
	ensure(store_begin(setup_core(1), &f, setup_view(&setup_key_a), setup_hash(setup_key_a),
			   LARGE, 0, 0) == STORE_OK);
	store_fill(setup_core(1), &f, value, LARGE);
	ensure(store_finish_with(setup_core(1), &f, &how, &made) == STORE_OK);
	old_cas = item_cas(made);
	new_cas = 6ull << 32 | 2;
	setup_turns(0, 2);
	setup_turns(1, 2);
}

/* As a meta get does: the number, then the marks. */
static void
read_marks(void)
{
	const struct item *it = setup_item(0, setup_key_a);
	const uint64_t cas = item_cas(it);
	const bool stale = item_is_stale(it);

	weak_check(cas == old_cas || stale, "the new number of an item that is not marked stale");
	weak_check(cas == old_cas || cas == new_cas || cas >> 32 == old_cas >> 32,
		   "a mixture that is no outdated number");
}

static void
mark_stale(void)
{
	struct item *it = (struct item *)setup_item(1, setup_key_a);

	item_mark_stale(it, new_cas);
}

static void
end_marks(void)
{
	const struct item *it = setup_item(0, setup_key_a);

	weak_check(item_cas(it) == new_cas && item_is_stale(it) && !item_is_won(it),
		   "the marks are lost");
}

static const struct weak_case cases[] = {
	{"set-set", setup_two_keys, {set_a_0, set_a}, end_set_set, 2, 1},
	{"add-add", begin_empty, {add_a_0, add_a_1}, end_add_add, 2, 1},
	{"count-count", begin_number, {count_0, count_1}, end_count, 1, 1},
	{"delete-delete", setup_two_keys, {delete_a_0, delete_a_1}, end_delete, 2, 1},
	{"won-once", begin_stale, {win_0, win_1}, end_win, 2, 1},
	{"get-mark-stale", begin_large, {read_marks, mark_stale}, end_marks, 2, 2},
};
const struct weak_protocol weak_writes = WEAK_PROTOCOL("writers of one key", cases);
