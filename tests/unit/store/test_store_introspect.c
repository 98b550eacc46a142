/*
 * Introspection of the store. Goal: a walk shows each item once; figures by class add up; a limit
 * holds, and so does the promise to evict nothing; every eviction is reported. Method: stores of
 * a few megabytes on one core, and sums that are known from the items put in.
 */
#include "support/store_calls.h"
#include "support/test.h"
#include "store_rig.h"

#define KEYS 5000u

static struct view
key_of(uint32_t n, char *to)
{
	return (struct view){(const uint8_t *)to, (uint32_t)snprintf(to, 32, "key%u", n)};
}

/* Returns the value of key n, which never changes. The values have many lengths and therefore many
 * classes.
 */
static struct view
value_of(uint32_t n)
{
	static uint8_t bytes[200000];

	return (struct view){bytes, n % 1000 == 7 ? 150000 : n * 31 % 700};
}

static void
put_keys(struct store_core *sc, uint32_t from, uint32_t to)
{
	char text_of_key[32];

	for (uint32_t n = from; n < to; n++) {
		check_eq(put(sc, key_of(n, text_of_key), value_of(n), STORE_SET, 0), STORE_OK);
		turns(sc, n % 64 == 0);
	}
}

static uint32_t
number_of(const struct item *it)
{
	uint32_t n = 0;

	for (uint32_t i = 3; i < item_key(it).len; i++)
		n = n * 10 + (item_key(it).data[i] - '0');
	return n;
}

/* Counts how often each key is shown. A step may show nothing, but the walk must end. */
static void
walk_all(struct store_core *sc, uint32_t class, uint32_t max, uint32_t *seen)
{
	struct walk_cursor cursor = {0};
	const struct item *items[64];
	const uint32_t steps_max = KEYS + index_bucket_count(&sc->store->ix) / WALK_BUCKETS_MAX + 2;
	uint32_t steps = 0;

	memset(seen, 0, KEYS * sizeof *seen);
	while (!cursor.done) {
		const uint32_t n = store_walk(sc, &cursor, class, items, max);

		check(n <= max);
		check(++steps <= steps_max);
		for (uint32_t i = 0; i < n; i++) {
			check(number_of(items[i]) < KEYS);
			check(class == STORE_ALL_CLASSES || store_class_of(sc, items[i]) == class);
			seen[number_of(items[i])]++;
		}
	}
	check_eq(store_walk(sc, &cursor, class, items, max), 0);
}

TEST(a_walk_shows_every_item_once)
{
	static const uint32_t maxs[] = {1, 3, 64};
	static uint32_t seen[KEYS], of_class[KEYS];
	struct rig rig = rig_up(32, 1);

	put_keys(rig.core, 0, KEYS);
	for (size_t i = 0; i < sizeof maxs / sizeof *maxs; i++) {
		walk_all(rig.core, STORE_ALL_CLASSES, maxs[i], seen);
		for (uint32_t n = 0; n < KEYS; n++)
			check_eq(seen[n], 1);
	}
	for (uint32_t c = 1; c <= store_class_count_mt(rig.store); c++) {
		walk_all(rig.core, c, 64, of_class);
		for (uint32_t n = 0; n < KEYS; n++)
			seen[n] -= of_class[n];
	}
	for (uint32_t n = 0; n < KEYS; n++)
		check_eq(seen[n], 0);
	rig_down(&rig);
}

TEST(a_walk_shows_nothing_that_a_get_would_not)
{
	static uint32_t seen[KEYS];
	struct rig rig = rig_up(32, 1);
	char text_of_key[32];

	put_keys(rig.core, 0, KEYS);
	for (uint32_t n = 0; n < KEYS; n++) {
		const struct view key = key_of(n, text_of_key);
		const uint64_t hash = store_hash(rig.core, key);
		const struct item *it;

		if (n % 3 == 0)
			check_eq(store_delete(rig.core, key, hash), STORE_OK);
		if (n % 3 == 1)
			check_eq(store_touch(rig.core, key, hash, 10, &it), STORE_OK);
	}
	store_turn(rig.core, 10);
	walk_all(rig.core, STORE_ALL_CLASSES, 64, seen);
	for (uint32_t n = 0; n < KEYS; n++)
		check_eq(seen[n], n % 3 == 2);
	for (uint32_t n = 2; n < KEYS; n += 3) {
		const struct view key = key_of(n, text_of_key);

		check(!store_is_fetched(rig.core,
					store_peek(rig.core, key, store_hash(rig.core, key))));
	}
	store_flush(rig.core, 0);
	walk_all(rig.core, STORE_ALL_CLASSES, 64, seen);
	for (uint32_t n = 0; n < KEYS; n++)
		check_eq(seen[n], 0);
	rig_down(&rig);
}

