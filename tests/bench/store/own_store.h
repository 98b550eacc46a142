/*
 * own_store.h - clockoo's store in memory of its own, with its operations as one call each.
 *
 * Thread: one thread a core.
 */
#ifndef CLOCKOO_OWN_STORE_H
#define CLOCKOO_OWN_STORE_H

#include "bench_load.h"

#include "store/rebalance.h"
#include "image/store_image.h"
#include "image/store_plan.h"

#include <sched.h>

#define OWN_TURN_EVERY 32u /* operations between two turns of a busy core */
#define OWN_BATCH_MAX  256u
#define OWN_WAITS_MAX  4096u

struct own_store {
	void *memory;
	size_t bytes;
	struct store *store;
	uint64_t operations;
	uint32_t turn_every; /* operations between two turns */
};

static inline void
own_destroy(struct own_store *o)
{
	bench_unmap(o->memory, o->bytes);
}

static inline void
own_create_for(struct own_store *o, const struct store_config *cfg)
{
	struct region r = {.size = store_bytes(cfg)};

	*o = (struct own_store){
		.memory = bench_map(r.size), .bytes = r.size, .turn_every = OWN_TURN_EVERY};
	r.base = o->memory;
	o->store = store_create(&r, cfg);
}

static inline void
own_create(struct own_store *o, size_t memory_bytes, uint32_t cores)
{
	const struct store_config cfg = {.memory_bytes = memory_bytes,
					 .cores = cores,
					 .value_max = STORE_VALUE_MAX,
					 .seed = 42};

	own_create_for(o, &cfg);
}

/* Creates a store with an index of this many slots, and pages for as many items of the smallest
 * kind. */
static inline void
own_create_slots(struct own_store *o, uint64_t slots, uint32_t cores)
{
	const uint64_t bytes_per_item = 64;
	const struct store_config cfg = {
		.memory_bytes = slots * (bytes_per_item + sizeof(struct bucket) / BUCKET_SLOTS) +
				64 * BENCH_MIB,
		.cores = cores,
		.value_max = STORE_VALUE_MAX,
		.seed = 42};
	struct store_plan plan = store_plan_of(&cfg);
	struct region r = {.size = store_bytes(&cfg)};

	plan.bucket_count = (uint32_t)(slots / BUCKET_SLOTS) & ~1u;
	plan.bucket_step = 0;
	*o = (struct own_store){
		.memory = bench_map(r.size), .bytes = r.size, .turn_every = OWN_TURN_EVERY};
	r.base = o->memory;
	o->store = store_create_planned(&r, &cfg, &plan);
}

static inline struct view
own_key(const struct bench_key *k)
{
	return (struct view){(const uint8_t *)k, sizeof *k};
}

static inline enum store_result
own_put_once(struct store_core *sc, struct view key, uint64_t hash, const void *value, uint32_t len)
{
	struct fill f;
	const enum store_result r = store_begin(sc, &f, key, hash, len, 0, 0);

	if (r != STORE_OK)
		return r;
	store_fill(sc, &f, value, len);
	return store_finish(sc, &f, STORE_SET, 0);
}

/* Puts an item, with as many turns as it takes until there is memory, as lib/serve waits. */
static inline enum store_result
own_put(struct store_core *sc, struct view key, uint64_t hash, const void *value, uint32_t len)
{
	enum store_result r = own_put_once(sc, key, hash, value, len);

	for (uint32_t i = 0; i < OWN_WAITS_MAX && r == STORE_NOT_YET; i++) {
		sched_yield(); /* the put may wait for another thread's turn */
		store_turn(sc, STORE_CLOCK_START);
		r = own_put_once(sc, key, hash, value, len);
	}
	return r;
}

/* Gets keys together, in the stages of lib/serve; items[i] is NULL for a miss. */
static inline void
own_get_batch(struct store_core *sc, const struct bench_key *keys, uint32_t count,
	      const struct item **items)
{
	struct probe probes[OWN_BATCH_MAX];

	for (uint32_t i = 0; i < count; i++)
		store_probe(sc, &probes[i], own_key(&keys[i]));
	for (uint32_t i = 0; i < count; i++)
		store_probe_primary(sc, &probes[i]);
	for (uint32_t i = 0; i < count; i++)
		store_probe_alternate(sc, &probes[i]);
	for (uint32_t i = 0; i < count; i++)
		items[i] = store_get_probed(sc, &probes[i], own_key(&keys[i]));
}

/* Counts an operation and turns the core when due. */
static inline void
own_turn(struct own_store *o, struct store_core *sc)
{
	if (o->operations++ % o->turn_every != 0)
		return;
	store_turn(sc, STORE_CLOCK_START);
	store_housekeeping(sc);
}

static inline uint64_t
own_counted(const struct own_store *o, enum store_counter what)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < o->store->core_count; i++)
		sum += counter_read(&store_counters(store_core_of(o->store, i))[what]);
	return sum;
}

#endif
