/*
 * weak_walks.c - a walk over all items beside moves.
 *
 * Goal:   a key that stays cached is shown exactly once.
 * Method: weak.h.
 */
#include "weak_setup.h"
#include "index/relocate.h"
#include "index/walk.h"
#include "store/introspect.h"

#include <string.h>

#define BATCH 16u
#define NOW   1000u /* far from the places' first second, 0 */

static uint32_t shown;

static void
move(uint32_t core, uint64_t key)
{
	const struct index *ix = &setup_store->ix;
	const struct place p = index_lock(ix, setup_hash(key));
	const struct spot s = index_spot_of_key(ix, &p, setup_view(&key));
	struct bucket *primary = index_bucket(ix, p.primary);
	struct bucket *to = s.bucket == primary ? index_bucket(ix, p.alternate) : primary;

	if (walks_let_move(&setup_core(core)->ic, bucket_ref(s.bucket, s.slot)))
		bucket_move(s.bucket, s.slot, to, bucket_empty_slot(to));
	index_unlock(ix, &p);
}

static void
begin_primary(void)
{
	setup_two_keys();
	for (uint32_t core = 0; core < 2; core++)
		store_turn(setup_core(core), NOW);
	shown = 0;
}

static void
begin_displaced(void)
{
	begin_primary();
	move(0, setup_key_a);
}

static void
walk(void)
{
	struct walk_cursor cursor = {0};

	shown = 0;
	while (!cursor.done) {
		const struct item *items[BATCH];
		const uint32_t n =
			store_walk(setup_core(0), &cursor, STORE_ALL_CLASSES, items, BATCH);

		for (uint32_t i = 0; i < n; i++)
			shown += memcmp(item_key(items[i]).data, &setup_key_a,
					sizeof setup_key_a) == 0;
	}
}

static void
move_a(void)
{
	move(1, setup_key_a);
}

static void
end_shown(void)
{
	weak_check(shown == 1, "a walk shows a key twice, or not at all");
}

static void
expire_walks(void)
{
	walks_expire(&setup_store->walks, NOW + 1);
	move(1, setup_key_a);
}

static const struct weak_case cases[] = {
	{"walk-move", begin_primary, {walk, move_a}, end_shown, 1, 1},
	{"walk-return", begin_displaced, {walk, move_a}, end_shown, 1, 1},
	{"walk-expire", begin_primary, {walk, expire_walks}, end_shown, 1, 1},
};
const struct weak_protocol weak_walks = WEAK_PROTOCOL("walks", cases);
