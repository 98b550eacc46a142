/*
 * Items are saved into a file and loaded again. Goal: after the load the store has the items of
 * the save, with value, flags, cas, status and remaining time, and no others; a new version never
 * gets a number that the key has had. Method: stores of many kinds of items, saved with and
 * without igzip and io_uring; the file's bytes loaded into another store.
 */
#include "support/test.h"
#include "save_rig.h"

#include <liburing.h>

#define KEYS  3000u
#define LARGE 300000u
#define LATER 100u

static uint8_t bytes[LARGE + KEYS];

static struct view
name_of(uint32_t key, char *name)
{
	return (struct view){(const uint8_t *)name, (uint32_t)sprintf(name, "key-%u", key)};
}

/* Returns a key's value. Every 100th has several blocks; of every 10th a few fit a block. */
static struct view
value_of(uint32_t key)
{
	const uint32_t len = key % 100 == 0  ? LARGE - key
			     : key % 10 == 0 ? 20000 + key
					     : key * 7 % 900;

	return (struct view){bytes + key, len};
}

static uint32_t
expiry_of(uint32_t key)
{
	return key % 5 == 1 ? LATER : 0;
}

static void
store_keys(struct store_core *sc)
{
	char name[24];

	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * i >> 7 & 0x3f);
	for (uint32_t key = 0; key < KEYS; key++) {
		const struct view k = name_of(key, name), value = value_of(key);
		struct fill f;

		check_eq(store_begin(sc, &f, k, store_hash(sc, k), value.len, key % 3,
				     expiry_of(key)),
			 STORE_OK);
		store_fill(sc, &f, value.data, value.len);
		check_eq(store_finish(sc, &f, STORE_SET, 0), STORE_OK);
		turns(sc, key % 8 == 0);
	}
}

static uint32_t
how_many(struct store_core *sc, int64_t shift_s)
{
	uint32_t there = 0;
	char name[24];

	for (uint32_t key = 0; key < KEYS; key++) {
		const struct view k = name_of(key, name);
		const struct item *it = store_peek(sc, k, store_hash(sc, k));
		const uint32_t at_s = expiry_of(key);

		if (it == NULL)
			continue;
		there++;
		check(value_is(sc, it, value_of(key)));
		check_eq(item_flags(it), key % 3);
		check_eq(item_expiry_s(it), at_s == 0 ? 0 : at_s - shift_s);
		check_eq(item_cas(it), item_cas(it));
		turns(sc, key % 8 == 0);
	}
	return there;
}

/* False in a container whose filter of system calls refuses io_uring. */
static bool
kernel_has_uring(void)
{
	struct io_uring ring;

	if (io_uring_queue_init(1, &ring, 0) != 0)
		return false;
	io_uring_queue_exit(&ring);
	return true;
}

static void
comes_back(const struct saving *how, struct bytes *b)
{
	struct rig from = rig_up(128, 1), to = load_rig_up(128);
	struct save_loader l;
	struct save_result result;

	store_keys(from.core);
	save(&from, how, &result, b);
	check_eq(result.items, KEYS);
	check(result.finished);
	check_eq(strncmp(result.how, "io_uring", 8) != 0, !how->uring || !kernel_has_uring());
	check(load(&to, &l, b, -20));
	check_eq(l.count.items, KEYS);
	check_eq(l.count.value_bytes, result.value_bytes);
	check_eq(l.count.newer + l.count.expired + l.count.no_room + l.count.damaged, 0);
	check_eq(how_many(to.core, -20), KEYS);
	rig_down(&from);
	rig_down(&to);
}

TEST(what_is_saved_comes_back)
{
	struct bytes plain, by_hand;

	comes_back(&(struct saving){SAVE_UNPACKED, .uring = true}, &plain);
	comes_back(&(struct saving){SAVE_UNPACKED, .uring = false}, &by_hand);
	check_eq(plain.len, by_hand.len);
	check_bytes(plain.at, by_hand.at, plain.len);
	free(plain.at);
	free(by_hand.at);
}

