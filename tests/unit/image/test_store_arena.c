/*
 * The layout of an image. Goal: its header states which layout, sizes and seed it was written
 * with; the bytes after it mean the same at any other address. Method: read the header field by
 * field; move all bytes elsewhere, overwrite the old ones, and find every item again.
 */
#include "support/test.h"
#include "../store/store_rig.h"
#include "image/image.h"

#include <sys/mman.h>

#define ITEMS     3000u
#define VALUE_MAX 300000u

static uint8_t bytes[VALUE_MAX + ITEMS];

static struct view
value_of(uint32_t i)
{
	const uint32_t len = i % 100 == 0 ? VALUE_MAX - i : i % 700;

	return (struct view){bytes + i, len};
}

TEST(the_header_describes_the_image)
{
	struct rig rig = rig_up(8, 1);
	const struct image_header *header =
		(const void *)((const uint8_t *)rig.store - IMAGE_STORE_AT);

	check_bytes((const void *)&header->magic, "clockoo", 8);
	check_eq(header->layout, STORE_IMAGE_LAYOUT);
	check_eq(header->header_bytes, sizeof *header);
	check_eq(header->memory_bytes, 8 << 20);
	check_eq(header->shift, 3);
	check_eq(header->page_shift, SLAB_PAGE_SHIFT_MIN);
	check_eq(header->page_count, rig.store->arena.page_count);
	check_eq(header->seed, 0x5eed);
	rig_down(&rig);
}

/* A change of one of these numbers makes a new version of the layout. */
TEST(version_six_of_the_layout_is_this)
{
	check_eq(STORE_IMAGE_LAYOUT, 6);
	check_eq(STORE_KEPT_BYTES, 88);
	check_eq(IMAGE_STORE_AT, 12288);
	check_eq(IMAGE_STORE_BYTES, 40960);
	check_eq(IMAGE_RECORD_BYTES, 12288);
	check_eq(FLOORS, 1024);
	check_eq(sizeof(struct page), 112);
	check_eq(offsetof(struct page, class), 76);
	check_eq(SLAB_OBJECT_MIN, 32);
	check_eq(ITEM_REFERENCE_STAMP, 0x3ffu << 18);
	check_eq(ITEM_LEN_MAX, 1023);
	check_eq(sizeof(struct bucket), 64);
	check_eq(offsetof(struct bucket, ref), 24);
	check_eq(offsetof(struct item, cas_form), 4);
	check_eq(offsetof(struct item, body), 8);
	check_eq(ITEM_HAS_FLAGS | ITEM_HAS_EXPIRY << 4 | ITEM_HAS_LONG << 8 | ITEM_IS_CHUNKED << 12,
		 0x8421);
	check_eq(ITEM_FETCHED >> 28 | ITEM_WON >> 24 | ITEM_STALE >> 20 | ITEM_BINARY_KEY >> 16,
		 0x8421);
	check_eq(sizeof(struct item_long), 16);
	check_eq(offsetof(struct item_chunk, owner), 4);
	check_eq(ITEM_CHUNK_PAYLOAD, 65528);
}

/* The parts of an image follow each other, and the pages end where it does. */
TEST(no_part_of_an_image_lies_in_another)
{
	static const struct {
		size_t mebibytes, limit;
	} rows[] = {{8, 0},      {9, 0},     {64, 0},    {513, 0},    {513, 64},
		    {4096, 100}, {65536, 0}, {65537, 0}, {128000, 0}, {1048576, 0}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct store_config cfg = rig_config(rows[i].mebibytes, 1, STORE_VALUE_MAX);

		cfg.limit_bytes = rows[i].limit << 20;

		const struct store_plan plan = store_plan_of(&cfg);
		const struct image_parts p = image_parts_of(cfg.memory_bytes, plan.page_count,
							    plan.page_shift, plan.shift);
		const size_t page = (size_t)1 << plan.page_shift;

		check(p.floors >= IMAGE_STORE_AT + sizeof(struct store));
		check(p.record >= p.floors + FLOORS * 8);
		check(p.reciprocals >= p.record + IMAGE_RECORD_BYTES);
		check(p.page_table >= p.reciprocals + plan.page_count * 8ul);
		check(p.states >= p.page_table + plan.page_count * sizeof(struct page));
		check(p.ghosts >=
		      p.states + plan.page_count * (page / 32 / slab_object_min(plan.shift)) * 8);
		check(p.pages >= p.ghosts + plan.ghost_groups * sizeof(struct ghost_group));
		check_eq(p.pages % page, 0);
		check(p.pages + plan.page_count * page <= cfg.memory_bytes);
		check(p.pages + plan.page_count * page + page > cfg.memory_bytes);
	}
}

static void
put_items(struct store_core *sc, uint32_t part)
{
	char key[24];

	for (uint32_t i = 0; i < ITEMS; i++) {
		snprintf(key, sizeof key, "key%u", i);
		check_eq(put(sc, text(key), value_of(i / part), STORE_SET, 0), STORE_OK);
		turns(sc, i % 16 == 0);
	}
}

