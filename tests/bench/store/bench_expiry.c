/*
 * bench_expiry.c - measures the cost that expiring items have for others in a full store.
 *
 * Gets are for keys without a TTL, drawn from a Zipf distribution (0.99); a miss is followed by a
 * set, and by a set of another key that is never requested, with a TTL of 3 s: half of all sets.
 * The items set in 3 s take --share percent of the memory; all older ones have expired and are
 * dead. Hits are compared with two stores that get the same gets: one without items with a TTL,
 * and one from which they are deleted in the second in which they expire.
 *
 *   bench_expiry [--memory MB] [--share PERCENT] [--rounds N] [--probation] [--value BYTES]
 */
#include "own_store.h"
#include "slab/eviction.h"

#include <stdio.h>
#include <stdlib.h>

#define THETA         0.7
#define WORKING_SETS  2u
#define TTL_S         3u
#define SEED          20261122u
#define VALUE_MAX     4096u
#define MISSES_IN_100 30u /* about; it determines the gets of a second */

enum timed { LEFT_OUT, DELETED, EXPIRING };
static const char *const names[] = {"left out", "deleted", "expiring"};

struct workload {
	uint32_t keys, items, value_bytes, share, rounds;
	size_t memory_mb;
	bool probation;
	struct zipf zipf;
};

struct run {
	const struct workload *w;
	enum timed timed;
	struct own_store o;
	uint32_t now_s;
	uint64_t set_until[TTL_S + 1]; /* numbers of timed keys set by the end of each of the last
					  seconds */
	uint64_t timed_sets, deleted;
};

static void
put_for(struct run *r, struct store_core *sc, uint64_t key, uint32_t expiry_s)
{
	static const uint8_t value[VALUE_MAX];
	const struct bench_key k = bench_key_of(key);
	const uint64_t hash = store_hash(sc, own_key(&k));
	enum store_result got = STORE_NOT_YET;

	for (uint32_t i = 0; i < OWN_WAITS_MAX && got == STORE_NOT_YET; i++) {
		struct fill f;

		if (i != 0)
			store_turn(sc, r->now_s);
		got = store_begin(sc, &f, own_key(&k), hash, r->w->value_bytes, 0, expiry_s);
		if (got != STORE_OK)
			continue;
		store_fill(sc, &f, value, r->w->value_bytes);
		got = store_finish(sc, &f, STORE_SET, 0);
	}
	ensure(got == STORE_OK);
}

/* Ends a second: the keys set TTL_S seconds ago are deleted. */
static void
second_ends(struct run *r, struct store_core *sc)
{
	memmove(r->set_until, r->set_until + 1, TTL_S * sizeof *r->set_until);
	r->set_until[TTL_S] = r->timed_sets;
	r->now_s++;
	for (; r->timed == DELETED && r->deleted < r->set_until[0]; r->deleted++) {
		const struct bench_key k = bench_key_of(r->w->keys + r->deleted);

		store_delete(sc, own_key(&k), store_hash(sc, own_key(&k)));
		if (r->deleted % OWN_TURN_EVERY == 0)
			store_turn(sc, r->now_s);
	}
}

static bool
use(struct run *r, struct store_core *sc, uint32_t key)
{
	const struct bench_key k = bench_key_of(key);

	if (store_get(sc, own_key(&k), store_hash(sc, own_key(&k))) != NULL)
		return true;
	put_for(r, sc, key, 0);
	if (r->timed == LEFT_OUT)
		return false;
	put_for(r, sc, r->w->keys + r->timed_sets++, r->timed == EXPIRING ? r->now_s + TTL_S : 0);
	return false;
}

/* Returns the share of dead items in the index: all but keys without a TTL and those of the last
 * seconds. */
static double
dead_share(const struct run *r, struct store_core *sc)
{
	const uint64_t live_timed = r->timed == EXPIRING ? r->timed_sets - r->set_until[0] : 0;
	struct store_usage usage;
	uint64_t live = 0;

	for (uint32_t i = 0; i < r->w->keys; i++) {
		const struct bench_key k = bench_key_of(i);

		live += store_get(sc, own_key(&k), store_hash(sc, own_key(&k))) != NULL;
	}
	store_usage_mt(r->o.store, &usage);
	return r->timed != EXPIRING || usage.items < live + live_timed
		       ? 0
		       : (double)(usage.items - live - live_timed) / (double)usage.items;
}

static void
run(const struct workload *w, enum timed timed)
{
	const struct store_config cfg = {.memory_bytes = w->memory_mb * BENCH_MIB,
					 .cores = 1,
					 .value_max = STORE_VALUE_MAX,
					 .seed = 42,
					 .eviction = w->probation ? &eviction_2q : &eviction_clock};
	const uint32_t sets_a_second = w->items * w->share / 100 / TTL_S;
	const uint32_t gets_a_second = sets_a_second * 100 / MISSES_IN_100;
	const uint64_t gets = (uint64_t)w->rounds * w->items * 100 / MISSES_IN_100;
	struct run r = {.w = w, .timed = timed, .now_s = STORE_CLOCK_START};
	uint64_t random = SEED, hits = 0, asked = 0;
	struct store_core *sc;

	own_create_for(&r.o, &cfg);
	sc = store_core_of(r.o.store, 0);
	for (uint64_t i = 0; i < gets; i++) {
		if (i % OWN_TURN_EVERY == 0) {
			store_turn(sc, r.now_s);
			store_housekeeping(sc);
		}
		if (i % gets_a_second == 0)
			second_ends(&r, sc);

		const bool hit = use(&r, sc, zipf_next(&w->zipf, &random));

		asked += i >= gets / 2;
		hits += i >= gets / 2 && hit;
		bench_progress(names[timed], i, gets);
	}
	printf("{\"part\": \"expiry\", \"who\": \"%s\", \"probation\": %s, \"hit\": %.5f, "
	       "\"dead\": %.4f, \"evicted\": %llu, \"reclaimed\": %llu, \"swept\": %llu}\n",
	       names[timed], w->probation ? "true" : "false", (double)hits / (double)asked,
	       dead_share(&r, sc), (unsigned long long)own_counted(&r.o, STORE_EVICTED),
	       (unsigned long long)own_counted(&r.o, STORE_EXPIRED_RECLAIMED),
	       (unsigned long long)own_counted(&r.o, STORE_DEAD_SWEPT));
	fflush(stdout);
	own_destroy(&r.o);
}

int
main(int argc, char **argv)
{
	struct workload w = {.memory_mb = 32, .share = 2, .rounds = 4, .value_bytes = 200};

	const struct bench_option known[] = {BENCH_NUMBER("memory", &w.memory_mb, 8, 1u << 16),
					     BENCH_NUMBER("share", &w.share, 1, 50),
					     BENCH_NUMBER("rounds", &w.rounds, 1, 1000),
					     BENCH_NUMBER("value", &w.value_bytes, 0, VALUE_MAX),
					     BENCH_FLAG("probation", &w.probation),
					     {0}};

	bench_options(argc, argv, known);
	w.items = (uint32_t)(w.memory_mb * BENCH_MIB / (w.value_bytes + 40));
	w.keys = WORKING_SETS * w.items;
	zipf_init(&w.zipf, w.keys, THETA);
	for (enum timed t = LEFT_OUT; t <= EXPIRING; t++)
		run(&w, t);
	return 0;
}