TEST(packed_items_come_back_and_take_less)
{
	struct bytes plain, packed;

	comes_back(&(struct saving){SAVE_UNPACKED, .uring = true}, &plain);
	for (uint32_t level = 0; level < 2; level++) {
		comes_back(&(struct saving){level, .uring = true}, &packed);
		check(packed.len < plain.len / 2);
		free(packed.at);
	}
	free(plain.at);
}

/* ---- items that are not loaded ---- */

static const struct saving plainly = {SAVE_UNPACKED, .uring = true};

TEST(what_is_dead_does_not_come_back)
{
	struct rig from = rig_up(16, 1), to = load_rig_up(16);
	struct save_loader l;
	struct save_result result;
	struct bytes b;

	set(from.core, "flushed", "x");
	flush_now(from.core);
	set(from.core, "deleted", "x");
	del(from.core, "deleted");
	set_full(from.core, "expired", "x", 0, STORE_CLOCK_START + 1);
	set_full(from.core, "expires", "x", 0, STORE_CLOCK_START + 10);
	set_full(from.core, "lives", "x", 0, STORE_CLOCK_START + 11);
	store_turn(from.core, STORE_CLOCK_START + 2);
	save(&from, &plainly, &result, &b);
	check_eq(result.items, 2);
	check(load(&to, &l, &b, 10));
	check_eq(l.count.items, 1);
	check_eq(l.count.expired, 1);
	check(holds(to.core, "lives", "x"));
	check_null(find(to.core, "expires"));
	check_null(find(to.core, "expired"));
	check_null(find(to.core, "deleted"));
	check_null(find(to.core, "flushed"));
	free(b.at);
	rig_down(&from);
	rig_down(&to);
}

TEST(a_flush_that_is_due_later_comes_when_it_is_due)
{
	struct rig from = rig_up(16, 1), to = load_rig_up(16);
	struct save_loader l;
	struct save_result result;
	struct bytes b;

	set(from.core, "a", "x");
	check_eq(store_flush(from.core, STORE_CLOCK_START + 5), STORE_OK);
	save(&from, &plainly, &result, &b);
	check(load(&to, &l, &b, 0));
	store_turn(to.core, STORE_CLOCK_START + 4);
	check(holds(to.core, "a", "x"));
	store_turn(to.core, STORE_CLOCK_START + 5);
	check_null(find(to.core, "a"));
	free(b.at);
	rig_down(&from);
	rig_down(&to);
}

/* ---- versions ---- */

static uint64_t
cas_of(struct store_core *sc, const char *key)
{
	const struct item *it = find(sc, key);

	return it != NULL ? item_cas(it) : 0;
}

/* The keys are loaded, stored before their load, removed before the save,
 * or expired at the save. */
TEST(no_key_sees_a_number_twice)
{
	static const char *const keys[] = {"loaded", "stored", "removed", "expired"};
	struct rig from = rig_up(16, 1), to = load_rig_up(16);
	struct save_loader l;
	struct save_result result;
	struct bytes b;
	uint64_t last[4];

	for (uint32_t i = 0; i < 4; i++) {
		for (uint32_t n = 0; n < 50; n++)
			set(from.core, keys[i], "x");
		last[i] = cas_of(from.core, keys[i]);
	}
	for (uint32_t n = 0; n < 50; n++)
		set_full(from.core, "expired", "x", 0, STORE_CLOCK_START + 1);
	last[3] = cas_of(from.core, "expired");
	del(from.core, "removed");
	store_turn(from.core, STORE_CLOCK_START + 1);
	save(&from, &plainly, &result, &b);
	check_eq(result.items, 2);
	check(load_prepare(&to, &l, &b, 0));
	set(to.core, "stored", "new");
	load_slots(&to, &l, &b);
	load_end(&to, &l);
	check_eq(cas_of(to.core, "loaded"), last[0]);
	check(holds(to.core, "stored", "new"));
	check(cas_of(to.core, "stored") > last[1]);
	for (uint32_t i = 0; i < 4; i++) {
		set(to.core, keys[i], "newer");
		check(cas_of(to.core, keys[i]) > last[i]);
	}
	free(b.at);
	rig_down(&from);
	rig_down(&to);
}

