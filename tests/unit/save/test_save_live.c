/*
 * Items are saved while a core serves. Goal: the file has what a lookup found while it was written,
 * and nothing that was removed, expired or flushed before; a store that loads it gives no number
 * twice; a file that may not be loaded has no front. Method: one thread; the client's core changes
 * keys from within the writer's callbacks, so that every moment is chosen.
 */
#include "support/test.h"
#include "save/save_live.h"
#include "save_rig.h"

#define KEYS  2000u
#define LARGE 200000u

static uint8_t bytes[LARGE + KEYS];

struct live_rig {
	struct rig rig;
	uint64_t now_ns;
	uint64_t file_bytes;
	uint32_t slots;
	void (*between)(struct live_rig *r); /* runs after each slot */
	void (*in_turn)(struct live_rig *r); /* runs before each slice */
	bool stop;
};

static struct view
name_of(uint32_t key, char *name)
{
	return (struct view){(const uint8_t *)name, (uint32_t)sprintf(name, "key-%u", key)};
}

static struct view
value_of(uint32_t key)
{
	const uint32_t len = key % 100 == 0 ? LARGE - key : key % 10 == 0 ? 20000 + key : key % 900;

	return (struct view){bytes + key, len};
}

static void
fill_keys(struct store_core *sc, uint32_t count)
{
	char name[24];

	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * i >> 7 & 0x3f);
	for (uint32_t key = 0; key < count; key++) {
		const struct view k = name_of(key, name);

		check_eq(put(sc, k, value_of(key), STORE_SET, 0), STORE_OK);
		turns(sc, key % 8 == 0);
	}
}

static uint32_t
live_now_s(void *arg)
{
	struct live_rig *r = arg;

	if (r->in_turn != NULL)
		r->in_turn(r);
	return r->rig.core->now_s;
}

static uint64_t
live_now_ns(void *arg)
{
	struct live_rig *r = arg;

	return r->now_ns += 1000;
}

static bool
live_go_on(void *arg, const struct save_result *result)
{
	struct live_rig *r = arg;

	/* A disk that takes its time delays no grace period. */
	check(!store_core_of(r->rig.store, 1)->online);
	if (result->file_bytes == r->file_bytes)
		return true; /* a slice has ended, within a slot */
	r->file_bytes = result->file_bytes;
	r->slots++;
	if (r->between != NULL)
		r->between(r);
	return !r->stop;
}

/* Saves the store while r's functions change it, and reads the file's bytes. */
static bool
live_save(struct live_rig *r, uint32_t level, struct save_result *result, struct bytes *b,
	  struct error *err)
{
	char path[] = "/tmp/save_live_XXXXXX";
	const struct save_live_ask ask = {
		.store = r->rig.store,
		.core = store_core_of(r->rig.store, 1),
		.fd = mkstemp(path),
		.path = path,
		.beat = {.boot_ns = 1, .wall_ns = 1, .served_boot_ns = 1},
		.boot_id = RIG_BOOT_ID,
		.file = RIG_FILE,
		.level = level,
		.uring = true,
		.memory = aligned_alloc(SAVE_ALIGN, align_up(save_live_bytes(), SAVE_ALIGN)),
		.now_s = live_now_s,
		.now_ns = live_now_ns,
		.go_on = live_go_on,
		.arg = r,
	};
	const bool saved = save_live(&ask, result, err);

	check(!ask.core->online);
	close(ask.fd);
	read_file(path, b);
	unlink(path);
	free(ask.memory);
	return saved;
}

static uint32_t
right_items(struct store_core *sc, uint32_t count)
{
	uint32_t right = 0;
	char name[24];

	for (uint32_t key = 0; key < count; key++) {
		const struct view k = name_of(key, name);
		const struct item *it = store_peek(sc, k, store_hash(sc, k));

		right += it != NULL && value_is(sc, it, value_of(key));
		turns(sc, key % 8 == 0);
	}
	return right;
}

TEST(a_snapshot_is_loaded_as_a_saved_file_is)
{
	for (uint32_t level = 0; level <= SAVE_UNPACKED; level++) {
		struct live_rig r = {.rig = load_rig_up(128)};
		struct rig to = load_rig_up(128);
		struct save_loader l;
		struct save_result result;
		struct error err;
		struct bytes b;

		fill_keys(r.rig.core, KEYS);
		check(live_save(&r, level, &result, &b, &err));
		check(result.finished && result.items == KEYS && result.skew_ns > 0);
		check(r.slots > 0);
		check(load(&to, &l, &b, 0));
		check_eq(l.count.items, KEYS);
		check_eq(l.count.damaged, 0);
		check_eq(right_items(to.core, KEYS), KEYS);
		check_eq(right_items(r.rig.core, KEYS), KEYS);
		free(b.at);
		rig_down(&r.rig);
		rig_down(&to);
	}
}

