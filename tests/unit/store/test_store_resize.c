/*
 * An index that grows and shrinks. Goal: a key has two buckets at any time and changes each once
 * a resize, when that bucket is emptied; every key is found between any two slices; the index
 * follows the number of items and gives back every page; it does not wait for a page that does
 * not come free. Method: the geometry alone, step by step, for numbers of all kinds; a store
 * filled with the smallest items, then with large ones; pages counted by what they are.
 */
#include "support/test.h"
#include "store_rig.h"

#include "index/geometry.h"
#include "index/resize_limits.h"

#define SEED 20261121u

static const struct {
	uint32_t from, to;
} resizes[] = {
	{16, 18},     {18, 16},   {16, 256},  {256, 16},        {1000, 1002},
	{1002, 1000}, {700, 938}, {938, 700}, {32768, 3 << 14}, {3 << 14, 32768},
};

#define RESIZES (sizeof resizes / sizeof *resizes)

static struct index
index_of(uint32_t bucket_count)
{
	return (struct index){.bucket_count = bucket_count};
}

static uint64_t
nth_hash(uint64_t n)
{
	return hash_bytes(&n, sizeof n, SEED);
}

/* Checks that a primary bucket's new primary bucket is one of those the resize takes for it,
 * before and after. */
static void
check_role(const struct index *ix, struct place now, struct place next, uint32_t emptied)
{
	const uint32_t end = index_bucket_end(ix);

	check(now.primary < end && now.alternate < end && next.primary < end &&
	      next.alternate < end);
	check_eq(next.tag, now.tag);
	if (next.primary != now.primary) {
		uint32_t first, last;

		geometry_new_primaries(ix, emptied, &first, &last);
		check_eq(now.primary, emptied);
		check(next.primary >= first && next.primary <= last);
	}
	if (next.alternate != now.alternate)
		check_eq(now.alternate, emptied);
}

TEST(a_key_leaves_a_bucket_when_that_is_emptied_and_once_a_resize)
{
	enum { KEYS = 200 };

	for (size_t r = 0; r < RESIZES; r++) {
		struct index ix = index_of(resizes[r].from);
		uint32_t moved[KEYS][2] = {{0}};
		uint32_t emptied;

		geometry_begin(&ix, resizes[r].to);
		while ((emptied = geometry_next(&ix)) != UINT32_MAX) {
			const struct geometry step = geometry_after(&ix);
			struct place now[KEYS], after[KEYS];

			for (uint64_t k = 0; k < KEYS; k++) {
				now[k] = index_place(&ix, nth_hash(k));
				after[k] = geometry_place(&step, nth_hash(k));
				check_role(&ix, now[k], after[k], emptied);
				moved[k][0] += now[k].primary != after[k].primary;
				moved[k][1] += now[k].alternate != after[k].alternate;
			}
			geometry_step(&ix);
			for (uint64_t k = 0; k < KEYS; k++) {
				const struct place p = index_place(&ix, nth_hash(k));

				check_eq(p.primary, after[k].primary);
				check_eq(p.alternate, after[k].alternate);
				check(place_is_current(&ix, &p) && !place_is_current(&ix, &now[k]));
			}
		}
		geometry_end(&ix);
		for (uint64_t k = 0; k < KEYS; k++) {
			const struct place p = index_place(&ix, nth_hash(k));
			const struct place want = place_among(resizes[r].to, nth_hash(k));

			check_eq(p.primary, want.primary);
			check_eq(p.alternate, want.alternate);
			check(moved[k][0] <= 1 && moved[k][1] <= 1);
		}
	}
}

/* The items of a bucket that is emptied go where others have left, or near by, so that there is
 * room. The few whose sum of buckets wraps round are exceptions. */
TEST(what_leaves_a_bucket_goes_on_in_the_same_order)
{
	enum { KEYS = 20000 };

	for (size_t r = 0; r < RESIZES; r++) {
		const uint64_t from = resizes[r].from, to = resizes[r].to;
		uint32_t far = 0;

		for (uint64_t k = 0; k < KEYS; k++) {
			const struct place old = place_among((uint32_t)from, nth_hash(k));
			const struct place new = place_among((uint32_t)to, nth_hash(k));
			const uint64_t margin = 3 * (to / from + 1) + 1;
			const uint64_t scaled = old.alternate * to / from;

			check(from < to ? new.primary >= old.primary : new.primary <= old.primary);
			far += new.alternate > scaled + margin || scaled > new.alternate + margin;
		}
		check((double)far / KEYS < 6.0 / (double)(from < to ? from : to));
	}
}