/* Fields that distinguish versions are kept: the win and stale marks, and chosen numbers. */
TEST(status_and_long_numbers_come_back)
{
	const struct store_conditions chosen = {
		.set_cas = true, .new_cas = UINT64_MAX - 5, .binary_key = true};
	struct rig from = rig_up(16, 1), to = load_rig_up(16);
	const struct store_removal stale = {.mark_stale = true};
	const struct item *it, *made;
	struct save_loader l;
	struct save_result result;
	struct bytes b;
	struct fill f;

	check_eq(store_begin(from.core, &f, text("k"), store_hash(from.core, text("k")), 0, 0, 0),
		 STORE_OK);
	check_eq(store_finish_with(from.core, &f, &chosen, &made), STORE_OK);
	set(from.core, "s", "x");
	check_eq(store_delete_with(from.core, text("s"), store_hash(from.core, text("s")), &stale,
				   &made),
		 STORE_OK);
	check(store_win(from.core, made));
	save(&from, &plainly, &result, &b);
	check(load(&to, &l, &b, 0));
	it = find(to.core, "k");
	check_ptr(it);
	check(item_cas(it) == UINT64_MAX - 5 && item_key_is_binary(it) && item_value_len(it) == 0);
	it = find(to.core, "s");
	check(item_is_stale(it) && item_is_won(it) && !store_win(to.core, it));
	free(b.at);
	rig_down(&from);
	rig_down(&to);
}

/* ---- shortage of room or time ---- */

/* A load evicts nothing: items that clients have stored stay. */
TEST(a_store_that_is_too_small_loads_a_part_and_evicts_nothing)
{
	struct rig from = rig_up(64, 1), to = load_rig_up(8);
	struct save_loader l;
	struct save_result result;
	struct bytes b;

	store_keys(from.core);
	save(&from, &plainly, &result, &b);
	check(load_prepare(&to, &l, &b, 0));
	set(to.core, "mine", "x");
	load_slots(&to, &l, &b);
	load_end(&to, &l);
	check(l.count.items > 100 && l.count.no_room > 100);
	check_eq(l.count.items + l.count.no_room, result.items);
	check_eq(counted(to.core, STORE_EVICTED) + counted(l.core, STORE_EVICTED), 0);
	check(holds(to.core, "mine", "x"));
	check_eq(how_many(to.core, 0), l.count.items);
	free(b.at);
	rig_down(&from);
	rig_down(&to);
}

static bool
no_more(void *arg, const struct save_result *result)
{
	return false;
}

/* The file of a save that ran out of time has the items written until then, and all numbers. */
TEST(a_save_that_is_cut_short_is_good_for_what_it_has)
{
	struct rig from = rig_up(128, 1), to = load_rig_up(128);
	struct save_loader l;
	struct save_result result;
	struct bytes b;
	char name[24];

	store_keys(from.core);
	for (uint32_t n = 0; n < 50; n++)
		set(from.core, "key-1", "x");
	save(&from, &(struct saving){SAVE_UNPACKED, .uring = true, .go_on = no_more}, &result, &b);
	check(!result.finished && result.items > 0 && result.items < KEYS);
	check(load(&to, &l, &b, 0));
	check_eq(l.count.items, result.items);
	for (uint32_t key = 0; key < KEYS; key++) {
		const struct view k = name_of(key, name);
		const uint64_t had = cas_of(from.core, name);

		put(to.core, k, text("y"), STORE_SET, 0);
		check(cas_of(to.core, name) > had);
		turns(to.core, key % 8 == 0);
	}
	free(b.at);
	rig_down(&from);
	rig_down(&to);
}
