/*
 * bench_set.c - measures the cost of a set: of a new key in a full store, and over an existing
 * value.
 *
 * Sets are executed in bursts, as in lib/serve: the steps of a lookup for all keys, then the
 * sets, then a turn, and upkeep as often as a core does it. "alone" is the same without the
 * lookup's steps. A store of each kind is filled first; a measurement is a block of operations on
 * it, in CPU time of the thread.
 *
 * With --steered a line of stdin names each measurement, so that tools/bench store can let two of
 * these programs, of two trees, take turns in one run. Without it each measurement is made --runs
 * times.
 *
 *   bench_set [--memory MB] [--operations N] [--runs N] [--steered]
 */
#include "own_store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS            2u
#define BURST              32u
#define BYTES_AN_ITEM      96u /* in the store that does not evict: a third of it stays free */
#define SETTLE_ROUNDS      2u  /* times its items are stored before a full store is measured */
#define REST_TURNS         256u
#define WAITS_MAX          20000u
#define WAIT_US            50u
#define LINE_BYTES         64u
#define HOUSEKEEPING_TURNS 16u /* as in core.h */

struct bench {
	struct own_store full[THREADS]; /* used by one thread, and by two: their stores keep
					   different amounts of free objects */
	struct own_store roomy;
	uint32_t operations;
	uint32_t keys; /* in the roomy store */
	uint64_t next; /* number of the next new key */
};

enum load { LOAD_NEW, LOAD_NEW_ALONE, LOAD_OVERWRITE, LOAD_OVERWRITE_ALONE, LOAD_GET };

static const struct {
	const char *name;
	enum load load;
	uint32_t threads;
} measurements[] = {
	{"new", LOAD_NEW, 1},
	{"new_2t", LOAD_NEW, 2},
	{"new_alone", LOAD_NEW_ALONE, 1},
	{"overwrite", LOAD_OVERWRITE, 1},
	{"overwrite_2t", LOAD_OVERWRITE, 2},
	{"overwrite_alone", LOAD_OVERWRITE_ALONE, 1},
	{"get", LOAD_GET, 1},
};
#define MEASUREMENTS (sizeof measurements / sizeof *measurements)

/* A thread's state, on cache lines of its own. */
struct worker {
	_Alignas(CACHE_LINE_BYTES) struct bench *bench;
	enum load load;
	uint32_t number, count; /* number of this thread, and of all threads */
	uint64_t first;         /* the first new key */
	uint64_t random;
	uint64_t ns, waited_ns;
	uint32_t turns;
};

static bool
stores_new(enum load load)
{
	return load == LOAD_NEW || load == LOAD_NEW_ALONE;
}

static struct own_store *
store_of(const struct worker *w)
{
	return stores_new(w->load) ? &w->bench->full[w->count - 1] : &w->bench->roomy;
}

/* Draws the keys of a burst. */
static void
draw(struct worker *w, uint32_t done, struct bench_key *keys)
{
	for (uint32_t i = 0; i < BURST; i++)
		keys[i] = stores_new(w->load)
				  ? bench_key_of(w->first + (uint64_t)(done + i) * w->count +
						 w->number)
				  : bench_key_of(bench_below(&w->random, w->bench->keys));
}

/* Puts one key. A set waits for memory only while the other thread makes no turns because the
 * machine does not run it, which is no cost of the set. Returns the time waited. */
static uint64_t
put(struct store_core *sc, const struct bench_key *key, uint64_t hash)
{
	static const uint8_t value[BENCH_VALUE_BYTES];
	enum store_result r = own_put_once(sc, own_key(key), hash, value, sizeof value);
	uint64_t start;

	if (likely(r == STORE_OK))
		return 0;
	start = bench_cpu_ns();
	for (uint32_t i = 0; i < WAITS_MAX && r == STORE_NOT_YET; i++) {
		usleep(WAIT_US);
		store_turn(sc, STORE_CLOCK_START);
		r = own_put_once(sc, own_key(key), hash, value, sizeof value);
	}
	ensure(r == STORE_OK);
	return bench_cpu_ns() - start;
}

