/* Our store, through store.h and in the stages of lib/serve: all buckets, all items, all answers.
 */
#include "contender.h"

#include "own_store.h"

#include <string.h>

#define BYTES_PER_ITEM 68u /* a little more than an item costs, so that none is evicted */

uint32_t own_depth = 32;
static struct own_store own;

static bool
create(struct bench_item *items, uint32_t count)
{
	own_up(&own, (size_t)count * BYTES_PER_ITEM + 32 * BENCH_MIB, CONTENDER_THREADS_MAX);
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

static void
join(uint32_t thread)
{
	store_turn(store_core_of(own.store, thread), STORE_CLOCK_START);
}

static void
leave(uint32_t thread)
{
	store_offline(store_core_of(own.store, thread));
}

static void
look_batch(struct store_core *sc, struct look *l, uint32_t from, uint32_t count)
{
	const struct item *items[OWN_BATCH_MAX];
	const struct item *it;

	store_turn(sc, STORE_CLOCK_START);
	own_get_batch(sc, &l->keys[from], count, items);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t word;

		it = items[i];
		if (it == NULL)
			continue;
		l->hits++;
		if (l->touch) {
			memcpy(&word, store_value_at(sc, it, 0).data, sizeof word);
			l->sum += word;
		}
	}
}

static void
look(uint32_t thread, struct look *l)
{
	struct store_core *sc = store_core_of(own.store, thread);

	for (uint32_t at = 0; at < l->count; at += own_depth)
		look_batch(sc, l, at, l->count - at < own_depth ? l->count - at : own_depth);
}

const struct contender contend_own = {
	.name = "clockoo",
	.create = create,
	.insert = insert,
	.join = join,
	.leave = leave,
	.look = look,
};
