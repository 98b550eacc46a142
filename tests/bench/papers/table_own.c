/*
 * table_own.c - clockoo's store as a table of MemC3's section 5.2: key by key, or many in one
 * call, as in a turn of the product.
 *
 * An insert is a whole set: it takes memory, copies the key and the value, and enters the index.
 */
#include "paper_item.h"
#include "paper_table.h"

#include "own_store.h"
#include "../../support/store_calls.h"

#include <stdlib.h>

#define TURN_EVERY 32u /* keys, if they are requested one by one */
#define MANY       128u
#define WAITS_MAX  10000u /* own_put itself waits some thousand times in each */

static void *
create(const struct table_need *need)
{
	struct own_store *o = calloc(1, sizeof *o);

	ensure(o != NULL);
	own_create_slots(o, need->slots, need->threads);
	paper_populate(o->memory, o->bytes);
	return o;
}

static void
destroy(void *table)
{
	own_destroy(table);
	free(table);
}

/* True while no item was evicted for want of a slot. */
static bool
all_found_room(const struct store_core *sc)
{
	return counter_read(&store_counters(sc)[STORE_EVICTED_INDEX_FULL]) == 0;
}

static void
put(struct store_core *sc, const struct bench_key *k, uint64_t hash, uint64_t number)
{
	enum store_result r = STORE_NOT_YET;

	/* The set may wait for the other thread's turn, which comes when the machine runs that
	 * thread. */
	for (uint32_t i = 0; i < WAITS_MAX && r == STORE_NOT_YET; i++)
		r = own_put(sc, own_key(k), hash, &number, sizeof number);
	ensure(r == STORE_OK);
}

static bool
insert(void *table, uint32_t thread, uint64_t number)
{
	struct own_store *o = table;
	struct store_core *sc = store_core_of(o->store, thread);
	const struct bench_key k = bench_key_of(number);

	if (number % OWN_TURN_EVERY == 0)
		store_turn(sc, STORE_CLOCK_START);
	put(sc, &k, store_hash(sc, own_key(&k)), number);
	return all_found_room(sc);
}

/* Sets the keys of a turn. All buckets are prefetched before the first set, as in lib/serve. */
static void
turn_of_sets(struct store_core *sc, uint64_t first, uint32_t count)
{
	struct bench_key keys[OWN_TURN_EVERY];
	struct probe probes[OWN_TURN_EVERY];
	uint64_t hashes[OWN_TURN_EVERY];

	for (uint32_t i = 0; i < count; i++) {
		keys[i] = bench_key_of(first + i);
		hashes[i] = store_probe(sc, &probes[i], own_key(&keys[i]));
	}
	for (uint32_t i = 0; i < count; i++)
		if (store_probe_primary_to_write(sc, &probes[i]))
			store_probe_alternate(sc, &probes[i]);
	for (uint32_t i = 0; i < count; i++)
		put(sc, &keys[i], hashes[i], first + i);
	store_turn(sc, STORE_CLOCK_START);
}

bool
own_insert_many(void *table, uint32_t thread, uint64_t first, uint32_t count)
{
	struct own_store *o = table;
	struct store_core *sc = store_core_of(o->store, thread);

	for (uint32_t at = 0; at < count; at += OWN_TURN_EVERY)
		turn_of_sets(sc, first + at,
			     count - at < OWN_TURN_EVERY ? count - at : OWN_TURN_EVERY);
	return all_found_room(sc);
}

static void
set(void *table, uint32_t thread, uint64_t number)
{
	ensure(insert(table, thread, number));
}

static void
erase(void *table, uint32_t thread, uint64_t number)
{
	struct own_store *o = table;
	struct store_core *sc = store_core_of(o->store, thread);
	const struct bench_key k = bench_key_of(number);

	if (number % OWN_TURN_EVERY == 0)
		store_turn(sc, STORE_CLOCK_START);
	ensure(store_delete(sc, own_key(&k), store_hash(sc, own_key(&k))) == STORE_OK);
}

static struct table_state
state(const void *table, uint64_t items)
{
	const struct own_store *o = table;
	struct store_usage usage;

	store_usage_mt(o->store, &usage);
	return (struct table_state){.bytes = usage.index_bytes,
				    .slots = usage.index_slots,
				    .moves = own_counted(o, STORE_MOVES),
				    .longest = BUCKET_SLOTS};
}

static void
join(void *table, uint32_t thread)
{
	const struct own_store *o = table;

	store_turn(store_core_of(o->store, thread), STORE_CLOCK_START);
}

static void
leave(void *table, uint32_t thread)
{
	const struct own_store *o = table;

	store_offline(store_core_of(o->store, thread));
}

static inline uint64_t
number_of(const struct store_core *sc, const struct item *it)
{
	uint64_t number = PAPER_ABSENT;

	if (it != NULL)
		memcpy(&number, store_value_at(sc, it, 0).data, sizeof number);
	return number;
}

void
own_single(void *table, uint32_t thread, const struct bench_key *keys, uint32_t count,
	   uint64_t *found)
{
	const struct own_store *o = table;
	struct store_core *sc = store_core_of(o->store, thread);

	for (uint32_t i = 0; i < count; i++) {
		const struct view key = own_key(&keys[i]);

		if (i % TURN_EVERY == 0)
			store_turn(sc, STORE_CLOCK_START);
		found[i] = number_of(sc, store_get(sc, key, store_hash(sc, key)));
	}
}

static void
get_many(struct store_core *sc, const struct bench_key *keys, uint32_t count, uint64_t *found)
{
	const struct item *items[MANY];
	struct view views[MANY];

	for (uint32_t i = 0; i < count; i++)
		views[i] = own_key(&keys[i]);
	store_turn(sc, STORE_CLOCK_START);
	store_gets(sc, views, count, items);
	for (uint32_t i = 0; i < count; i++)
		found[i] = number_of(sc, items[i]);
}

void
own_many(void *table, uint32_t thread, const struct bench_key *keys, uint32_t count,
	 uint64_t *found)
{
	const struct own_store *o = table;
	struct store_core *sc = store_core_of(o->store, thread);

	for (uint32_t at = 0; at < count; at += MANY)
		get_many(sc, &keys[at], count - at < MANY ? count - at : MANY, &found[at]);
}

const struct table_kind table_own = {create, destroy, insert, set, erase, state, join, leave};