/* Half of the keys change all the time, the other half does not change. */
TEST(a_walk_among_writes_shows_what_lies_still_and_ends)
{
	static uint32_t seen[KEYS];
	struct rig rig = rig_up(32, 1);
	struct walk_cursor cursor = {0};
	const struct item *items[16];
	char text_of_key[32];

	put_keys(rig.core, 0, KEYS);
	memset(seen, 0, sizeof seen);
	for (uint32_t step = 0; !cursor.done; step++) {
		const uint32_t n = store_walk(rig.core, &cursor, STORE_ALL_CLASSES, items, 16);

		check(step <= 2 * KEYS + index_bucket_count(&rig.store->ix) / WALK_BUCKETS_MAX + 2);
		for (uint32_t i = 0; i < n; i++)
			seen[number_of(items[i])]++;
		for (uint32_t i = 0; i < 8; i++) {
			const struct view key =
				key_of((step * 8 + i) % (KEYS / 2) * 2, text_of_key);

			if (i % 2)
				store_delete(rig.core, key, store_hash(rig.core, key));
			else
				check_eq(put(rig.core, key, value_of(i), STORE_SET, 0), STORE_OK);
		}
		turns(rig.core, 1);
	}
	for (uint32_t n = 1; n < KEYS; n += 2)
		check_eq(seen[n], 1);
	rig_down(&rig);
}

/* The resize begins at every sixteenth of the walk, from few buckets to many and back. */
TEST(a_walk_goes_along_with_a_resize)
{
	enum { FEW = 1024, MANY = 3072, AT = 16 };
	static uint32_t seen[KEYS];
	const struct item *items[16];
	char text_of_key[32];

	for (uint32_t run = 0; run < 2 * AT; run++) {
		const uint32_t from = run % 2 ? MANY : FEW, to = run % 2 ? FEW : MANY;
		struct rig rig = rig_up_buckets(32, 1, from, 0);
		struct walk_cursor cursor = {0};
		uint32_t gone = 0, steps = 0;

		put_keys(rig.core, 0, KEYS);
		memset(seen, 0, sizeof seen);
		for (bool begun = false; !cursor.done; steps++) {
			const uint32_t n =
				store_walk(rig.core, &cursor, STORE_ALL_CLASSES, items, 16);

			for (uint32_t i = 0; i < n; i++)
				seen[number_of(items[i])]++;
			if (!begun && cursor.at >= UINT32_MAX / AT * (run / 2))
				begun = resize_begin(rig.core, to);
			turns(rig.core, 1);
			check(steps < 4 * KEYS);
		}
		for (uint32_t n = 0; n < KEYS; n++) {
			const struct view key = key_of(n, text_of_key);

			/* The walk is compared with a lookup: where the index shrinks, a few items
			 * are evicted for lack of room. */
			if (store_peek(rig.core, key, store_hash(rig.core, key)) != NULL)
				check_eq(seen[n], 1);
			else
				gone++;
			check(seen[n] <= 1);
		}
		check(gone <= (to < from ? KEYS / 200 : 0));
		rig_down(&rig);
	}
}

/* The index is so full that many items are displaced, and their primary buckets have room by now:
 * a growing index relocates them to buckets that the walk has not reached. */
