/*
 * shared_loads.c - runs bursts of operations on a store that several cores share.
 */
#include "shared_loads.h"

#define BYTES_AN_ITEM      96u    /* in the store that does not evict: a third of it stays free */
#define SETTLE_ROUNDS      2u     /* times its items are stored before a store counts as full */
#define HOUSEKEEPING_TURNS 16u    /* as in core.h */
#define WAITS_MAX          10000u /* own_put itself waits some thousand times in each */
#define THETA              0.99
#define SETS_IN_100        5u

const char *const shared_load_names[SHARED_LOADS] = {"get", "first get", "95% get, 5% set",
						     "set over a value", "set of a new key"};

/* Sets a key. A set may wait for the other thread's turn, which comes when the machine runs that
 * thread. */
static void
put(struct store_core *sc, const struct bench_key *key, uint64_t hash)
{
	static const uint8_t value[BENCH_VALUE_BYTES];
	enum store_result r = STORE_NOT_YET;

	for (uint32_t i = 0; i < WAITS_MAX && r == STORE_NOT_YET; i++)
		r = own_put(sc, own_key(key), hash, value, sizeof value);
	ensure(r == STORE_OK);
}

static void
put_some(struct store_core *sc, const struct bench_key *keys, uint32_t count)
{
	struct probe probes[SHARED_BURST];
	uint64_t hashes[SHARED_BURST];

	for (uint32_t i = 0; i < count; i++)
		hashes[i] = store_probe(sc, &probes[i], own_key(&keys[i]));
	for (uint32_t i = 0; i < count; i++)
		if (store_probe_primary_to_write(sc, &probes[i]))
			store_probe_alternate(sc, &probes[i]);
	for (uint32_t i = 0; i < count; i++)
		put(sc, &keys[i], hashes[i]);
}

static void
get_some(struct store_core *sc, const struct bench_key *keys, uint32_t count)
{
	const struct item *items[SHARED_BURST];

	own_get_batch(sc, keys, count, items);
	for (uint32_t i = 0; i < count; i++)
		ensure(items[i] != NULL);
}

static void
turn(struct shared_store *s, struct store_core *sc, struct shared_core *c)
{
	store_turn(sc, s->now_s);
	if (++c->turns % HOUSEKEEPING_TURNS == 0)
		store_housekeeping(sc);
}

static uint64_t
key_number(struct shared_store *s, struct shared_core *c)
{
	if (s->load == LOAD_NEW || s->load == LOAD_FIRST_GET)
		return s->cores * c->next++ + (uint64_t)(c - s->core);
	if (s->load == LOAD_MIX)
		return zipf_next(&s->zipf, &c->random);
	return bench_below(&c->random, s->keys);
}

void
shared_load_burst(struct shared_store *s, uint32_t core)
{
	struct store_core *sc = store_core_of(s->own.store, core);
	struct shared_core *c = &s->core[core];
	struct bench_key keys[SHARED_BURST];
	uint32_t gets = SHARED_BURST;

	for (uint32_t i = 0; i < SHARED_BURST; i++)
		keys[i] = bench_key_of(key_number(s, c));
	if (s->load == LOAD_OVERWRITE || s->load == LOAD_NEW)
		gets = 0;
	for (uint32_t i = 0; i < SHARED_BURST && s->load == LOAD_MIX; i++)
		gets -= bench_below(&c->random, 100) < SETS_IN_100;
	if (gets != 0)
		get_some(sc, keys, gets);
	if (gets != SHARED_BURST)
		put_some(sc, &keys[gets], SHARED_BURST - gets);
	turn(s, sc, c);
}

void
shared_load_rest(struct shared_store *s, uint32_t core)
{
	store_offline(store_core_of(s->own.store, core));
}

/* ---- filling the store ---- */

static void
fill_burst(struct shared_store *s, uint64_t from)
{
	struct store_core *sc = store_core_of(s->own.store, 0);
	struct bench_key keys[SHARED_BURST];

	for (uint32_t i = 0; i < SHARED_BURST; i++)
		keys[i] = bench_key_of(from + i);
	put_some(sc, keys, SHARED_BURST);
	turn(s, sc, &s->core[0]);
}

/* Stores new keys until the store has evicted twice its content and its index has its final size.
 * Returns the next key. */
static uint64_t
fill_up(struct shared_store *s)
{
	struct store_usage usage = {.items = 1};
	uint64_t next = 0;

	for (; own_counted(&s->own, STORE_EVICTED) < SETTLE_ROUNDS * usage.items ||
	       usage.index_resizing;
	     next += SHARED_BURST) {
		fill_burst(s, next);
		store_usage_mt(s->own.store, &usage);
	}
	return next;
}

/* Stores all keys, and gets each once if the load requires it. */
static void
fill_keys(struct shared_store *s)
{
	struct store_core *sc = store_core_of(s->own.store, 0);

	for (uint64_t n = 0; n < s->keys; n += SHARED_BURST)
		fill_burst(s, n);
	for (uint64_t n = 0; n < s->keys && s->load != LOAD_FIRST_GET; n++) {
		const struct bench_key key = bench_key_of(n);

		get_some(sc, &key, 1);
		if (n % SHARED_BURST == 0)
			turn(s, sc, &s->core[0]);
	}
}

void
shared_load_open(struct shared_store *s, enum shared_load load, size_t memory_bytes,
		 uint32_t keys_max, uint32_t cores, uint64_t seed)
{
	uint64_t next = 0;

	*s = (struct shared_store){.load = load, .cores = cores, .now_s = STORE_CLOCK_START};
	ensure(cores <= SHARED_CORES_MAX);
	own_create(&s->own, memory_bytes, cores);
	s->keys = (uint32_t)(memory_bytes / BYTES_AN_ITEM);
	s->keys = (s->keys < keys_max ? s->keys : keys_max) / SHARED_BURST * SHARED_BURST;
	zipf_init(&s->zipf, s->keys, THETA);
	if (load == LOAD_NEW)
		next = fill_up(s) / cores + 1;
	else
		fill_keys(s);
	store_offline(store_core_of(s->own.store, 0));
	for (uint32_t i = 0; i < cores; i++)
		s->core[i] =
			(struct shared_core){.random = bench_mix(seed * 100 + i), .next = next};
}

void
shared_load_close(struct shared_store *s)
{
	own_destroy(&s->own);
}
