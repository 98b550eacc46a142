/*
 * Memory. Goal: values of every size are read back byte for byte; a full store forgets, never
 * lies and never refuses; nothing leaks; a pinned item stays in its place; the smallest common
 * item costs about 64 bytes. Method: fill small stores far beyond their budget, then count
 * objects.
 */
#include "support/test.h"
#include "store_rig.h"

#define HEADS_MIB   64u
#define HEADS_SETS  4000u
#define HEADS_SMALL 10000u
#define HEADS_TURNS 40u

static uint8_t pattern[STORE_VALUE_MAX + 1];

static void
make_pattern(void)
{
	uint32_t x = 1;

	for (size_t i = 0; i < sizeof pattern; i++) {
		x = x * 1103515245 + 12345;
		pattern[i] = (uint8_t)(x >> 16);
	}
}

static struct view
value_of(uint32_t len)
{
	return (struct view){pattern + STORE_VALUE_MAX - len, len};
}

/* Returns the number of objects that are in use. The magazines are emptied first. */
static uint64_t
objects_out(struct rig *rig)
{
	struct slab *sl = &rig->store->slab;
	uint64_t out = 0;

	for (uint32_t i = 0; i < rig->store->core_count; i++)
		slab_empty_magazines(sl, store_core_of(rig->store, i)->magazines);
	for (uint32_t i = 0; i < sl->class_count; i++)
		out += (uint64_t)sl->classes[i].page_count * sl->classes[i].per_page -
		       sl->classes[i].free_count;
	return out;
}

static uint64_t
live_bytes(const struct rig *rig)
{
	struct store_usage usage;

	store_usage_mt(rig->store, &usage);
	return usage.item_bytes;
}

TEST(values_of_every_size_come_back_byte_for_byte)
{
	static const uint32_t edges[] = {
		0,
		ITEM_PIN_MIN_BYTES,
		4096,
		ITEM_UNCHUNKED_MAX - 32,
		65528,
		ITEM_CHUNK_BYTES,
		2 * ITEM_CHUNK_PAYLOAD,
		STORE_VALUE_MAX - 8,
	};
	struct rig rig = rig_up(16, 1);

	for (size_t e = 0; e < sizeof edges / sizeof *edges; e++) {
		const uint32_t from = edges[e] < 5 ? 0 : edges[e] - 5;

		for (uint32_t len = from; len <= edges[e] + 12 && len <= STORE_VALUE_MAX; len++) {
			check_eq(put(rig.core, text("key"), value_of(len), STORE_SET, 0), STORE_OK);
			check(value_is(rig.core, find(rig.core, "key"), value_of(len)));
			turns(rig.core, 4);
		}
	}
	check_eq(put(rig.core, text("key"), (struct view){pattern, STORE_VALUE_MAX + 1}, STORE_SET,
		     0),
		 STORE_TOO_LARGE);
	rig_down(&rig);
}

/* A simple set replaces or inserts as any other; refused, it changes nothing and keeps no object.
 */
TEST(simple_set_stores_or_leaves_everything_as_it_was)
{
	static struct rig rig;
	struct store_class_map map;
	uint64_t out;

	rig = rig_up(8, 1);
	store_class_map(rig.store, &map);
	check_eq(store_set_simple(rig.core, text("k"), store_hash(rig.core, text("k")), text("v")),
		 0); /* no object is at hand */
	check_null(find(rig.core, "k"));
	set(rig.core, "k", "1");
	for (uint32_t i = 0; i < 2; i++) {
		const char *key = i == 0 ? "k" : "l";
		const uint32_t class = store_set_simple(rig.core, text(key),
							store_hash(rig.core, text(key)), text("2"));

		check(holds(rig.core, key, "2"));
		check_eq(class, store_class_lookup(&map, find(rig.core, key)));
	}
	set_full(rig.core, "k", "3", 7, 0);
	turns(rig.core, 8);
	out = objects_out(&rig);
	set(rig.core, "other", "1"); /* fills the magazine */
	check_eq(store_set_simple(rig.core, text("k"), store_hash(rig.core, text("k")), text("4")),
		 0);
	check(holds(rig.core, "k", "3"));
	turns(rig.core, 8);
	check_eq(objects_out(&rig), out + 1);
	rig_down(&rig);
}