TEST(a_walk_misses_nothing_that_a_growing_index_relocates)
{
	enum { FEW = 560, MANY = 1680, AT = 16, GONE_OF = 4 };
	static uint32_t seen[KEYS];
	const struct item *items[16];
	char text_of_key[32];

	for (uint32_t run = 0; run < AT; run++) {
		struct rig rig = rig_up_buckets(32, 1, FEW, 0);
		struct walk_cursor cursor = {0};

		put_keys(rig.core, 0, KEYS);
		for (uint32_t n = 0; n < KEYS; n += GONE_OF) {
			const struct view key = key_of(n, text_of_key);

			check_eq(store_delete(rig.core, key, store_hash(rig.core, key)), STORE_OK);
			turns(rig.core, n % 64 == 0);
		}
		memset(seen, 0, sizeof seen);
		for (bool begun = false; !cursor.done;) {
			const uint32_t n =
				store_walk(rig.core, &cursor, STORE_ALL_CLASSES, items, 16);

			for (uint32_t i = 0; i < n; i++)
				seen[number_of(items[i])]++;
			if (!begun && cursor.at >= UINT32_MAX / AT * run)
				begun = resize_begin(rig.core, MANY);
			turns(rig.core, 1);
		}
		for (uint32_t n = 0; n < KEYS; n++)
			check_eq(seen[n], n % GONE_OF != 0);
		rig_down(&rig);
	}
}

#define STANDING_BUCKETS 1024u

/* Returns how many keys find a slot, beside walks that stand still on the way. */
static uint32_t
slots_filled_beside(uint32_t walks)
{
	struct walk_cursor cursors[WALKS_MAX] = {{0}};
	const struct store_config cfg = {.memory_bytes = 32 << 20,
					 .cores = 1,
					 .value_max = STORE_VALUE_MAX,
					 .seed = 1,
					 .never_evict = true};
	struct store_plan plan = store_plan_of(&cfg);
	struct region region = {.size = align_up(store_bytes(&cfg), 4096)};
	const struct item *items[16];
	char text_of_key[32];
	uint32_t filled = 0;

	region.base = memset(aligned_alloc(4096, region.size), 0, region.size);
	plan.bucket_count = STANDING_BUCKETS;
	plan.bucket_step = 0;

	struct store *st = store_create_planned(&region, &cfg, &plan);
	struct store_core *sc = store_core_of(st, 0);

	store_turn(sc, STORE_CLOCK_START);
	for (uint32_t i = 0; i < walks; i++)
		while (cursors[i].at < UINT32_MAX / (walks + 1) * (i + 1))
			store_walk(sc, &cursors[i], STORE_ALL_CLASSES, items, 16);
	while (put(sc, key_of(filled, text_of_key), text("value"), STORE_ADD, 0) == STORE_OK) {
		filled++;
		turns(sc, 1);
	}
	free(region.base);
	return filled;
}

TEST(walks_that_stand_still_leave_most_slots_to_writers)
{
	for (uint32_t walks = 0; walks <= WALKS_MAX; walks++)
		check(slots_filled_beside(walks) > STANDING_BUCKETS * BUCKET_SLOTS * 9 / 10);
}

/* Beside as many as have a place. */
TEST(a_walk_too_many_shows_every_item)
{
	static uint32_t seen[KEYS];
	struct rig rig = rig_up(32, 1);
	struct walk_cursor standing[WALKS_MAX] = {{0}};
	const struct item *items[1];

	put_keys(rig.core, 0, KEYS);
	for (uint32_t i = 0; i < WALKS_MAX; i++)
		store_walk(rig.core, &standing[i], STORE_ALL_CLASSES, items, 1);
	check_eq(rig.store->walks.active, (1u << WALKS_MAX) - 1);
	walk_all(rig.core, STORE_ALL_CLASSES, 64, seen);
	for (uint32_t n = 0; n < KEYS; n++)
		check_eq(seen[n], 1);
	for (uint32_t i = 0; i < WALKS_MAX; i++)
		store_walk_end(rig.core, &standing[i]);
	check_eq(rig.store->walks.active, 0);
	rig_down(&rig);
}