/* Sets a burst by the steps of serve_prefetch.c, then those of serve_execute.c. */
static uint64_t
put_burst(struct store_core *sc, const struct bench_key *keys)
{
	struct probe probes[BURST];
	uint64_t hashes[BURST], waited = 0;
	uint32_t open = 0;

	for (uint32_t i = 0; i < BURST; i++)
		hashes[i] = store_probe(sc, &probes[i], own_key(&keys[i]));
	for (uint32_t i = 0; i < BURST; i++)
		open |= (uint32_t)store_probe_primary_to_write(sc, &probes[i]) << i;
	for (; open != 0; open &= open - 1)
		store_probe_alternate(sc, &probes[__builtin_ctz(open)]);
	for (uint32_t i = 0; i < BURST; i++)
		waited += put(sc, &keys[i], hashes[i]);
	return waited;
}

static uint64_t
put_alone(struct store_core *sc, const struct bench_key *keys)
{
	uint64_t waited = 0;

	for (uint32_t i = 0; i < BURST; i++)
		waited += put(sc, &keys[i], store_hash(sc, own_key(&keys[i])));
	return waited;
}

static uint64_t
get_burst(struct store_core *sc, const struct bench_key *keys)
{
	const struct item *items[BURST];

	own_get_batch(sc, keys, BURST, items);
	for (uint32_t i = 0; i < BURST; i++)
		ensure(items[i] != NULL);
	return 0;
}

static void
burst(struct worker *w, struct store_core *sc, uint32_t done)
{
	struct bench_key keys[BURST];

	draw(w, done, keys);
	if (w->load == LOAD_NEW || w->load == LOAD_OVERWRITE)
		w->waited_ns += put_burst(sc, keys);
	else if (w->load == LOAD_GET)
		w->waited_ns += get_burst(sc, keys);
	else
		w->waited_ns += put_alone(sc, keys);
	store_turn(sc, STORE_CLOCK_START);
	if (++w->turns % HOUSEKEEPING_TURNS == 0)
		store_housekeeping(sc);
}

/* Turns until the core's retired objects are free. Otherwise the next measurement would wait for
 * memory that an offline core holds. */
static void
rest(struct store_core *sc)
{
	for (uint32_t i = 0; i < REST_TURNS; i++) {
		store_turn(sc, STORE_CLOCK_START);
		sched_yield();
	}
	store_offline(sc);
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	struct store_core *sc = store_core_of(store_of(w)->store, w->number);
	const uint32_t operations = w->bench->operations;
	const uint64_t start = bench_cpu_ns();

	for (uint32_t done = 0; done < operations; done += BURST)
		burst(w, sc, done);
	w->ns = bench_cpu_ns() - start - w->waited_ns;
	rest(sc);
	return NULL;
}

/* Runs a block with a number of threads. Returns their mean time. */
static uint64_t
run_block(struct bench *b, enum load load, uint32_t threads)
{
	static uint64_t seed = 7;
	struct worker w[THREADS];
	pthread_t thread[THREADS];
	uint64_t ns = 0;

	for (uint32_t i = 0; i < threads; i++) {
		w[i] = (struct worker){.bench = b,
				       .load = load,
				       .number = i,
				       .count = threads,
				       .first = b->next,
				       .random = bench_mix(++seed)};
		ensure(pthread_create(&thread[i], NULL, work, &w[i]) == 0);
	}
	for (uint32_t i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		ns += w[i].ns;
	}
	b->next += (uint64_t)threads * b->operations;
	return ns / threads;
}

/* Measures, and prints also the buckets migrated meanwhile: sets cost three times as much while
 * the index is resized. */
static void
measure(struct bench *b, uint32_t which)
{
	const enum load load = measurements[which].load;
	const uint32_t threads = measurements[which].threads;
	const struct own_store *own = stores_new(load) ? &b->full[threads - 1] : &b->roomy;
	const uint64_t before = own_counted(own, STORE_INDEX_MIGRATED);
	const uint64_t ns = run_block(b, load, threads);

	printf("{\"part\": \"set\", \"what\": \"%s\", \"ns\": %.2f, \"migrated\": %llu}\n",
	       measurements[which].name, (double)ns / b->operations,
	       (unsigned long long)(own_counted(own, STORE_INDEX_MIGRATED) - before));
	fflush(stdout);
}