static struct view
number_view(const uint64_t *n)
{
	return (struct view){(const uint8_t *)n, sizeof *n};
}

static void
put_numbers(struct rig *rig, uint64_t first, uint64_t end)
{
	for (uint64_t n = first; n < end; n++) {
		check_eq(put(rig->core, number_view(&n), number_view(&n), STORE_SET, 0), STORE_OK);
		turns(rig->core, n % 32 == 0);
	}
}

static uint64_t
numbers_missing(struct rig *rig, uint64_t first, uint64_t end, uint64_t step)
{
	uint64_t missing = 0;

	for (uint64_t n = first; n < end; n += step) {
		const struct view key = number_view(&n);
		const struct item *it = store_get(rig->core, key, store_hash(rig->core, key));

		missing += it == NULL;
		check(it == NULL || value_is(rig->core, it, key));
	}
	return missing;
}

/* Runs the resize to its end, and looks some keys up between any two slices. */
static void
resize_looking(struct rig *rig, uint32_t bucket_count, uint64_t keys)
{
	check(resize_begin(rig->core, bucket_count));
	for (uint32_t i = 0; rig->store->resize_phase != RESIZE_NONE; i++) {
		store_turn(rig->core, STORE_CLOCK_START);
		check_eq(numbers_missing(rig, i % 97, keys, 97), 0);
	}
	check_eq(index_bucket_count(&rig->store->ix), bucket_count);
	check_eq(numbers_missing(rig, 0, keys, 1), 0);
}

TEST(every_key_is_found_while_the_index_is_resized)
{
	enum { FEW = 1000, KEYS = FEW * BUCKET_SLOTS * 95 / 100 };
	static const uint32_t counts[] = {FEW + 2,     FEW,      FEW + FEW / 32, 2 * FEW,
					  FEW * 5 / 4, 16 * FEW, 15 * FEW + 6,   FEW};
	struct rig rig = rig_up_buckets(8, 1, FEW, 0);

	put_numbers(&rig, 0, KEYS);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		resize_looking(&rig, counts[i], KEYS);
	check_eq(counted(rig.core, STORE_EVICTED), 0);
	check_eq(counted(rig.core, STORE_INDEX_GROWN), 4);
	check_eq(counted(rig.core, STORE_INDEX_SHRUNK), 4);
	rig_down(&rig);
}

/* Returns how many pages are in this state. */
static uint32_t
pages_in(const struct rig *rig, enum page_state state)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < rig->store->arena.page_count; i++)
		count += rig->store->slab.pages[i].state == state;
	return count;
}

static void
check_pages(const struct rig *rig)
{
	const struct slab *sl = &rig->store->slab;

	check_eq(pages_in(rig, PAGE_POOL), sl->pool_count);
	check_eq(pages_in(rig, PAGE_EVACUATING), sl->evacuating_count);
	check(sl->index_claimed_count <= sl->evacuating_count);
	for (uint32_t i = 0; i < rig->store->arena.page_count; i++)
		if (sl->pages[i].state == PAGE_INDEX)
			check(i < sl->index_pages);
}

/* Returns the number of items that are not in their primary bucket. */
static uint32_t
items_displaced(const struct store *st)
{
	uint32_t count = 0;

	for (uint32_t n = 0; n < index_bucket_count(&st->ix); n++)
		for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++)
			count += (bucket_tag(index_bucket(&st->ix, n), slot) & TAG_DISPLACED) != 0;
	return count;
}

TEST(the_index_grows_from_one_page_with_the_items)
{
	enum { KEYS = 900000 };
	struct rig rig = rig_up(64, 1);
	struct store_usage usage;

	check_eq(rig.store->slab.index_pages, 1);
	for (uint64_t n = 0; n < KEYS; n += 50000) {
		put_numbers(&rig, n, n + 50000);
		check_eq(numbers_missing(&rig, n % 37, n + 50000, 37), 0);
		check_pages(&rig);
	}
	check_eq(numbers_missing(&rig, 0, KEYS, 1), 0);
	check_eq(counted(rig.core, STORE_EVICTED), 0);
	store_usage_mt(rig.store, &usage);
	check(usage.index_slots > KEYS && usage.index_slots < KEYS * 3 / 2);
	printf("%u of %u items are displaced\n", items_displaced(rig.store), KEYS);
	check(items_displaced(rig.store) < KEYS / 20);
	rig_down(&rig);
}