TEST(what_was_dead_at_the_begin_is_not_in_it)
{
	struct live_rig r = {.rig = load_rig_up(16)};
	struct rig to = load_rig_up(16);
	struct save_loader l;
	struct save_result result;
	struct error err;
	struct bytes b;

	set(r.rig.core, "flushed", "x");
	flush_now(r.rig.core);
	set(r.rig.core, "deleted", "x");
	del(r.rig.core, "deleted");
	set_full(r.rig.core, "expired", "x", 0, STORE_CLOCK_START + 1);
	set_full(r.rig.core, "lives", "x", 7, STORE_CLOCK_START + 20);
	store_turn(r.rig.core, STORE_CLOCK_START + 2);
	check(live_save(&r, SAVE_UNPACKED, &result, &b, &err));
	check_eq(result.items, 1);
	check(load(&to, &l, &b, 10));
	check_eq(item_expiry_s(find(to.core, "lives")), STORE_CLOCK_START + 10);
	check_eq(item_flags(find(to.core, "lives")), 7);
	check_null(find(to.core, "flushed"));
	check_null(find(to.core, "deleted"));
	check_null(find(to.core, "expired"));
	free(b.at);
	rig_down(&r.rig);
	rig_down(&to);
}

/* ---- changes meanwhile ---- */

#define ROUNDS_MAX 40u

/* Replaces every long value, and lets the retired ones be freed and used again. */
static void
replace_all(struct live_rig *r)
{
	char name[24];

	if (r->slots > ROUNDS_MAX)
		return;
	for (uint32_t key = 0; key < KEYS; key += 10) {
		const struct view k = name_of(key, name);

		check_eq(put(r->rig.core, k, (struct view){bytes, 20000}, STORE_SET, 0), STORE_OK);
		turns(r->rig.core, 1);
	}
	turns(r->rig.core, 8);
}

/* A long value is replaced, and its memory used again, while it is being written. */
TEST(a_long_value_that_is_replaced_meanwhile_is_written_as_it_was)
{
	struct live_rig r = {.rig = load_rig_up(256), .between = replace_all};
	struct rig to = load_rig_up(256);
	struct save_loader l;
	struct save_result result;
	struct error err;
	struct bytes b;
	uint32_t old = 0;
	char name[24];

	fill_keys(r.rig.core, KEYS);
	check(live_save(&r, SAVE_UNPACKED, &result, &b, &err));
	check_eq(result.items, KEYS);
	check(load(&to, &l, &b, 0));
	check_eq(l.count.items, KEYS);
	for (uint32_t key = 0; key < KEYS; key++) {
		const struct view k = name_of(key, name);
		const struct item *it = store_peek(to.core, k, store_hash(to.core, k));
		const bool was = value_is(to.core, it, value_of(key));

		old += key % 100 == 0 && was;
		check(was || (key % 10 == 0 && value_is(to.core, it, (struct view){bytes, 20000})));
		turns(to.core, key % 8 == 0);
	}
	check(old > 0 && r.slots > 1);
	free(b.at);
	rig_down(&r.rig);
	rig_down(&to);
}

/* Each slice finds the keys written once more, and every third one removed. */
static void
write_again(struct live_rig *r)
{
	char name[24];

	for (uint32_t key = 1; key < KEYS / 10; key++) {
		const struct view k = name_of(key, name);

		check_eq(put(r->rig.core, k, text("again"), STORE_SET, 0), STORE_OK);
		if (key % 3 == 0)
			del(r->rig.core, name);
		turns(r->rig.core, key % 8 == 0);
	}
}

static uint64_t
number_of(struct store_core *sc, const char *key)
{
	const struct item *it = find(sc, key);

	return it != NULL ? item_cas(it) : 0;
}

TEST(no_number_of_a_snapshot_or_of_later_comes_twice)
{
	struct live_rig r = {.rig = load_rig_up(128), .in_turn = write_again};
	struct rig to = load_rig_up(128);
	struct save_loader l;
	struct save_result result;
	struct error err;
	struct bytes b;
	uint64_t had[KEYS / 10];
	char name[24];

	fill_keys(r.rig.core, KEYS);
	check(live_save(&r, SAVE_UNPACKED, &result, &b, &err));
	/* The store is used after the snapshot, too. */
	for (uint32_t n = 0; n < 100000; n++) {
		put(r.rig.core, text("key-1"), text("later"), STORE_SET, 0);
		turns(r.rig.core, n % 16 == 0);
	}
	write_again(&r);
	for (uint32_t key = 1; key < KEYS / 10; key++) {
		const struct view k = name_of(key, name);

		put(r.rig.core, k, text("last"), STORE_SET, 0);
		had[key] = number_of(r.rig.core, name);
		turns(r.rig.core, 1);
	}
	check(load(&to, &l, &b, 0));
	for (uint32_t key = 1; key < KEYS / 10; key++) {
		const struct view k = name_of(key, name);

		put(to.core, k, text("elsewhere"), STORE_SET, 0);
		check(number_of(to.core, name) > had[key]);
		turns(to.core, 1);
	}
	free(b.at);
	rig_down(&r.rig);
	rig_down(&to);
}