/* Stores new keys until the store has evicted twice its content and its index has its final size.
 * From then on the cost of a set is constant. */
static void
fill_up(struct bench *b, struct own_store *full)
{
	struct store_core *sc = store_core_of(full->store, 0);
	struct store_usage usage = {.items = 1};

	while (own_counted(full, STORE_EVICTED) < SETTLE_ROUNDS * usage.items ||
	       usage.index_resizing) {
		for (uint32_t i = 0; i < BURST; i++) {
			const struct bench_key key = bench_key_of(b->next++);

			put(sc, &key, store_hash(sc, own_key(&key)));
		}
		store_turn(sc, STORE_CLOCK_START);
		store_housekeeping(sc);
		store_usage_mt(full->store, &usage);
		bench_progress("filling until it evicts", b->next, 0);
	}
	rest(sc);
	fprintf(stderr, "%llu items, %.2f %% of the index's slots\n",
		(unsigned long long)usage.items,
		100.0 * (double)usage.items / (double)usage.index_slots);
}

/* Stores as many keys as the store holds, by both threads, until the index has its final size: a
 * second core keeps free objects of its own, and has the index resized once. */
static void
settle(struct bench *b, struct own_store *full)
{
	struct store_usage usage;
	uint64_t stored = 0;

	do {
		run_block(b, LOAD_NEW, THREADS);
		stored += (uint64_t)THREADS * b->operations;
		store_usage_mt(full->store, &usage);
		bench_progress("two threads fill it", stored, usage.items);
	} while (stored < usage.items || usage.index_resizing);
}

static void
fill_roomy(struct bench *b)
{
	struct store_core *sc = store_core_of(b->roomy.store, 0);

	for (uint32_t i = 0; i < b->keys; i++) {
		const struct bench_key key = bench_key_of(i);

		put(sc, &key, store_hash(sc, own_key(&key)));
		own_turn(&b->roomy, sc);
		bench_progress("loading", i, b->keys);
	}
	rest(sc);
}

static void
steered(struct bench *b)
{
	char line[LINE_BYTES];

	puts("{\"part\": \"set\", \"what\": \"ready\"}");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL) {
		uint32_t i = 0;

		line[strcspn(line, "\n")] = '\0';
		while (i < MEASUREMENTS && strcmp(line, measurements[i].name) != 0)
			i++;
		ensure(i < MEASUREMENTS);
		measure(b, i);
	}
}

int
main(int argc, char **argv)
{
	struct bench b = {.operations = 1u << 17};
	uint32_t mebibytes = 256, runs = 1;
	bool is_steered = false;

	const struct bench_option known[] = {
		BENCH_NUMBER("memory", &mebibytes, 8, 65536),
		BENCH_NUMBER("operations", &b.operations, BURST, 100000000),
		BENCH_NUMBER("runs", &runs, 1, 999),
		BENCH_FLAG("steered", &is_steered),
		{0}};

	bench_options(argc, argv, known);
	b.operations = b.operations / BURST * BURST;
	for (uint32_t i = 0; i < THREADS; i++) {
		own_create(&b.full[i], mebibytes * BENCH_MIB, THREADS);
		fill_up(&b, &b.full[i]);
	}
	settle(&b, &b.full[THREADS - 1]);
	own_create(&b.roomy, mebibytes * BENCH_MIB, THREADS);
	b.keys = (uint32_t)(mebibytes * BENCH_MIB / BYTES_AN_ITEM);
	fill_roomy(&b);
	if (is_steered)
		steered(&b);
	for (uint32_t run = 0; run < runs && !is_steered; run++)
		for (uint32_t i = 0; i < MEASUREMENTS; i++)
			measure(&b, i);
	return 0;
}
