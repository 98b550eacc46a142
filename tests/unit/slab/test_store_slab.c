/*
 * The slab allocator alone. Goal: objects are as large as requested, are in the arena, never
 * overlap, have bits of their own in the bitmaps, and are freed again; with granules of 8 and of
 * 16 bytes. Method: take all objects, mark the bytes taken, free them; every class in turn.
 */
#include "support/test.h"
#include "slab/hand.h"

#include <stdlib.h>

#define PAGES  4u
#define SHIFTS (ARENA_SHIFT_MAX - ARENA_SHIFT_MIN + 1) /* of granules */

struct slab_rig {
	struct arena arena;
	struct slab slab;
	struct magazine magazines[SLAB_CLASSES_MAX];
	uint8_t *taken; /* one byte a granule */
	uint32_t refs[PAGES << (SLAB_PAGE_SHIFT_MAX - 5)];
	void *memory;
};

static struct slab_rig *
slab_rig_of(uint32_t arena_shift, uint32_t page_shift, uint32_t all)
{
	struct slab_rig *y = calloc(1, sizeof *y);
	struct region region = {.size = (size_t)(all + 1 + all / 64) << page_shift};
	struct slab_tables tables;

	y->memory = region.base = aligned_alloc(4096, region.size);
	y->arena = arena_of(region_take(&region, (size_t)all << page_shift, 64), all, page_shift,
			    arena_shift);
	tables.pages = region_take(&region, all * sizeof *tables.pages, 64);
	tables.reciprocal = region_take(&region, all * sizeof *tables.reciprocal, 64);
	tables.states = region_take(
		&region, all * (slab_bytes_per_page(page_shift, arena_shift) - sizeof(struct page)),
		64);
	slab_init(&y->slab, &tables, &y->arena, 0);
	slab_fill_pool(&y->slab);
	check(slab_index_claim(&y->slab)); /* the first page, whose reference 0 is invalid */
	y->taken = calloc(all + 1, (size_t)1 << page_shift >> arena_shift);
	return y;
}

static struct slab_rig *
slab_rig_up(uint32_t arena_shift, uint32_t page_shift)
{
	return slab_rig_of(arena_shift, page_shift, PAGES + 1);
}

static void
slab_rig_down(struct slab_rig *y)
{
	free(y->taken);
	free(y->memory);
	free(y);
}

static void
take_object(struct slab_rig *y, uint32_t class, uint32_t ref, uint32_t number)
{
	const uint32_t size = y->slab.classes[class].size;
	check((const uint8_t *)arena_at(&y->arena, ref) + size <= arena_page(&y->arena, PAGES + 1));
	check_eq(size % (1u << y->arena.shift), 0);
	for (uint32_t g = 0; g < size >> y->arena.shift; g++) {
		check_eq(y->taken[ref + g], 0);
		y->taken[ref + g] = 1;
	}
	check_eq(slab_state(&y->slab, ref), OBJECT_OUT);
	slab_set_live(&y->slab, ref, OBJECT_KEPT);
	y->refs[number] = ref;
}

static void
take_all_and_give_back(struct slab_rig *y, uint32_t class)
{
	const uint32_t per_page = y->slab.classes[class].per_page;
	uint32_t count = 0, ref;

	while ((ref = slab_alloc(&y->slab, y->magazines, class, 0)) != 0)
		take_object(y, class, ref, count++);
	check_eq(count, PAGES * per_page);
	check_eq(y->slab.pool_count, 0);
	for (uint32_t i = 0; i < count; i++) {
		/* Objects are freed from both ends, so that the lists are not in
		 * the order of the page. */
		ref = y->refs[i % 2 ? i / 2 : count - 1 - i / 2];
		slab_clear_live(&y->slab, ref);
		slab_free(&y->slab, y->magazines, ref);
	}
	slab_empty_magazines(&y->slab, y->magazines);
	check_eq(y->slab.pool_count, PAGES);
	check_eq(y->slab.classes[class].free_count, 0);
	memset(y->taken, 0, (size_t)(PAGES + 1) << y->arena.page_shift >> y->arena.shift);
}

TEST(objects_of_every_class_are_whole_and_apart)
{
	static const struct {
		uint32_t arena_shift, page_shift;
	} rows[] = {{3, SLAB_PAGE_SHIFT_MIN},
		    {4, SLAB_PAGE_SHIFT_MIN},
		    {3, SLAB_PAGE_SHIFT_MAX},
		    {4, SLAB_PAGE_SHIFT_MAX}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct slab_rig *y = slab_rig_up(rows[i].arena_shift, rows[i].page_shift);
		const uint32_t step = rows[i].page_shift == SLAB_PAGE_SHIFT_MAX ? 9 : 1;

		for (uint32_t class = 0; class < y->slab.class_count; class += step)
			take_all_and_give_back(y, class);
		slab_rig_down(y);
	}
}