/* ---- files that may not be loaded ---- */

static bool
has_front(const struct bytes *b)
{
	uint64_t floors[STORE_SAVED_FLOORS], file;
	struct save_head head;
	const char *why;

	return save_front_read(b->at, b->len, &file, &head, floors, &why);
}

static void
flush_once(struct live_rig *r)
{
	if (r->slots == 1)
		flush_now(r->rig.core);
}

static void
stop_now(struct live_rig *r)
{
	r->stop = true;
}

/* Begins two walks that stay where they are. */
static void
crowd(struct live_rig *r, struct walk_cursor cursors[2])
{
	const struct item *items[1];

	for (uint32_t i = 0; i < 2; i++) {
		cursors[i] = (struct walk_cursor){.at = 0};
		store_walk(r->rig.core, &cursors[i], STORE_ALL_CLASSES, items, 1);
	}
}

static void
a_minute_passes(struct live_rig *r)
{
	if (r->slots == 1)
		store_turn(r->rig.core, r->rig.core->now_s + WALK_PAUSE_MAX_S + 1);
}

static void
is_void(struct live_rig *r, const char *words)
{
	struct save_result result;
	struct error err;
	struct bytes b;

	check(!live_save(r, SAVE_UNPACKED, &result, &b, &err));
	check_ptr(strstr(err.text, words));
	check(!has_front(&b));
	free(b.at);
	/* The next one is whole. */
	r->between = NULL;
	r->stop = false;
	r->file_bytes = 0;
	check(live_save(r, SAVE_UNPACKED, &result, &b, &err));
	check(has_front(&b));
	free(b.at);
	rig_down(&r->rig);
}

TEST(a_flush_makes_a_snapshot_void)
{
	struct live_rig r = {.rig = load_rig_up(128), .between = flush_once};

	fill_keys(r.rig.core, KEYS);
	is_void(&r, "flush");
}

TEST(a_snapshot_that_is_ended_is_void)
{
	struct live_rig r = {.rig = load_rig_up(128), .between = stop_now};

	fill_keys(r.rig.core, KEYS);
	is_void(&r, "ended");
}

TEST(a_snapshot_that_waited_for_its_disk_for_a_minute_is_void)
{
	struct live_rig r = {.rig = load_rig_up(128), .between = a_minute_passes};

	fill_keys(r.rig.core, KEYS);
	is_void(&r, "too slow");
}

TEST(a_snapshot_beside_two_listings_is_void)
{
	struct live_rig r = {.rig = load_rig_up(128)};
	struct walk_cursor cursors[2];
	struct save_result result;
	struct error err;
	struct bytes b;

	fill_keys(r.rig.core, KEYS);
	crowd(&r, cursors);
	check(!live_save(&r, SAVE_UNPACKED, &result, &b, &err));
	check_ptr(strstr(err.text, "listings"));
	check(!has_front(&b));
	free(b.at);
	for (uint32_t i = 0; i < 2; i++)
		store_walk_end(r.rig.core, &cursors[i]);
	is_void(&(struct live_rig){.rig = r.rig, .between = stop_now}, "ended");
}

/* A flush that comes due later is in the file, and comes there. */
TEST(a_flush_that_is_due_later_comes_with_the_file)
{
	struct live_rig r = {.rig = load_rig_up(16)};
	struct rig to = load_rig_up(16);
	struct save_loader l;
	struct save_result result;
	struct error err;
	struct bytes b;

	set(r.rig.core, "a", "x");
	check_eq(store_flush(r.rig.core, STORE_CLOCK_START + 5), STORE_OK);
	check(live_save(&r, SAVE_UNPACKED, &result, &b, &err));
	check(load(&to, &l, &b, 0));
	store_turn(to.core, STORE_CLOCK_START + 4);
	check(holds(to.core, "a", "x"));
	store_turn(to.core, STORE_CLOCK_START + 5);
	check_null(find(to.core, "a"));
	free(b.at);
	rig_down(&r.rig);
	rig_down(&to);
}
