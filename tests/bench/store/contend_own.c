/* clockoo's store through store.h, in the stages of lib/serve. */
#include "contender.h"

#include "own_store.h"

#include <string.h>

#define BYTES_PER_ITEM 68u /* a little more than an item costs, so that no item is evicted */
#define SETTLE_S       190u /* a pass of the sweep that has begun, and two that renew overflow bits */
#define SETTLE_TURNS   1000u /* in a second */

uint32_t own_depth = 32;
static struct own_store own;
static uint32_t now_s = STORE_CLOCK_START;

static bool
create(struct bench_item *items, uint32_t count)
{
	own_create(&own, (size_t)count * BYTES_PER_ITEM + 32 * BENCH_MIB, CONTENDER_THREADS_MAX);
	return true;
}

static void
insert(struct bench_item *item)
{
	struct store_core *sc = store_core_of(own.store, 0);
	const struct view key = own_key(&item->key);

	own_turn(&own, sc);
	ensure(own_put(sc, key, store_hash(sc, key), item->value, BENCH_VALUE_BYTES) == STORE_OK);
}

/* Turns the store until the sweep is done. The sweep follows the clock, which stands still while
 * the table is filled. */
static void
settle(void)
{
	struct store_core *sc = store_core_of(own.store, 0);

	for (uint32_t i = 0; i < SETTLE_S * SETTLE_TURNS; i++) {
		now_s += i % SETTLE_TURNS == 0;
		store_turn(sc, now_s);
		store_housekeeping(sc);
	}
	store_offline(sc);
}

static void
join(uint32_t thread)
{
	store_turn(store_core_of(own.store, thread), now_s);
}

static void
leave(uint32_t thread)
{
	store_offline(store_core_of(own.store, thread));
}

static inline void
lookup_part(struct store_core *sc, struct lookup_batch *l, uint32_t from, uint32_t count)
{
	const struct item *items[OWN_BATCH_MAX];

	store_turn(sc, now_s);
	own_get_batch(sc, &l->keys[from], count, items);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t word;

		if (items[i] == NULL)
			continue;
		l->hits++;
		if (l->touch) {
			memcpy(&word, store_value_at(sc, items[i], 0).data, sizeof word);
			l->sum += word;
		}
	}
}

static void
lookup(uint32_t thread, struct lookup_batch *l)
{
	struct store_core *sc = store_core_of(own.store, thread);

	for (uint32_t at = 0; at < l->count; at += own_depth)
		lookup_part(sc, l, at, l->count - at < own_depth ? l->count - at : own_depth);
}

const struct contender contend_own = {
	.name = "clockoo stages",
	.create = create,
	.insert = insert,
	.settle = settle,
	.join = join,
	.leave = leave,
	.lookup = lookup,
};