TEST(a_value_may_come_in_any_pieces)
{
	static const uint32_t pieces[] = {1, 7, 1000, 65527, 65528, 65529, 300000};
	struct rig rig = rig_up(16, 1);
	const struct view key = text("key");

	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		const struct view value = value_of(pieces[i] < 1000 ? 70000 : STORE_VALUE_MAX);
		struct fill f;

		check_eq(store_begin(rig.core, &f, key, store_hash(rig.core, key), value.len, 3, 0),
			 STORE_OK);
		for (uint32_t at = 0; at < value.len; at += pieces[i]) {
			const uint32_t left = value.len - at;

			store_fill(rig.core, &f, value.data + at,
				   left < pieces[i] ? left : pieces[i]);
			if (pieces[i] > 1000)
				turns(rig.core, 1); /* a fill may take many turns */
		}
		check_eq(store_finish(rig.core, &f, STORE_SET, 0), STORE_OK);
		check(value_is(rig.core, find(rig.core, "key"), value));
		check_eq(item_flags(find(rig.core, "key")), 3);
	}
	rig_down(&rig);
}

TEST(large_values_can_be_extended_up_to_the_limit)
{
	struct rig rig = rig_up(32, 1);
	uint32_t len = 60000;

	check_eq(put(rig.core, text("k"), value_of(len), STORE_SET, 0), STORE_OK);
	for (int i = 0; i < 8; i++) {
		const struct view more = {pattern + STORE_VALUE_MAX - len - 99999, 99999};

		check_eq(put(rig.core, text("k"), more, STORE_PREPEND, 0), STORE_OK);
		len += 99999;
		check(value_is(rig.core, find(rig.core, "k"), value_of(len)));
		turns(rig.core, 4);
	}
	check_eq(put(rig.core, text("k"), value_of(STORE_VALUE_MAX - len + 1), STORE_APPEND, 0),
		 STORE_TOO_LARGE);
	check(value_is(rig.core, find(rig.core, "k"), value_of(len)));
	rig_down(&rig);
}

/* Finishes an append, turn by turn. The old value stays until it is done, or is evicted. */
static enum store_result
append_waiting(struct rig *rig, struct fill *f, struct view old, uint32_t *waited)
{
	const struct store_conditions append = {.mode = STORE_APPEND};
	enum store_result r = STORE_NOT_YET;
	const struct item *made;

	for (*waited = 0; *waited < 1000 && r == STORE_NOT_YET; ++*waited) {
		const struct item *it = find(rig->core, "k");

		check(it == NULL || value_is(rig->core, it, old));
		r = store_try_finish_with(rig->core, f, &append, &made);
		check(it != NULL || r == STORE_NOT_STORED);
		turns(rig->core, 1);
	}
	return r;
}

/* The appended bytes have their memory. The whole new version needs more, from a full store. */
TEST(an_append_waits_for_memory_that_is_coming)
{
	enum { OLD = 300000, MORE = 500000 };
	const struct view whole = value_of(OLD + MORE);
	struct rig rig = rig_up(8, 1);
	uint32_t waited, late = 0;

	for (uint64_t round = 0; round < 10; round++) {
		enum store_result r = STORE_NOT_YET;
		struct fill f;

		for (uint64_t i = round << 32; i < (round << 32) + 100000; i++) {
			const struct view k = {(const uint8_t *)&i, sizeof i};

			check_eq(put(rig.core, k, value_of(48), STORE_SET, 0), STORE_OK);
			if (i % 64 == 0)
				turns(rig.core, 1);
		}
		for (int i = 0; i < 1000 && r == STORE_NOT_YET; i++) {
			r = store_begin(rig.core, &f, text("k"), store_hash(rig.core, text("k")),
					MORE, 0, 0);
			turns(rig.core, 1);
		}
		check_eq(r, STORE_OK);
		store_fill(rig.core, &f, whole.data + OLD, MORE);
		check_eq(put_waiting(rig.core, text("k"), (struct view){whole.data, OLD}, 1000,
				     &waited),
			 STORE_OK);
		r = append_waiting(&rig, &f, (struct view){whole.data, OLD}, &waited);
		check(r == STORE_OK || r == STORE_NOT_STORED);
		late += r == STORE_OK && waited > 1;
		check(r != STORE_OK || value_is(rig.core, find(rig.core, "k"), whole));
		del(rig.core, "k");
	}
	printf("%u of 10 appends waited\n", late);
	check(late != 0);
	check_eq(counted(rig.core, STORE_OUT_OF_MEMORY), 0);
	rig_down(&rig);
}