TEST(a_walk_that_pauses_loses_its_place)
{
	struct rig rig = rig_up(32, 1);
	struct walk_cursor paused = {0}, next = {0};
	const struct item *items[16];
	uint32_t shown = 0;

	put_keys(rig.core, 0, KEYS);
	shown += store_walk(rig.core, &paused, STORE_ALL_CLASSES, items, 16);
	store_turn(rig.core, STORE_CLOCK_START + WALK_PAUSE_MAX_S);
	store_housekeeping(rig.core);
	check_eq(rig.store->walks.active, 1);
	store_turn(rig.core, STORE_CLOCK_START + WALK_PAUSE_MAX_S + WALK_CLOCKS_APART_S + 1);
	store_housekeeping(rig.core);
	check_eq(rig.store->walks.active, 0);
	store_walk(rig.core, &next, STORE_ALL_CLASSES, items, 16);
	while (!paused.done)
		shown += store_walk(rig.core, &paused, STORE_ALL_CLASSES, items, 16);
	check_eq(shown, KEYS);
	check_eq(rig.store->walks.active, 1);
	store_walk_end(rig.core, &next);
	rig_down(&rig);
}

TEST(an_alternate_bucket_is_at_its_position_or_just_behind)
{
	uint64_t hash = 1;

	for (uint32_t i = 0; i < 1000000; i++) {
		const uint32_t count = 2 * (8 + i % 100000);

		hash = hash * 6364136223846793005ull + 1442695040888963407ull;

		const struct place p = place_among(count, hash);
		const uint32_t at = spread(hash_alternate_position(hash), count);

		check_eq(spread(hash_position(hash), count), p.primary);
		check((p.alternate + count - at) % count <= ALTERNATE_BEHIND);
	}
}

TEST(classes_count_what_they_hold)
{
	struct rig rig = rig_up(64, 1);
	struct store_class_usage u;
	struct store_usage all;
	uint64_t items = 0, bytes = 0, asked = 0, pages = 0, chunked = 0;
	char text_of_key[32];

	put_keys(rig.core, 0, KEYS);
	for (uint32_t n = 0; n < KEYS; n += 2) {
		const struct view key = key_of(n, text_of_key);

		check_eq(store_delete(rig.core, key, store_hash(rig.core, key)), STORE_OK);
	}
	turns(rig.core, 100);
	for (uint32_t n = 1; n < KEYS; n += 2) {
		asked += sizeof(struct item) + key_of(n, text_of_key).len + value_of(n).len;
		chunked += value_of(n).len > 100000;
	}
	/* Large values have 20 bytes more, and three chunks of 8 with references of 4. */
	asked += chunked * (20 + 3 * 12);
	store_usage_mt(rig.store, &all);
	for (uint32_t c = 1; c <= store_class_count_mt(rig.store); c++) {
		store_class_usage_mt(rig.store, c, rig.core->now_s, &u);
		check_eq(u.objects, (uint64_t)u.pages * u.per_page);
		check_eq(u.used + u.free, u.objects);
		check(u.items <= u.used);
		check(u.size * u.per_page <= all.page_bytes);
		items += u.items;
		bytes += u.item_bytes;
		pages += u.pages;
		check_eq(u.counted[CLASS_LINKED] - u.counted[CLASS_UNLINKED], u.items);
		check_eq(u.counted[CLASS_EVICTED], 0);
	}
	check_eq(items, KEYS / 2);
	check_eq(items, all.items);
	check_eq(bytes, asked);
	check(bytes <= all.item_bytes);
	check_eq(pages + (all.index_bytes + all.page_bytes - 1) / all.page_bytes, all.pages_used);
	check_eq(all.limit_bytes, 64u << 20);
	rig_down(&rig);
}

/* Adds up, by class, the items that a walk shows. */
static void
walk_and_add_up(struct store_core *sc, uint64_t *items, uint64_t *bytes)
{
	struct walk_cursor cursor = {0};
	const struct item *shown[64];

	memset(items, 0, (SLAB_CLASSES_MAX + 1) * sizeof *items);
	memset(bytes, 0, (SLAB_CLASSES_MAX + 1) * sizeof *bytes);
	while (!cursor.done) {
		const uint32_t n = store_walk(sc, &cursor, STORE_ALL_CLASSES, shown, 64);

		for (uint32_t i = 0; i < n; i++) {
			const uint32_t class = store_class_of(sc, shown[i]);

			items[class]++;
			bytes[class] += item_bytes(shown[i]);
		}
	}
}

