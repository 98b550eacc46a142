/*
 * bench_miss.c - measures miss ratios (MemC3, table 3) of CLOCK, exact LRU and memcached.
 *
 * Keys are drawn from a Zipf distribution (0.99); 95 of 100 operations get, 5 set; a miss is
 * followed by a set, as a cache's user does. The cache starts with the keys set from the rarest
 * to the most frequent, then warms up with as many operations as are measured afterwards. Every
 * cache sees the same keys in the same order.
 *
 * LRU is a model with two capacities: the number of items that the store held at its end (equal
 * items), and the number that would fit into the same budget if each carried the two references
 * of an LRU list (equal bytes).
 *
 *   bench_miss [--keys N] [--memory KB] [--operations N] [--peer SOCKET]
 */
#include "lru_model.h"
#include "memcached_peer.h"
#include "own_store.h"

#include <stdio.h>
#include <stdlib.h>

#define THETA          0.99
#define SETS_IN_100    5u
#define LRU_LINK_BYTES 8u /* two references of clockoo's; memcached's are two pointers */
#define BATCH          PEER_BATCH
#define SEED           20261121u

struct workload {
	uint32_t keys, operations;
	size_t memory_kb;
	struct zipf zipf;
};

struct operation {
	uint32_t key;
	bool set;
};

/* A cache under test: run executes a batch and sets hit[i] for every operation that gets. */
struct cache {
	void *state;
	void (*run)(void *state, const struct operation *ops, uint32_t count, bool *hit);
};

static void
draw(const struct workload *w, uint64_t *random, struct operation *ops)
{
	for (uint32_t i = 0; i < BATCH; i++)
		ops[i] = (struct operation){.key = zipf_next(&w->zipf, random),
					    .set = bench_below(random, 100) < SETS_IN_100};
}

static void
preload(const struct workload *w, struct cache *c, const char *words)
{
	struct operation ops[BATCH];
	bool hit[BATCH];

	for (uint32_t left = w->keys; left > 0;) {
		const uint32_t n = left < BATCH ? left : BATCH;

		for (uint32_t i = 0; i < n; i++)
			ops[i] = (struct operation){.key = --left, .set = true};
		c->run(c->state, ops, n, hit);
		bench_progress(words, w->keys - left, w->keys);
	}
}

/* Returns the misses in a hundred gets. */
static double
miss_percent(const struct workload *w, struct cache *c, const char *words)
{
	uint64_t random = SEED, gets = 0, misses = 0;
	struct operation ops[BATCH];
	bool hit[BATCH];

	preload(w, c, words);
	for (uint64_t done = 0; done < 2ull * w->operations; done += BATCH) {
		draw(w, &random, ops);
		c->run(c->state, ops, BATCH, hit);
		for (uint32_t i = 0; i < BATCH && done >= w->operations; i++) {
			gets += !ops[i].set;
			misses += !ops[i].set && !hit[i];
		}
		bench_progress(words, done, 2ull * w->operations);
	}
	return 100.0 * (double)misses / (double)gets;
}

static void
run_own(void *state, const struct operation *ops, uint32_t count, bool *hit)
{
	static const uint8_t value[BENCH_VALUE_BYTES];
	struct own_store *o = state;
	struct store_core *sc = store_core_of(o->store, 0);

	for (uint32_t i = 0; i < count; i++) {
		const struct bench_key k = bench_key_of(ops[i].key);
		const uint64_t hash = store_hash(sc, own_key(&k));

		own_turn(o, sc);
		hit[i] = !ops[i].set && store_get(sc, own_key(&k), hash) != NULL;
		if (!hit[i])
			ensure(own_put(sc, own_key(&k), hash, value, sizeof value) == STORE_OK);
	}
}

static void
run_lru(void *state, const struct operation *ops, uint32_t count, bool *hit)
{
	for (uint32_t i = 0; i < count; i++)
		hit[i] = lru_use(state, ops[i].key);
}

static void
run_peer(void *state, const struct operation *ops, uint32_t count, bool *hit)
{
	struct peer *p = state;
	bool got[PEER_BATCH];
	uint32_t next = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!ops[i].set)
			peer_get(p, ops[i].key);
	peer_flush(p, got);
	for (uint32_t i = 0; i < count; i++) {
		hit[i] = !ops[i].set && got[next++];
		if (!hit[i])
			peer_set(p, ops[i].key);
	}
	peer_flush(p, NULL);
}

static void
say(const struct workload *w, const char *who, double miss, uint64_t items)
{
	printf("{\"part\": \"miss\", \"who\": \"%s\", \"keys\": %u, \"memory_kb\": %zu, "
	       "\"miss\": %.3f, \"items\": %llu}\n",
	       who, w->keys, w->memory_kb, miss, (unsigned long long)items);
	fflush(stdout);
}

static void
lru(const struct workload *w, const char *who, uint32_t capacity)
{
	struct lru model;
	struct cache c = {&model, run_lru};
	double miss;

	lru_create(&model, w->keys, capacity);
	miss = miss_percent(w, &c, who);
	say(w, who, miss, model.count);
	lru_destroy(&model);
}

static void
own_and_lru(const struct workload *w)
{
	struct own_store o;
	struct cache c = {&o, run_own};
	struct store_usage usage;
	double miss;

	own_create(&o, w->memory_kb << 10, 1);
	miss = miss_percent(w, &c, "CLOCK");
	store_usage_mt(o.store, &usage);
	say(w, "clockoo", miss, usage.items);
	own_destroy(&o);

	const double bytes = (double)(w->memory_kb << 10) / (double)usage.items;

	lru(w, "LRU, equal items", (uint32_t)usage.items);
	lru(w, "LRU, equal bytes",
	    (uint32_t)((double)(w->memory_kb << 10) / (bytes + LRU_LINK_BYTES)));
}

static void
peer(const struct workload *w, const char *path)
{
	static struct peer p;
	struct cache c = {&p, run_peer};
	double miss;

	peer_open(&p, path);
	miss = miss_percent(w, &c, "memcached");
	say(w, "memcached", miss, peer_stat(&p, "curr_items"));
	peer_close(&p);
}

int
main(int argc, char **argv)
{
	struct workload w = {.keys = 500000, .operations = 1000000, .memory_kb = 8192};
	const char *path = NULL;

	const struct bench_option known[] = {
		BENCH_NUMBER("keys", &w.keys, 1000, 500000000),
		BENCH_NUMBER("memory", &w.memory_kb, 8192, 1u << 26),
		BENCH_NUMBER("operations", &w.operations, BATCH, 1000000000),
		BENCH_TEXT("peer", &path),
		{0}};

	bench_options(argc, argv, known);
	zipf_init(&w.zipf, w.keys, THETA);
	if (path != NULL)
		peer(&w, path);
	else
		own_and_lru(&w);
	return 0;
}