/* Makes a key of 16 bytes and a value of 32 that follows from it. */
static void
make_pair(uint64_t i, uint64_t key[2], uint64_t value[4])
{
	key[0] = i;
	key[1] = i * 0x9e3779b97f4a7c15ull;
	for (uint64_t w = 0; w < 4; w++)
		value[w] = key[1] ^ (w << 56);
}

TEST(a_full_store_evicts_but_never_lies)
{
	enum { KEYS = 2000000 };
	struct rig rig = rig_up(64, 1);
	uint64_t hits = 0, k[2], v[4];
	const struct view key = {(const uint8_t *)k, sizeof k};
	const struct view value = {(const uint8_t *)v, sizeof v};

	for (uint64_t i = 0; i < KEYS; i++) {
		make_pair(i, k, v);
		check_eq(put(rig.core, key, value, STORE_SET, 0), STORE_OK);
		if (i % 64 == 0)
			store_turn(rig.core, 2);
		if (i % 1024 == 0)
			store_housekeeping(rig.core);
	}
	for (uint64_t i = 0; i < KEYS; i++) {
		make_pair(i, k, v);

		const struct item *it = store_get(rig.core, key, store_hash(rig.core, key));

		hits += it != NULL;
		if (it != NULL && !value_is(rig.core, it, value))
			fail_msg("key %llu has another value", (unsigned long long)i);
	}

	struct store_usage usage;

	store_usage_mt(rig.store, &usage);
	check_eq(usage.items, hits);

	const double cost = (double)usage.memory_bytes / (double)usage.items;

	printf("16-byte keys, 32-byte values: %.2f bytes each in all (%.2f without the "
	       "reserve)\n",
	       cost,
	       (double)(usage.memory_bytes -
			((uint64_t)rig.store->slab.reserve << rig.store->arena.page_shift)) /
		       (double)usage.items);
	check(cost < 65.5);
	rig_down(&rig);
}

TEST(items_in_use_outlive_those_that_are_not)
{
	struct rig rig = rig_up(8, 1);
	uint32_t kept = 0;
	char key[24];

	for (int i = 0; i < 1000; i++) {
		snprintf(key, sizeof key, "used%d", i);
		check_eq(set(rig.core, key, "forty bytes, so that memory runs out first"),
			 STORE_OK);
	}
	for (int i = 0; i < 200000; i++) {
		snprintf(key, sizeof key, "once%d", i);
		check_eq(set(rig.core, key, "forty bytes, so that memory runs out first"),
			 STORE_OK);
		snprintf(key, sizeof key, "used%d", i % 1000);
		find(rig.core, key);
		if (i % 64 == 0)
			turns(rig.core, 1);
	}
	for (int i = 0; i < 1000; i++) {
		snprintf(key, sizeof key, "used%d", i);
		kept += find(rig.core, key) != NULL;
	}
	check(counted(rig.core, STORE_EVICTED) > 50000);
	check_eq(counted(rig.core, STORE_EVICTED_INDEX_FULL), 0);
	check(kept > 900);
	rig_down(&rig);
}

static void
fill_with_small_items(struct rig *rig)
{
	char key[24];

	for (int i = 0; counted(rig->core, STORE_EVICTED) < 20000; i++) {
		snprintf(key, sizeof key, "small%010d", i);
		check_eq(put(rig->core, text(key), value_of(32), STORE_SET, 0), STORE_OK);
		if (i % 64 == 0)
			turns(rig->core, 1);
	}
}

TEST(a_store_full_of_small_items_takes_large_ones_soon)
{
	static const uint32_t sizes[] = {100, 5000, 65000, STORE_VALUE_MAX};
	uint32_t waited, most = 0;
	char key[24];

	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		struct rig rig = rig_up(8, 1);

		fill_with_small_items(&rig);
		for (int i = 0; i < 20; i++) {
			snprintf(key, sizeof key, "large%d", i);
			check_eq(put_waiting(rig.core, text(key), value_of(sizes[s]), 100, &waited),
				 STORE_OK);
			check(sizes[s] == STORE_VALUE_MAX || waited == 0);
			most = waited > most ? waited : most;
			check(value_is(rig.core, find(rig.core, key), value_of(sizes[s])));
			turns(rig.core, 1);
		}
		check_eq(counted(rig.core, STORE_OUT_OF_MEMORY), 0);
		rig_down(&rig);
	}
	printf("a value of 1 MiB waited %u turns at most\n", most);
}