/* Sizes shift, so that pages move between classes, with and without items in use. */
TEST(classes_agree_with_a_walk_when_pages_have_moved)
{
	static uint64_t items[SLAB_CLASSES_MAX + 1], bytes[SLAB_CLASSES_MAX + 1];
	struct rig rig = rig_up(8, 1);
	char text_of_key[32];
	uint32_t waited;

	for (uint32_t n = 0; n < 120000; n++) {
		const struct view key = key_of(n % 40000, text_of_key);
		const uint32_t len = n < 60000 ? n % 100 : 500 + n % 1000;

		check_eq(put_waiting(rig.core, key, (struct view){value_of(7).data, len}, 100,
				     &waited),
			 STORE_OK);
		store_get(rig.core, key, store_hash(rig.core, key));
		turns(rig.core, n % 32 == 0);
	}
	walk_and_add_up(rig.core, items, bytes);
	for (uint32_t c = 1; c <= store_class_count_mt(rig.store); c++) {
		struct store_class_usage u;

		store_class_usage_mt(rig.store, c, rig.core->now_s, &u);
		check_eq(u.items, items[c]);
		check_eq(u.item_bytes, bytes[c]);
	}
	rig_down(&rig);
}

struct watcher {
	struct rig *rig;
	uint64_t seen, unused, bytes;
};

static void
note_eviction(void *arg, const struct item *it)
{
	struct watcher *w = arg;

	w->seen++;
	w->unused += !store_is_fetched(w->rig->core, it);
	w->bytes += item_key(it).len + item_value_len(it);
	check(store_class_of(w->rig->core, it) <= store_class_count_mt(w->rig->store));
}

TEST(every_eviction_is_reported_and_counted)
{
	enum { MANY = 200000, READ_OF = 4 };
	struct rig rig = rig_up(8, 1);
	struct watcher w = {.rig = &rig};
	uint64_t evicted = 0, unused = 0, active = 0;
	char text_of_key[32];
	uint32_t waited;

	store_watch_evictions(rig.core, note_eviction, &w);
	for (uint32_t n = 0; n < MANY; n++) {
		const struct view key = key_of(n, text_of_key);

		check_eq(put_waiting(rig.core, key, value_of(n % 20), 100, &waited), STORE_OK);
		if (n % READ_OF == 0)
			check_ptr(store_get(rig.core, key, store_hash(rig.core, key)));
		turns(rig.core, n % 32 == 0);
	}
	for (uint32_t c = 1; c <= store_class_count_mt(rig.store); c++) {
		struct store_class_usage u;

		store_class_usage_mt(rig.store, c, rig.core->now_s, &u);
		evicted += u.counted[CLASS_EVICTED];
		unused += u.counted[CLASS_EVICTED_UNFETCHED];
		active += u.counted[CLASS_EVICTED_ACTIVE];
		check_eq(u.counted[CLASS_EVICTED_TIMED], 0);
	}
	check(w.seen > MANY / 8);
	check_eq(w.seen, counted(rig.core, STORE_EVICTED));
	check_eq(w.seen, evicted);
	check_eq(w.unused, unused);
	check_eq(unused, counted(rig.core, STORE_EVICTED_UNFETCHED));
	check_eq(active, counted(rig.core, STORE_EVICTED_ACTIVE));
	/* Items that were read had a second chance, but most of them are evicted, too. */
	check(w.seen - w.unused > w.seen / (4 * READ_OF));
	check(w.unused > w.seen / 2);
	check(w.bytes > w.seen * 4);

	const uint64_t before = w.seen;

	store_watch_evictions(rig.core, NULL, NULL);
	for (uint32_t n = 0; n < MANY / 4; n++) {
		put(rig.core, key_of(n, text_of_key), value_of(n % 20), STORE_SET, 0);
		turns(rig.core, n % 32 == 0);
	}
	check_eq(w.seen, before);
	check(counted(rig.core, STORE_EVICTED) > before);
	rig_down(&rig);
}