/* The turns are as a core's: upkeep is every 16 turns, and a turn may store hundreds. */
TEST(the_index_keeps_up_however_much_a_turn_stores)
{
	enum { KEYS = 600000, TIDY = 16 };
	static const uint32_t a_turn[] = {1, 20, 64, 256, 1000};

	for (size_t i = 0; i < sizeof a_turn / sizeof *a_turn; i++) {
		struct rig rig = rig_up(64, 1);
		uint32_t done = 0;

		for (uint64_t n = 0; n < KEYS; n++) {
			uint32_t waited;

			check_eq(put_waiting(rig.core, number_view(&n), number_view(&n), 100,
					     &waited),
				 STORE_OK);
			if (n % a_turn[i] != 0)
				continue;
			store_turn(rig.core, rig.core->now_s);
			if (++done % TIDY == 0)
				store_housekeeping(rig.core);
		}
		check_eq(numbers_missing(&rig, 0, KEYS, 1), 0);
		check_eq(counted(rig.core, STORE_EVICTED), 0);
		rig_down(&rig);
	}
}

static uint8_t large[10000];
#define LARGE_KEYS 90000u

static void
fill_with(struct rig *rig, uint64_t first, uint64_t count, uint32_t len)
{
	for (uint64_t n = first; n < first + count; n++) {
		const struct view value = {large, len};
		uint32_t waited;

		check_eq(put_waiting(rig->core, number_view(&n), value, 100, &waited), STORE_OK);
		turns(rig->core, n % 16 == 0);
	}
}

/* Returns the pages that a class was given and has not used. */
static uint32_t
pages_untouched(const struct rig *rig)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < rig->store->arena.page_count; i++) {
		const struct page *p = &rig->store->slab.pages[i];

		count += p->state == PAGE_CLASS && p->fresh == p->free_count;
	}
	return count;
}

/* The items nearly fill the index to its limit; with a page less it would be too full. */
TEST(a_full_store_has_no_page_of_index_that_it_does_not_need)
{
	struct rig rig = rig_up(64, 1);
	struct store_usage usage;
	uint64_t less;

	do {
		fill_with(&rig, counted(rig.core, STORE_ITEMS_LINKED), 4096, 40);
		store_usage_mt(rig.store, &usage);
	} while (counted(rig.core, STORE_EVICTED) < usage.items / 16);
	less = (uint64_t)(rig.store->slab.index_pages - 1) * rig.store->resize.step * BUCKET_SLOTS;
	check(usage.items * 64 > less * FULL_64THS);
	check_eq(counted(rig.core, STORE_EVICTED_INDEX_FULL), 0);
	rig_down(&rig);
}

/* While another core does not turn, sets take pages from the reserve. Pages that are emptied in
 * return go to no class, so the number of items and the index stay the same. */
TEST(a_page_that_the_reserve_lent_does_not_grow_the_index)
{
	struct rig rig = rig_up(16, 2);
	struct store_core *other = store_core_of(rig.store, 1);
	struct store_usage usage;
	uint64_t n = 0, grown, pages;

	do {
		fill_with(&rig, n, 4096, 40);
		n += 4096;
		store_usage_mt(rig.store, &usage);
	} while (counted(rig.core, STORE_EVICTED) < usage.items || usage.index_resizing);
	grown = store_sum(rig.store, STORE_INDEX_GROWN);
	pages = atomic_load(&rig.store->slab.evacuated_pages);
	for (uint32_t round = 0; round < 16; round++) {
		store_turn(other, other->now_s);
		fill_with(&rig, n, 4096, 40);
		n += 4096;
		for (uint32_t i = 0; i < 512; i++, n += 32) {
			store_turn(other, other->now_s);
			fill_with(&rig, n, 32, 40);
		}
	}
	check(atomic_load(&rig.store->slab.evacuated_pages) > pages);
	check_eq(store_sum(rig.store, STORE_INDEX_GROWN), grown);
	rig_down(&rig);
}

/* Under sets without a pause, pages of the reserve are lent all the time. Items on the pages that
 * are emptied in return still have their slots, so the index has room for them, too. */
TEST(the_index_has_room_for_pages_that_are_emptied)
{
	struct rig rig = rig_up(14, 1);

	for (uint64_t n = 0, turn = 0; n < 2000000; n++) {
		const struct view value = {large, 38};
		uint32_t waited;

		check_eq(put_waiting(rig.core, number_view(&n), value, 100, &waited), STORE_OK);
		if (n % 192 != 0)
			continue;
		store_turn(rig.core, rig.core->now_s);
		if (turn++ % 16 == 0)
			store_housekeeping(rig.core);
	}
	check_eq(counted(rig.core, STORE_EVICTED_INDEX_FULL), 0);
	rig_down(&rig);
}

