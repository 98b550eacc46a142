/*
 * What lies in the arena. Goal: its head says which layout, sizes and seed it was written with;
 * what follows means the same at any other address. Method: read the stamp field by field; move all
 * bytes elsewhere, spoil the old ones, and find every item again.
 */
#include "support/test.h"
#include "store_rig.h"

#define ITEMS     3000u
#define VALUE_MAX 300000u

static uint8_t bytes[VALUE_MAX + ITEMS];

static struct view
value_of(uint32_t i)
{
	const uint32_t len = i % 100 == 0 ? VALUE_MAX - i : i % 700;

	return (struct view){bytes + i, len};
}

static void
the_arena_header_describes_the_arena(void **state)
{
	struct rig rig = rig_up(8, 1);
	struct arena_header header;

	memcpy(&header, rig.store->arena.base, sizeof header);
	check_bytes(&header.magic, "clockoo", 8);
	check_eq(header.layout_version, ARENA_LAYOUT_VERSION);
	check_eq(header.header_bytes, 40);
	check_eq(header.shift, 3);
	check_eq(header.page_shift, SLAB_PAGE_SHIFT_MIN);
	check_eq(header.page_count, rig.store->arena.page_count);
	check_eq(header.bucket_count, index_bucket_count(&rig.store->ix));
	check_eq(header.seed, 0x5eed);
	rig_down(&rig);
}

/* Whoever changes one of these makes a new version of the layout. */
static void
version_three_of_the_layout_is_this(void **state)
{
	check_eq(ARENA_LAYOUT_VERSION, 3);
	check_eq(ITEM_REFERENCE_STAMP, 0x3ffu << 18);
	check_eq(ITEM_LEN_MAX, 1023);
	check_eq(sizeof(struct bucket), 64);
	check_eq(offsetof(struct bucket, ref), 24);
	check_eq(ARENA_LEAD_BYTES, 64);
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

static void
items_mean_the_same_at_another_address(void **state)
{
	struct rig rig = rig_up(32, 1);
	struct arena *a = &rig.store->arena;
	const size_t size = arena_bytes(a->page_count, a->page_shift);
	uint8_t *elsewhere = aligned_alloc(4096, align_up(size, 4096));
	char key[24];

	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 2654435761u >> 24);
	for (uint32_t i = 0; i < ITEMS; i++) {
		snprintf(key, sizeof key, "key%u", i);
		check_eq(put(rig.core, text(key), value_of(i), STORE_SET, 0), STORE_OK);
		turns(rig.core, i % 16 == 0);
	}
	memcpy(elsewhere, a->base, size);
	memset(a->base, 0xa5, size);
	a->base = elsewhere;
	rig.store->ix.buckets = (struct bucket *)(void *)arena_page(a, 0);
	for (uint32_t i = 0; i < ITEMS; i++) {
		snprintf(key, sizeof key, "key%u", i);
		check(value_is(rig.core, find(rig.core, key), value_of(i)));
	}
	/* And it goes on from there. */
	for (uint32_t i = 0; i < ITEMS; i++) {
		snprintf(key, sizeof key, "key%u", i);
		check_eq(put(rig.core, text(key), value_of(i / 2), STORE_SET, 0), STORE_OK);
		check(value_is(rig.core, find(rig.core, key), value_of(i / 2)));
		turns(rig.core, i % 16 == 0);
	}
	free(elsewhere);
	rig_down(&rig);
}

/* As it is planned: nobody has the memory to make it here. */
static void
the_largest_store_names_its_last_page(void **state)
{
	const struct store_config cfg = rig_config(STORE_MEMORY_MAX >> 20, 1, STORE_VALUE_MAX);
	const struct store_plan plan = store_plan_of(&cfg);
	const size_t bytes_of_pages = (size_t)plan.page_count << plan.page_shift;
	const struct arena a = {.shift = arena_shift_for(bytes_of_pages),
				.page_shift = plan.page_shift,
				.page_count = plan.page_count};
	const size_t last = bytes_of_pages - SLAB_OBJECT_MIN;

	check(bytes_of_pages <= ARENA_BYTES_MAX);
	check_eq(arena_offset(&a, arena_ref_of_offset(&a, last)), last);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_arena_header_describes_the_arena),
		cmocka_unit_test(the_largest_store_names_its_last_page),
		cmocka_unit_test(version_three_of_the_layout_is_this),
		cmocka_unit_test(items_mean_the_same_at_another_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