TEST(what_a_get_finds_dead_is_counted)
{
	struct rig rig = rig_up(8, 1);

	check_eq(set_full(rig.core, "expired", "v", 0, 5), STORE_OK);
	check_eq(set_full(rig.core, "used", "v", 0, 5), STORE_OK);
	check_ptr(find(rig.core, "used"));
	store_turn(rig.core, 6);
	check_null(find(rig.core, "expired"));
	check_null(find(rig.core, "expired"));
	check_null(find(rig.core, "absent"));
	check_eq(counted(rig.core, STORE_GOT_EXPIRED), 2);
	check_eq(counted(rig.core, STORE_GOT_FLUSHED), 0);
	check_eq(set(rig.core, "expired", "again"), STORE_OK); /* the replaced item was dead */
	check_eq(counted(rig.core, STORE_EXPIRED), 1);
	seconds(rig.core, SWEEP_PASS_S + 1);
	check_eq(counted(rig.core, STORE_EXPIRED), 2);
	check_eq(counted(rig.core, STORE_EXPIRED_UNFETCHED), 0); /* one was used, one replaced */
	check_eq(counted(rig.core, STORE_DEAD_SWEPT), 1);
	check_eq(counted(rig.core, STORE_EXPIRED_RECLAIMED), 0);
	store_flush(rig.core, 0);
	check_null(find(rig.core, "expired"));
	check_eq(counted(rig.core, STORE_GOT_FLUSHED), 1);
	rig_down(&rig);
}

/* Each operation that reads counts one. A set reads nothing, and a
 * watcher's peek is no request. */
TEST(what_others_than_gets_find_dead_is_counted_too)
{
	static const enum store_mode modes[] = {STORE_ADD, STORE_REPLACE, STORE_CAS, STORE_APPEND,
						STORE_PREPEND};
	struct rig rig = rig_up(8, 1);
	const struct view key = text("k");
	const uint64_t hash = store_hash(rig.core, key);
	const struct item *it;
	uint64_t value;

	for (uint32_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		check_eq(set_full(rig.core, "k", "v", 0, 5), STORE_OK);
		store_turn(rig.core, 6);
		put(rig.core, key, text("w"), modes[i], 1);
		check_eq(counted(rig.core, STORE_GOT_EXPIRED), i + 1);
		store_delete(rig.core, key, hash);
		store_turn(rig.core, 4);
	}
	check_eq(set_full(rig.core, "k", "1", 0, 5), STORE_OK);
	store_turn(rig.core, 6);
	check_eq(store_count(rig.core, key, hash, 1, false, &value), STORE_NOT_FOUND);
	check_eq(store_touch(rig.core, key, hash, 9, &it), STORE_NOT_FOUND);
	check_eq(counted(rig.core, STORE_GOT_EXPIRED), 7);
	check_null(store_peek(rig.core, key, hash));
	check_eq(set(rig.core, "k", "again"), STORE_OK);
	check_eq(counted(rig.core, STORE_GOT_EXPIRED), 7);
	rig_down(&rig);
}

/* Writes that memcached does in place do not count as new items: counts of the same length,
 * another expiry. */
TEST(a_value_that_was_never_stored_is_recognized)
{
	struct rig rig = rig_up(8, 1);
	const struct view key = text("n");
	const uint64_t hash = store_hash(rig.core, key);
	const struct item *it;
	uint64_t value;

	check_eq(set(rig.core, "n", "7"), STORE_OK);
	check_eq(store_count(rig.core, key, hash, 1, false, &value), STORE_OK);
	check_eq(store_touch(rig.core, key, hash, 1000, &it), STORE_OK);
	check_eq(counted(rig.core, STORE_ITEMS_RENEWED), 2);
	check_eq(store_count(rig.core, key, hash, 90, false, &value), STORE_OK); /* longer */
	check_eq(set(rig.core, "n", "77"), STORE_OK);
	check_eq(counted(rig.core, STORE_ITEMS_RENEWED), 2);
	check_eq(counted(rig.core, STORE_ITEMS_LINKED), 5);
	rig_down(&rig);
}