/* Every page but one moves to the other class, and back again. */
TEST(large_and_small_values_take_turns_without_a_refusal)
{
	struct rig rig = rig_up(64, 1);
	uint32_t waited, sum = 0;
	char key[24];

	for (int round = 0; round < 2; round++) {
		fill_with_small_items(&rig);
		for (int i = 0; i < 200; i++) {
			snprintf(key, sizeof key, "large%d", i);
			check_eq(put_waiting(rig.core, text(key), value_of(STORE_VALUE_MAX), 100,
					     &waited),
				 STORE_OK);
			check(find(rig.core, key) != NULL);
			sum += waited;
			turns(rig.core, 1);
		}
		for (uint64_t i = 0; i < 1000000; i++) {
			const struct view k = {(const uint8_t *)&i, sizeof i};

			check_eq(put(rig.core, k, value_of(48), STORE_SET, 0), STORE_OK);
			if (i % 64 == 0)
				turns(rig.core, 1);
		}
	}
	printf("%.1f turns waited for each MiB\n", sum / 400.0);
	rig_down(&rig);
}

/* A value takes half of all memory, several times, beside small ones; no
 * memory is set aside for it. */
TEST(the_largest_value_waits_and_comes_back_whole)
{
	enum { LEN = 32 << 20 };
	struct rig rig = rig_up_for(64, 1, LEN);
	uint8_t *value = malloc(LEN);
	uint32_t waited;

	for (uint32_t i = 0; i < LEN; i++)
		value[i] = (uint8_t)(i * 2654435761u >> 24);
	check(rig.store->slab.reserve << rig.store->arena.page_shift <= 2u << 20);
	for (uint32_t round = 0; round < 3; round++) {
		const struct view v = {value + round, LEN - round};

		fill_with_small_items(&rig);
		check_eq(put_waiting(rig.core, text("k"), v, 2000, &waited), STORE_OK);
		check(value_is(rig.core, find(rig.core, "k"), v));
		printf("32 MB of 64 began after %u turns\n", waited);
	}
	free(value);
	rig_down(&rig);
}

/* Sizes shift: pages must move to the new size's class, though it could live on evicting its own
 * items. 32 values of 9,000 bytes take the memory of 2,000 of 100, more than one turn evicts: so
 * they may wait. */
TEST(pages_follow_the_sizes_that_come)
{
	static const uint32_t sizes[] = {100, 9000, 100};
	struct rig rig = rig_up(16, 1);
	uint64_t i = 0;

	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		const uint32_t room = (14u << 20) / (sizes[s] + 40);
		uint32_t there = 0, waited;

		for (const uint64_t end = i + 12 * room; i < end; i++) {
			const struct view k = {(const uint8_t *)&i, sizeof i};

			check_eq(put_waiting(rig.core, k, value_of(sizes[s]), 10, &waited),
				 STORE_OK);
			if (i % 32 == 0)
				turns(rig.core, 1);
		}
		for (uint64_t j = i - room; j < i; j++) {
			const struct view k = {(const uint8_t *)&j, sizeof j};

			there += store_get(rig.core, k, store_hash(rig.core, k)) != NULL;
		}
		printf("%5u bytes: %.1f %% of what fits is there\n", sizes[s],
		       100.0 * there / room);
		check(there > room * 8ull / 10);
	}
	rig_down(&rig);
}

/* A class that holds the heads of all large values looks idle, since its objects come and go by the
 * magazine. Its page must not be taken: all these values would be evicted at once. */
TEST(the_page_of_the_heads_of_all_values_stays)
{
	struct rig rig = rig_up(HEADS_MIB, 1);
	uint32_t waited;
	char key[16];

	for (uint32_t n = 0; n < HEADS_SMALL; n++) {
		sprintf(key, "small%u", n);
		check_eq(put(rig.core, text(key), value_of(32), STORE_SET, 0), STORE_OK);
	}
	for (uint32_t n = 0; n < HEADS_SETS; n++) {
		sprintf(key, "value%u", n);
		check_eq(put_waiting(rig.core, text(key), value_of(ITEM_CHUNK_BYTES), 100, &waited),
			 STORE_OK);
		turns(rig.core, HEADS_TURNS);
		check(n * ITEM_CHUNK_BYTES < HEADS_MIB << 20 ||
		      live_bytes(&rig) > (HEADS_MIB << 20) / 4 * 3);
	}
	rig_down(&rig);
}

