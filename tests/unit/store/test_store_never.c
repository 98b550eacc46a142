/*
 * A store that never evicts, and its index. Goal: the index grows while there is memory, and
 * neither its growth nor the pages it needs cost an item. Method: sizes that shift, sets that are
 * faster than the index grows, a page with no other place for its items, a resize that cannot
 * end.
 */
#include "support/test.h"
#include "store_rig.h"

#define BIG_BYTES 2000u
#define KEYS      250u /* more than the index holds once it is smaller */
#define LEFT      100u

static const uint8_t bytes[BIG_BYTES];

static struct view
key_with(char kind, uint32_t n, char *to)
{
	return (struct view){(const uint8_t *)to, (uint32_t)sprintf(to, "%c%u", kind, n)};
}

/* Stores as many values as there is memory for, many sets a turn, and returns how many. After a
 * refused set it turns and tries again. */
static uint32_t
fill_up_with(struct rig *rig, char kind, uint32_t len, uint32_t sets_a_turn)
{
	const struct view value = {bytes, len};
	char text_of_key[32];
	uint32_t n = 0, refused = 0;

	while (refused < 3000) {
		const enum store_result r =
			put(rig->core, key_with(kind, n, text_of_key), value, STORE_SET, 0);

		refused = r == STORE_OK ? 0 : refused + 1;
		n += r == STORE_OK;
		turns(rig->core, r != STORE_OK || n % sets_a_turn == 0);
	}
	return n;
}

static void
check_all_there(struct rig *rig, char kind, uint32_t from, uint32_t to)
{
	char text_of_key[32];

	for (uint32_t n = from; n < to; n++) {
		const struct view key = key_with(kind, n, text_of_key);

		check(store_get(rig->core, key, store_hash(rig->core, key)) != NULL);
	}
}

/* The index was made for few large values; then many small ones arrive, faster than it grows. */
TEST(a_store_that_never_evicts_grows_its_index_and_loses_nothing)
{
	struct store_config cfg = rig_config(32, 1, STORE_VALUE_MAX);
	char text_of_key[32];

	cfg.never_evict = true;

	struct rig rig = rig_up_with(&cfg);
	const uint32_t big = fill_up_with(&rig, 'b', BIG_BYTES, 16), gone = big / 4;

	for (uint32_t n = 0; n < gone; n++) {
		const struct view key = key_with('b', n, text_of_key);

		check_eq(store_delete(rig.core, key, store_hash(rig.core, key)), STORE_OK);
		turns(rig.core, n % 32 == 0);
	}

	const uint32_t small = fill_up_with(&rig, 's', 20, 500);

	check(slab_pool(&rig.store->slab) <= rig.store->slab.reserve);
	check(counted(rig.core, STORE_INDEX_GROWN) > 2);
	check_eq(counted(rig.core, STORE_EVICTED), 0);
	check_all_there(&rig, 'b', gone, big);
	check_all_there(&rig, 's', 0, small);
	rig_down(&rig);
}

/* The index waits for a page whose items have no other place, while sets need pages. */
TEST(a_page_for_the_index_costs_no_item_where_nothing_is_evicted)
{
	struct store_config cfg = rig_config(8, 1, STORE_VALUE_MAX);

	cfg.never_evict = true;

	struct rig rig = rig_up_with(&cfg);
	const uint32_t big = fill_up_with(&rig, 'b', BIG_BYTES, 16);

	check(slab_index_claim(&rig.store->slab));
	for (uint32_t n = 0; n < 100; n++) {
		turns(rig.core, 1);
		rebalance_evacuate(rig.core, EVACUATION_FOR_SETS, rig.store->slab.reserve);
	}
	check_eq(counted(rig.core, STORE_EVICTED), 0);
	check_all_there(&rig, 'b', 0, big);
	rig_down(&rig);
}

/* A resize that cannot end waits until it can. */
TEST(a_resize_loses_no_item_where_nothing_is_evicted)
{
	struct store_config cfg = rig_config(8, 1, STORE_VALUE_MAX);
	struct store_plan plan = store_plan_of(&cfg);
	char text_of_key[32];

	cfg.never_evict = true;
	plan.bucket_count = 2 * INDEX_BUCKETS_MIN;
	plan.bucket_step = 0;

	struct rig rig = rig_up_planned(&cfg, &plan);

	for (uint32_t n = 0; n < KEYS; n++)
		check_eq(put(rig.core, key_with('k', n, text_of_key), text("v"), STORE_SET, 0),
			 STORE_OK);
	check(resize_begin(rig.core, INDEX_BUCKETS_MIN));
	turns(rig.core, 1000);
	check_all_there(&rig, 'k', 0, KEYS);
	check_eq(index_bucket_count(&rig.store->ix), 2 * INDEX_BUCKETS_MIN);
	for (uint32_t n = LEFT; n < KEYS; n++) {
		const struct view key = key_with('k', n, text_of_key);

		check_eq(store_delete(rig.core, key, store_hash(rig.core, key)), STORE_OK);
	}
	turns(rig.core, 1000);
	check_eq(index_bucket_count(&rig.store->ix), INDEX_BUCKETS_MIN);
	check_all_there(&rig, 'k', 0, LEFT);
	check_eq(counted(rig.core, STORE_EVICTED), 0);
	rig_down(&rig);
}

/* Flushed items give their memory to the next sets: no set is refused for a minute because the
 * walk that collects them is slow. */
TEST(what_was_flushed_gives_way_where_nothing_is_evicted)
{
	struct store_config cfg = rig_config(8, 1, STORE_VALUE_MAX);
	char text_of_key[32];
	uint32_t waited;

	cfg.never_evict = true;

	struct rig rig = rig_up_with(&cfg);
	const uint32_t there = fill_up_with(&rig, 'f', 20, 500), again = there - there / 8;
	const uint64_t refused = counted(rig.core, STORE_OUT_OF_MEMORY);

	store_flush(rig.core, 0);
	for (uint32_t n = 0; n < again; n++) {
		check_eq(put_waiting(rig.core, key_with('n', n, text_of_key),
				     (struct view){bytes, 20}, 500, &waited),
			 STORE_OK);
		turns(rig.core, n % 64 == 0);
	}
	check_all_there(&rig, 'n', 0, again);
	check_eq(counted(rig.core, STORE_OUT_OF_MEMORY), refused);
	rig_down(&rig);
}

/* Collected items free whole pages, too: a value of another size waits for one. */
TEST(another_size_waits_for_what_was_flushed)
{
	struct store_config cfg = rig_config(8, 1, STORE_VALUE_MAX);
	const struct view value = {bytes, 300};
	enum store_result r = STORE_OK;
	char text_of_key[32];

	cfg.never_evict = true;

	struct rig rig = rig_up_with(&cfg);
	const uint32_t there = fill_up_with(&rig, 'f', 20, 500);

	store_flush(rig.core, 0);
	for (uint32_t n = 0; n < there && r == STORE_OK; n++) {
		r = put(rig.core, key_with('n', n, text_of_key), value, STORE_SET, 0);
		if (n % 64 == 0)
			store_turn(rig.core, rig.core->now_s);
	}
	check_eq(r, STORE_NOT_YET);
	turns(rig.core, 2000);
	check(!store_awaits_sweep(rig.store));
	rig_down(&rig);
}