/* Free objects in a core's magazine count as free. */
TEST(a_class_uses_as_many_objects_as_it_has_items)
{
	struct rig rig = rig_up(8, 2);
	const struct view value = value_of(1);
	struct store_class_usage u;
	char text_of_key[32];

	store_turn(store_core_of(rig.store, 1), STORE_CLOCK_START);
	for (uint32_t n = 0; n < 100; n++)
		check_eq(put(store_core_of(rig.store, n % 2), key_of(n, text_of_key), value,
			     STORE_SET, 0),
			 STORE_OK);
	store_class_usage_mt(rig.store, store_class_of(rig.core, find(rig.core, text_of_key)), 1,
			     &u);
	check_eq(u.items, 100);
	check_eq(u.used, 100);
	check_eq(u.used + u.free, u.objects);
	rig_down(&rig);
}

/* ---- memory ---- */

TEST(a_store_that_never_evicts_refuses_and_keeps)
{
	static const uint32_t lens[] = {20, 500, 200000};

	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
		const struct store_config cfg = {.memory_bytes = 8 << 20,
						 .cores = 1,
						 .value_max = STORE_VALUE_MAX,
						 .seed = 1,
						 .never_evict = true};
		struct rig rig = rig_up_with(&cfg);
		const struct view value = {value_of(7).data, lens[i]};
		char text_of_key[32];
		uint32_t n = 0, waited;

		for (;; n++) {
			const enum store_result r =
				put_waiting(rig.core, key_of(n, text_of_key), value, 100, &waited);

			turns(rig.core, n % 32 == 0);
			if (r == STORE_NO_MEMORY)
				break;
			check_eq(r, STORE_OK);
			check((uint64_t)n * (lens[i] + 10) < cfg.memory_bytes);
		}
		check((uint64_t)n * (lens[i] + 10) > (4u << 20) * (lens[i] > 20) + (1u << 20));
		for (uint32_t j = 0; j < n; j++) {
			const struct view key = key_of(j, text_of_key);

			check(value_is(rig.core,
				       store_get(rig.core, key, store_hash(rig.core, key)), value));
		}
		check_eq(counted(rig.core, STORE_EVICTED), 0);
		check(counted(rig.core, STORE_OUT_OF_MEMORY) > 0);
		/* Deleted items make room. */
		check_eq(del(rig.core, "key0"), STORE_OK);
		check_eq(del(rig.core, "key1"), STORE_OK);
		check_eq(put_waiting(rig.core, text("key0"), value, 100, &waited), STORE_OK);
		check_eq(counted(rig.core, STORE_EVICTED), 0);
		rig_down(&rig);
	}
}

TEST(a_full_index_evicts_nobody_either)
{
	const struct store_config cfg = {.memory_bytes = 8 << 20,
					 .cores = 1,
					 .value_max = STORE_VALUE_MAX,
					 .seed = 1,
					 .never_evict = true};
	struct store_plan plan = store_plan_of(&cfg);
	struct region region = {.size = align_up(store_bytes(&cfg), 4096)};
	char text_of_key[32];
	uint32_t stored = 0, refused = 0;

	plan.bucket_count = INDEX_BUCKETS_MIN;
	plan.bucket_step = 0;
	region.base = aligned_alloc(4096, region.size);

	struct store *st = store_create_planned(&region, &cfg, &plan);
	struct store_core *sc = store_core_of(st, 0);

	store_turn(sc, STORE_CLOCK_START);
	for (uint32_t n = 0; n < 1000; n++) {
		const enum store_result r =
			put(sc, key_of(n, text_of_key), text("value"), STORE_ADD, 0);

		stored += r == STORE_OK;
		refused += r == STORE_NO_MEMORY;
		turns(sc, 1);
	}
	check_eq(stored + refused, 1000);
	check(stored > INDEX_BUCKETS_MIN * BUCKET_SLOTS * 9 / 10);
	check(stored <= INDEX_BUCKETS_MIN * BUCKET_SLOTS);
	check_eq(counted(sc, STORE_EVICTED), 0);
	check_eq(counted(sc, STORE_ITEMS_LINKED), stored);
	free(region.base);
}