TEST(every_object_is_freed)
{
	struct rig rig = rig_up(16, 1);
	uint32_t x = 7;
	char key[24];

	check_eq(objects_out(&rig), 0);
	for (int i = 0; i < 60000; i++) {
		x = x * 1664525 + 1013904223;
		snprintf(key, sizeof key, "key%u", (x >> 16) % 5000);

		const uint32_t len = (x >> 8) % 97 == 0 ? (x >> 10) % 300000 : (x >> 12) % 600;
		const enum store_result r =
			put(rig.core, text(key), value_of(len), (enum store_mode)(x >> 28) % 3, 0);

		check(r == STORE_OK || r == STORE_NOT_STORED || r == STORE_NOT_YET);
		if (x >> 30 == 0)
			del(rig.core, key);
		turns(rig.core, i % 8 == 0);
	}
	for (int i = 0; i < 5000; i++) {
		snprintf(key, sizeof key, "key%d", i);
		del(rig.core, key);
	}

	struct store_usage usage;

	turns(rig.core, 200);
	store_usage_mt(rig.store, &usage);
	check_eq(usage.items, 0);
	check_eq(usage.item_bytes, 0);
	check_eq(objects_out(&rig), 0);
	check_eq(rig.core->retire_list.head, rig.core->retire_list.tail);
	store_usage_mt(rig.store, &usage);
	check_eq(usage.pages_used, rig.store->slab.index_pages);
	rig_down(&rig);
}

/* Returns a pinned item that was published and deleted, or abandoned before it was published, as
 * a front's answers are. */
static const struct item *
pinned_item(struct rig *rig, struct view value, bool published)
{
	const struct item *it;
	struct fill f;

	check_eq(store_begin(rig->core, &f, text("k"), store_hash(rig->core, text("k")), value.len,
			     0, 0),
		 STORE_OK);
	store_fill(rig->core, &f, value.data, value.len);
	it = f.item;
	if (published)
		check_eq(store_finish(rig->core, &f, STORE_SET, 0), STORE_OK);
	store_pin(it);
	store_pin(it);
	if (published)
		check_eq(del(rig->core, "k"), STORE_OK);
	else
		store_abandon(rig->core, &f);
	store_unpin(it);
	return it;
}

TEST(a_pinned_item_keeps_its_bytes_until_unpinned)
{
	static const uint32_t sizes[] = {ITEM_PIN_MIN_BYTES, 40000, 500000};
	struct rig rig = rig_up(16, 1);

	for (size_t s = 0; s < 2 * sizeof sizes / sizeof *sizes; s++) {
		const struct view value = value_of(sizes[s / 2]);
		const struct item *it = pinned_item(&rig, value, s % 2 == 0);

		for (int i = 0; i < 100; i++) {
			put(rig.core, text("other"), (struct view){pattern, sizes[s / 2]},
			    STORE_SET, 0);
			turns(rig.core, 3);
			check(value_is(rig.core, it, value));
		}
		store_unpin(it);
		del(rig.core, "other");
		turns(rig.core, 8);
		check_eq(objects_out(&rig), 0);
	}
	rig_down(&rig);
}

TEST(a_core_that_sleeps_holds_nobody_up)
{
	struct rig rig = rig_up(8, 2);
	struct store_core *other = store_core_of(rig.store, 1);

	store_turn(other, 2);
	check_eq(set(rig.core, "k", "v"), STORE_OK);
	check_eq(del(rig.core, "k"), STORE_OK);
	turns(rig.core, 10);
	check_eq(objects_out(&rig), 1); /* the other core may still read it */
	store_offline(other);
	turns(rig.core, 10);
	check_eq(objects_out(&rig), 0);
	store_online(other);
	check_eq(set(rig.core, "k", "v"), STORE_OK);
	check_eq(del(rig.core, "k"), STORE_OK);
	turns(rig.core, 10);
	check_eq(objects_out(&rig), 1);
	for (int i = 0; i < 5; i++) {
		store_turn(other, 2);
		turns(rig.core, 1);
	}
	check_eq(objects_out(&rig), 0);
	rig_down(&rig);
}