static void
find_items(struct store_core *sc, uint32_t part)
{
	char key[24];

	for (uint32_t i = 0; i < ITEMS; i++) {
		snprintf(key, sizeof key, "key%u", i);
		check(value_is(sc, find(sc, key), value_of(i / part)));
	}
}

/* A later process maps the image elsewhere: all private memory of this process is overwritten. */
TEST(an_image_means_the_same_at_another_address)
{
	const struct store_config cfg = rig_config(32, 1, STORE_VALUE_MAX);
	struct store_config later = cfg;
	struct rig rig = rig_up_with(&cfg);
	struct region region = {.size = store_private_bytes(&cfg)};
	uint8_t *elsewhere = aligned_alloc(4096, cfg.memory_bytes + 4096);
	uint8_t *image = elsewhere + 4096, *old = (uint8_t *)rig.store - IMAGE_STORE_AT;
	void *beside = aligned_alloc(64, align_up(region.size, 64));
	struct store *st;

	put_items(rig.core, 1);
	memcpy(image, old, cfg.memory_bytes);
	memset(rig.memory, 0xa5, store_bytes(&cfg));
	memset(image + IMAGE_STORE_AT + STORE_KEPT_BYTES, 0xa5,
	       IMAGE_STORE_BYTES - STORE_KEPT_BYTES);
	region.base = beside;
	later.seed = 77; /* the image's seed counts */

	const struct store_plan plan = store_plan_of(&later);

	st = image_bind(&region, image, &later, &plan);
	find_items(store_core_of(st, 0), 1);
	free(beside);
	free(elsewhere);
	rig_down(&rig);
}

static uint64_t
first_cas(struct store_core *sc)
{
	return item_cas(find(sc, "key0"));
}

/* An empty store over these bytes takes items and finds them. */
static void
store_and_find(void *image, const struct store_config *cfg)
{
	struct region region = {.size = store_private_bytes(cfg)};
	uint64_t last_cas = cfg->cas_start;
	struct store_core *sc;

	region.base = aligned_alloc(64, align_up(region.size, 64));
	sc = store_core_of(store_create_in(&region, image, cfg), 0);
	store_turn(sc, STORE_CLOCK_START);
	for (uint32_t round = 1; round <= 2; round++) {
		put_items(sc, round);
		find_items(sc, round);
		check(first_cas(sc) > last_cas);
		last_cas = first_cas(sc);
	}
	check(last_cas > 0 && last_cas < (uint64_t)cfg->cas_start + 100000);
	free(region.base);
}

/* The previous contents of a new store's memory do not matter. */
TEST(an_empty_store_is_made_of_any_bytes)
{
	struct store_config cfg = rig_config(32, 1, STORE_VALUE_MAX);
	uint8_t *image = aligned_alloc(4096, cfg.memory_bytes);

	memset(image, 0xa5, cfg.memory_bytes);
	for (cfg.cas_start = 0; cfg.cas_start <= STORE_CAS_START_MAX;
	     cfg.cas_start += STORE_CAS_START_MAX)
		store_and_find(image, &cfg);
	free(image);
}

/* Bytes of a reference's granule by memory size. An item is rounded up to granules. */
TEST(granules_are_of_eight_bytes_up_to_32_gib)
{
	static const struct {
		uint64_t mebibytes;
		uint32_t shift;
	} rows[] = {{8, 3},      {32768, 3},  {32769, 4},  {65536, 4},  {65537, 5},  {128000, 5},
		    {131072, 5}, {131073, 6}, {262145, 7}, {524289, 8}, {1048576, 8}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct store_config cfg = rig_config(rows[i].mebibytes, 1, STORE_VALUE_MAX);
		const struct store_plan plan = store_plan_of(&cfg);
		const size_t pages = (size_t)plan.page_count << plan.page_shift;

		check_eq(plan.shift, rows[i].shift);
		check(pages <= (size_t)1 << (32 + plan.shift));
		check(pages >= cfg.memory_bytes / 100 * 96);
	}
}

TEST(a_store_of_any_size_starts_and_stores)
{
	static const uint64_t mebibytes[] = {32,     511,    512,    32768,  32769,   65536,  65537,
					     128000, 131073, 262145, 524289, 1048575, 1048576};

	for (size_t i = 0; i < sizeof mebibytes / sizeof *mebibytes; i++) {
		const struct store_config cfg = rig_config(mebibytes[i], 1, STORE_VALUE_MAX);
		void *image = mmap(NULL, cfg.memory_bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		check(image != MAP_FAILED);
		store_and_find(image, &cfg);
		munmap(image, cfg.memory_bytes);
	}
}

int
main(void)
{
	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 2654435761u >> 24);
	return tests_run(NULL, NULL);
}