/* Once all items are deleted, every page is the index's or free for any class. */
TEST(the_index_follows_the_sizes_and_every_page_is_returned)
{
	struct rig rig = rig_up(16, 1);
	const uint32_t all = rig.store->arena.page_count;

	for (uint32_t round = 0; round < 3; round++) {
		fill_with(&rig, 0, 400000, 8);

		const uint64_t small = (uint64_t)index_bucket_count(&rig.store->ix) * BUCKET_SLOTS;
		struct store_usage usage;

		store_usage_mt(rig.store, &usage);
		check(usage.items * 100 > small * 81); /* a page is a sixth of this index */
		fill_with(&rig, 1u << 20, LARGE_KEYS, sizeof large);
		check_pages(&rig);
		check_eq(rig.store->slab.index_pages, 1);
	}
	check(counted(rig.core, STORE_INDEX_SHRUNK) >= 6);
	for (uint64_t n = 0; n < (1u << 20) + LARGE_KEYS; n++) {
		store_delete(rig.core, number_view(&n), store_hash(rig.core, number_view(&n)));
		turns(rig.core, n % 256 == 0);
	}
	turns(rig.core, 200);
	slab_empty_magazines(&rig.store->slab, rig.core->magazines);
	check_eq(rig.store->slab.pool_count + rig.store->slab.index_pages + pages_untouched(&rig),
		 all);
	check_pages(&rig);
	rig_down(&rig);
}

/* Returns the page that an item is on. */
static uint32_t
page_of(const struct rig *rig, const struct item *it)
{
	return slab_page_of(&rig->store->slab, item_ref(rig->store, it));
}

/* Buckets of a page of the smallest stores. */
#define A_PAGE (uint32_t)((1u << SLAB_PAGE_SHIFT_MIN) / sizeof(struct bucket))

/* Pages are full of items, one of which is pinned by a reply that does not end. */
TEST(a_page_that_does_not_come_is_not_waited_for)
{
	struct rig rig = rig_up_buckets(8, 1, A_PAGE, 0);
	const uint32_t last = rig.store->slab.reserve + 1; /* the lowest page that items may use */
	const struct item *pinned = NULL;
	uint64_t n = 0;

	for (; pinned == NULL; n++) {
		check(n < 100000);

		const struct item *it;

		fill_with(&rig, n, 1, 5000);
		it = store_get(rig.core, number_view(&n), store_hash(rig.core, number_view(&n)));
		if (it != NULL && page_of(&rig, it) == last)
			store_pin(pinned = it);
	}
	check(resize_begin(rig.core, (last + 1) * A_PAGE));
	for (uint32_t i = 0; rig.store->resize_phase != RESIZE_NONE; i++) {
		check(i < 20);
		seconds(rig.core, 1);
	}
	/* The index uses the pages that it has got. */
	check_eq(index_bucket_count(&rig.store->ix), last * A_PAGE);
	check_eq(rig.store->slab.index_pages, last);
	check_pages(&rig);
	store_unpin(pinned);
	turns(rig.core, 10);
	check(resize_begin(rig.core, (last + 1) * A_PAGE));
	seconds(rig.core, 60);
	check_eq(index_bucket_count(&rig.store->ix), (last + 1) * A_PAGE);
	check_pages(&rig);
	rig_down(&rig);
}

/* Flush follows flush, while items are moved from buckets that the walk has not reached to those
 * behind it. */
TEST(nothing_flushed_is_moved_past_the_sweep)
{
	enum { FEW = 512, KEYS = FEW * 8 };
	struct rig rig = rig_up_buckets(8, 1, FEW, 0);

	for (uint64_t round = 0; round < 8 * GENERATIONS_MAX; round++) {
		put_numbers(&rig, round * KEYS, (round + 1) * KEYS);
		resize_begin(rig.core, round % 2 == 0 ? 2 * FEW : FEW);
		turns(rig.core, (uint32_t)round % 8);
		store_flush(rig.core, 0);
		check_eq(numbers_missing(&rig, round * KEYS, (round + 1) * KEYS, 1), KEYS);
		seconds(rig.core, SWEEP_PASS_S / 4);
	}
	for (uint64_t old = 0; old < 8 * GENERATIONS_MAX * KEYS; old += 11)
		check_eq(numbers_missing(&rig, old, old + 1, 1), 1);
	seconds(rig.core, 2 * SWEEP_PASS_S);
	check_eq(counted(rig.core, STORE_ITEMS_LINKED), counted(rig.core, STORE_ITEMS_UNLINKED));
	rig_down(&rig);
}