TEST(a_set_that_cannot_be_done_leaves_no_older_value)
{
	enum { FILLS = RETIRE_LIST_LEFT_BY_DELETE + 2 };
	static struct fill fills[FILLS];
	struct rig rig = rig_up(16, 2);
	const struct view key = text("key");
	enum store_result r = STORE_OK;
	char other[24];

	for (uint32_t i = 0; i < FILLS; i++) {
		check_eq(store_begin(rig.core, &fills[i], key, store_hash(rig.core, key), 3, 0, 0),
			 STORE_OK);
		store_fill(rig.core, &fills[i], "new", 3);
	}
	for (uint32_t i = 0; i < RETIRE_LIST_MAX; i++) {
		snprintf(other, sizeof other, "other%u", i);
		check_eq(set(rig.core, other, "v"), STORE_OK);
	}
	store_turn(store_core_of(rig.store, 1), 2); /* and never again: the retire list fills up */
	for (uint32_t i = 0; i < RETIRE_LIST_MAX; i++) {
		snprintf(other, sizeof other, "other%u", i);
		check_eq(del(rig.core, other), STORE_OK);
	}
	for (uint32_t i = 0; i < FILLS && r == STORE_OK; i++) {
		r = store_finish(rig.core, &fills[i], STORE_SET, 0);
		check_eq(find(rig.core, "key") != NULL, r == STORE_OK);
	}
	check_eq(r, STORE_NO_MEMORY);
	rig_down(&rig);
}

TEST(a_full_retire_list_never_stops_a_delete)
{
	enum { KEYS = RETIRE_LIST_MAX + 2000 };
	struct rig rig = rig_up(16, 2);
	struct store_usage usage;
	char key[24];

	store_turn(store_core_of(rig.store, 1), 2); /* and not again for a while */
	for (int i = 0; i < KEYS; i++) {
		snprintf(key, sizeof key, "key%d", i);
		check_eq(set(rig.core, key, "v"), STORE_OK);
	}
	for (int i = 0; i < KEYS; i++) {
		snprintf(key, sizeof key, "key%d", i);
		check_eq(del(rig.core, key), STORE_OK);
		check_null(find(rig.core, key));
		check_eq(del(rig.core, key), STORE_NOT_FOUND);
	}
	for (uint32_t i = 0; i < 2 * MAGAZINE_BATCH_MAX; i++)
		if (set(rig.core, "key", "v") == STORE_NOT_YET)
			break;
	check_eq(set(rig.core, "key", "v"), STORE_NOT_YET);
	check_eq(del(rig.core, "key"), STORE_OK);
	for (uint32_t i = 0; i < 2 * SWEEP_PASS_S * TURNS_A_SECOND; i++) {
		store_turn(store_core_of(rig.store, 1), 2 + i / TURNS_A_SECOND);
		store_turn(rig.core, 2 + i / TURNS_A_SECOND);
		store_housekeeping(rig.core);
	}
	store_usage_mt(rig.store, &usage);
	check_eq(usage.items, 0);
	check_eq(objects_out(&rig), 0);
	check_eq(set(rig.core, "key", "v"), STORE_OK);
	rig_down(&rig);
}

/* The new version is as large as the old one, and both exist for a while. */
TEST(a_value_that_grows_stays_however_little_memory_is_left)
{
	enum { PIECE = 1u << 20, LARGEST = 32u << 20 };
	static uint8_t whole[LARGEST];
	struct rig rig = rig_up_for(64, 1, LARGEST);
	enum store_result r = STORE_OK;
	uint32_t len = PIECE, waited = 0;
	struct fill f;

	for (uint32_t i = 0; i < LARGEST; i++)
		whole[i] = (uint8_t)(i * 2654435761u >> 24);
	check_eq(put_waiting(rig.core, text("k"), (struct view){whole, len}, 1000, &waited),
		 STORE_OK);
	for (; r == STORE_OK && len + PIECE <= LARGEST; len += r == STORE_OK ? PIECE : 0) {
		r = STORE_NOT_YET;
		for (uint32_t i = 0; i < 3000 && r == STORE_NOT_YET; i++) {
			r = store_begin(rig.core, &f, text("k"), store_hash(rig.core, text("k")),
					PIECE, 0, 0);
			turns(rig.core, 1);
		}
		if (r == STORE_OK) {
			store_fill(rig.core, &f, whole + len, PIECE);
			r = append_waiting(&rig, &f, (struct view){whole, len}, &waited);
		}
		if (r == STORE_NOT_YET)
			store_abandon(rig.core, &f);
		check(value_is(rig.core, find(rig.core, "k"),
			       (struct view){whole, len + (r == STORE_OK ? PIECE : 0)}));
	}
	printf("%u MB, then %d\n", len >> 20, (int)r);
	check(len >= 28u << 20);
	check(r == STORE_OK || r == STORE_NO_MEMORY);
	rig_down(&rig);
}

int
main(void)
{
	return tests_run(make_pattern, NULL);
}
