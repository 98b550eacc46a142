/*
 * Stores that may use less memory than is set aside (--memory-max, cache_memlimit). Goal: memory
 * beyond the limit belongs to no class: no set waits for it, and no class is emptied for a value
 * that does not fit under the limit; a shortage under a limit shows as one without it. Method: a
 * small limit over much memory; waits and evictions are counted.
 */
#include "store_rig.h"
#include "support/test.h"

#define SMALL_KEYS 1000u
#define WAITS_MAX  5000u

static struct rig
up_limited(size_t mebibytes, size_t limit, uint32_t cores, uint32_t value_max)
{
	struct store_config cfg = rig_config(mebibytes, cores, value_max);

	cfg.limit_bytes = limit << 20;
	return rig_up_with(&cfg);
}

static void
store_small(struct rig *r)
{
	char key[16];

	for (uint32_t i = 0; i < SMALL_KEYS; i++) {
		snprintf(key, sizeof key, "key%u", i);
		check_eq(set(r->core, key, "v"), STORE_OK);
	}
}

static uint32_t
small_there(struct rig *r)
{
	char key[16];
	uint32_t there = 0;

	for (uint32_t i = 0; i < SMALL_KEYS; i++) {
		snprintf(key, sizeof key, "key%u", i);
		there += find(r->core, key) != NULL;
	}
	return there;
}

TEST(a_value_larger_than_the_limit_costs_nobody_else_anything)
{
	static const struct {
		size_t memory, limit, later; /* MB */
		uint32_t value;              /* the same */
		enum store_result r;
	} rows[] = {
		{256, 16, 16, 64, STORE_TOO_LARGE},
		{256, 16, 16, 12, STORE_TOO_LARGE},
		{256, 256, 16, 64, STORE_TOO_LARGE},
		{256, 16, 16, 7, STORE_OK},
		{256, 16, 256, 64, STORE_OK},
		{64, 1, 1, 1, STORE_OK},
		{64, 2, 2, 1, STORE_OK},
		{64, 8, 8, 1, STORE_OK},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct rig r = up_limited(rows[i].memory, rows[i].limit, 1, 128u << 20);
		const uint32_t len = rows[i].value << 20;
		uint8_t *value = calloc(1, len);
		uint32_t waited;

		check(store_limit_mt(r.store, rows[i].later << 20));
		store_small(&r);
		check_eq(put_waiting(r.core, text("large"), (struct view){value, len}, WAITS_MAX,
				     &waited),
			 rows[i].r);
		check_eq(small_there(&r), SMALL_KEYS);
		free(value);
		rig_down(&r);
	}
}