TEST(every_size_gets_the_smallest_class_that_holds_it)
{
	static const struct {
		uint32_t page_shift, pages;
		uint32_t coarse; /* from this size on a sixth may be lost */
		uint32_t whole;  /* from this one on, the rest of a page */
		uint32_t classes;
	} rows[] = {{SLAB_PAGE_SHIFT_MAX, PAGES, 0, SLAB_OBJECT_MAX, 65},
		    {SLAB_PAGE_SHIFT_MIN, SLAB_FINE_PAGES - 1, 0, 3072, 62},
		    {SLAB_PAGE_SHIFT_MIN, SLAB_FINE_PAGES, SLAB_COARSE * 15 / 16, 3072, 86}};

	for (uint32_t i = 0; i < SHIFTS * sizeof rows / sizeof rows[0]; i++) {
		const uint32_t shift = ARENA_SHIFT_MIN + i % SHIFTS;
		const uint32_t coarse = rows[i / SHIFTS].coarse;
		struct slab_rig *y =
			slab_rig_of(shift, rows[i / SHIFTS].page_shift, rows[i / SHIFTS].pages);

		for (uint32_t bytes = 1; bytes <= SLAB_OBJECT_MAX; bytes++) {
			const uint32_t class = slab_class_for(&y->slab, bytes);
			const uint32_t share = bytes < coarse ? 12 : 6;

			check(y->slab.classes[class].size >= bytes);
			check(class == 0 || y->slab.classes[class - 1].size < bytes);
			/* At most eight bytes, or that share, are lost. */
			check(bytes <= slab_object_min(shift) || bytes >= rows[i / SHIFTS].whole ||
			      y->slab.classes[class].size - bytes <=
				      (8u << (shift - 3)) + bytes / share);
		}
		check(y->slab.class_count <= rows[i / SHIFTS].classes);
		slab_rig_down(y);
	}
}

TEST(the_clock_hand_passes_over_what_was_referenced)
{
	struct slab_rig *y = slab_rig_up(3, SLAB_PAGE_SHIFT_MIN);
	const uint32_t class = slab_class_for(&y->slab, 4096);
	uint32_t refs[8 + OBJECTS_PER_LOOK], used = 0, unused = 0, ref;

	for (uint32_t n = 0; (ref = slab_alloc(&y->slab, y->magazines, class, 0)) != 0; n++) {
		take_object(y, class, ref, n);
		if (n % 3 == 0)
			slab_set_referenced(&y->slab, ref);
	}
	for (uint32_t page = 0; page < PAGES; page++) {
		const uint32_t found = hand_clock(&y->slab, y->magazines, class, false, refs, 1);

		for (uint32_t i = 0; i < found; i++) {
			used += slab_is_referenced(&y->slab, refs[i]);
			unused++;
		}
	}
	check_eq(used, 0);
	check(unused >= PAGES * y->slab.classes[class].per_page * 2 / 3);
	check(unused < PAGES * y->slab.classes[class].per_page * 2 / 3 + PAGES);
	/* In the second round their bits are cleared, so they are found. */
	check_eq(hand_clock(&y->slab, y->magazines, class, false, refs, 1),
		 y->slab.classes[class].per_page);
	slab_rig_down(y);
}

/* The pool has eight pages, so a quarter is two; fills are begun on all but the last. */
TEST(pages_that_wait_for_fills_are_not_counted_as_coming)
{
	enum { EVACUATED = 4, LAST = EVACUATED - 1, EPOCH = 100, LATER = EPOCH + 1000 };
	struct slab_rig *y = slab_rig_of(3, SLAB_PAGE_SHIFT_MIN, 8);
	struct slab *sl = &y->slab;
	struct page *pages = sl->pages + 1;

	for (uint32_t i = 0; i < EVACUATED; i++) {
		pages[i].state = PAGE_EVACUATING;
		slab_page_walked(sl, &pages[i], EPOCH);
	}
	sl->evacuating_count = EVACUATED;
	slab_page_walked(sl, &pages[0], EPOCH + 1); /* objects on retire lists will be free */
	check_eq(slab_coming(sl), EVACUATED);
	pages[LAST].walk_found = true;
	for (uint32_t round = 0; round < 2; round++) {
		slab_page_walked(sl, &pages[0], LATER);
		check_eq(slab_coming(sl), EVACUATED - 1);
		check_eq(sl->waiting_count, 1);
	}
	for (uint32_t i = 1; i < EVACUATED; i++)
		slab_page_walked(sl, &pages[i], LATER);
	check_eq(sl->waiting_count, LAST); /* not the one with live objects */
	check_eq(slab_coming(sl), EVACUATED - 2);
	for (uint32_t i = 0; i < EVACUATED; i++)
		slab_page_waits_no_more(sl, &pages[i]);
	check_eq(sl->waiting_count, 0);
	check_eq(slab_coming(sl), EVACUATED);
	slab_rig_down(y);
}