static void
fill_with(struct rig *rig, uint32_t len, uint32_t count)
{
	char text_of_key[32];
	uint32_t waited;

	for (uint32_t n = 0; n < count; n++) {
		check_eq(put_waiting(rig->core, key_of(n, text_of_key),
				     (struct view){value_of(7).data, len}, 100, &waited),
			 STORE_OK);
		turns(rig->core, n % 32 == 0);
	}
}

TEST(a_limit_gives_memory_back_and_takes_it_again)
{
	static const uint32_t lens[] = {50, 3000, 150000};

	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
		struct rig rig = rig_up(32, 1);
		const uint32_t enough = (40u << 20) / (lens[i] + 50);
		struct store_usage full, half, again;

		fill_with(&rig, lens[i], enough);
		store_usage_mt(rig.store, &full);
		check(full.pages_used > full.pages_total * 7 / 10);
		check(store_limit_mt(rig.store, 16 << 20));
		turns(rig.core, 2000);
		store_usage_mt(rig.store, &half);
		check_eq(half.limit_bytes, 16 << 20);
		check(half.pages_used * full.page_bytes <= 16u << 20);
		check(half.pages_used > full.pages_used / 8); /* large values leave whole */
		fill_with(&rig, lens[i], enough);             /* sets continue within the limit */
		turns(rig.core, 200);
		store_usage_mt(rig.store, &half);
		check(half.pages_used * full.page_bytes <= 16u << 20);
		check(store_limit_mt(rig.store, 32 << 20));
		fill_with(&rig, lens[i], enough);
		store_usage_mt(rig.store, &again);
		check(again.pages_used > full.pages_used * 3 / 4);
		rig_down(&rig);
	}
}

TEST(a_limit_is_no_more_than_there_is_and_leaves_enough_to_work)
{
	struct rig rig = rig_up(64, 1);
	const struct slab *sl = &rig.store->slab;
	struct store_usage usage;

	check(!store_limit_mt(rig.store, (64 << 20) + 1));
	check(!store_limit_mt(rig.store, STORE_LIMIT_MIN - 1));
	store_usage_mt(rig.store, &usage);
	check_eq(usage.limit_bytes, 64 << 20);
	check(store_limit_mt(rig.store, STORE_LIMIT_MIN));
	check(atomic_load(&sl->withheld) + sl->reserve + 4 <= usage.pages_total);
	for (uint32_t len = 10; len < 200000; len *= 3)
		fill_with(&rig, len, 200);
	rig_down(&rig);
}

TEST(a_store_begins_with_its_limit_and_grows_into_what_was_set_aside)
{
	static const uint32_t lens[] = {50, 3000, 66560};

	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
		struct store_config cfg = rig_config(64, 1, STORE_VALUE_MAX);
		const uint32_t most = (16u << 20) / (lens[i] + 50), some = most / 8;
		struct store_usage few, many;
		struct rig rig;
		uint64_t evicted;

		cfg.limit_bytes = 3 << 20;
		rig = rig_up_with(&cfg);
		fill_with(&rig, lens[i], 2 * some);
		store_usage_mt(rig.store, &few);
		evicted = store_sum(rig.store, STORE_EVICTED);
		check_eq(few.limit_bytes, 3 << 20);
		check_eq(few.memory_bytes, 64 << 20);
		check(few.pages_used * few.page_bytes <= 3u << 20);
		check(evicted > 0);
		check(store_limit_mt(rig.store, 64 << 20));
		fill_with(&rig, lens[i], most);
		store_usage_mt(rig.store, &many);
		check_eq(many.items, most);
		check_eq(store_sum(rig.store, STORE_EVICTED), evicted);
		rig_down(&rig);
	}
}

/* The page size follows the limit, not the memory set aside: with large pages a
 * small store has too few. */
TEST(a_store_is_cut_for_the_limit_it_begins_with)
{
	struct store_config cfg = rig_config(1024, 1, STORE_VALUE_MAX);

	check_eq(store_plan_of(&cfg).page_shift, SLAB_PAGE_SHIFT_MAX);
	cfg.limit_bytes = 32 << 20;
	check_eq(store_plan_of(&cfg).page_shift, SLAB_PAGE_SHIFT_MIN);
}
