/*
 * bench_fill.c - measures how full the index gets, and the cost of inserts on the way (MemC3,
 * figure 4).
 *
 * A store with room for every item and an index of a given number of slots is filled with new
 * keys until the first insert finds no path to an empty slot. The cost is that of a whole set:
 * memory, copying, index. Steps are shares of the slots.
 *
 *   bench_fill [--slots-shift N] [--writers N] [--runs N]
 */
#include "own_store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define WRITERS_MAX 2u
#define PER_MILLE   1000u

/* Per mille of the slots at which a step ends. */
static const uint32_t steps[] = {100, 200, 300, 400, 500, 600, 700, 800, 850,
				 900, 930, 950, 960, 970, 980, 985, 990, 1000};
#define STEPS (sizeof steps / sizeof *steps)

struct fill_run {
	struct own_store own;
	uint32_t writers;
	uint64_t slots;
	pthread_barrier_t barrier;
	_Atomic bool full;
	uint64_t inserted[WRITERS_MAX];
	uint64_t ns[WRITERS_MAX][STEPS];
	uint64_t done[WRITERS_MAX][STEPS];
};

struct writer {
	struct fill_run *run;
	uint32_t number;
};

static void
insert_step(struct fill_run *f, struct store_core *sc, uint32_t w, uint32_t step)
{
	const uint64_t until = f->slots * steps[step] / PER_MILLE / f->writers;
	const uint64_t from = f->inserted[w];
	const uint64_t start = bench_cpu_ns();
	uint64_t n = from;

	for (; n < until && !f->full; n++) {
		const struct bench_key k = bench_key_of(n * f->writers + w);
		const struct view key = own_key(&k);

		if (n % OWN_TURN_EVERY == 0)
			store_turn(sc, STORE_CLOCK_START);
		ensure(own_put(sc, key, store_hash(sc, key), NULL, 0) == STORE_OK);
		if (counter_read(&store_counters(sc)[STORE_EVICTED_INDEX_FULL]) != 0)
			f->full = true;
		if (w == 0 && n % 4096 == 0)
			bench_progress("filling", n * f->writers, f->slots);
	}
	f->ns[w][step] = bench_cpu_ns() - start;
	f->done[w][step] = n - from;
	f->inserted[w] = n;
}

static void *
write_all(void *arg)
{
	const struct writer *w = arg;
	struct fill_run *f = w->run;
	struct store_core *sc = store_core_of(f->own.store, w->number);

	for (uint32_t step = 0; step < STEPS; step++) {
		pthread_barrier_wait(&f->barrier);
		insert_step(f, sc, w->number, step);
	}
	store_offline(sc);
	return NULL;
}

static void
report(const struct fill_run *f)
{
	const uint64_t items = f->inserted[0] + f->inserted[1];
	uint32_t before = 0;

	/* This excludes the last insert, which failed. */
	printf("{\"part\": \"space\", \"writers\": %u, \"slots\": %llu, \"items\": %llu, "
	       "\"index_bytes\": %llu, \"moves\": %llu}\n",
	       f->writers, (unsigned long long)f->slots, (unsigned long long)items - 1,
	       (unsigned long long)(f->slots / BUCKET_SLOTS * sizeof(struct bucket)),
	       (unsigned long long)own_counted(&f->own, STORE_MOVES));
	for (uint32_t i = 0; i < STEPS; before = steps[i++]) {
		const uint64_t done = f->done[0][i] + f->done[1][i];

		if (done < f->slots * (steps[i] - before) / PER_MILLE / 2)
			continue; /* a step that has hardly begun has no meaningful figure */
		printf("{\"part\": \"insert\", \"writers\": %u, \"slots\": %llu, \"from\": %u, "
		       "\"to\": %u, \"ns\": %.1f}\n",
		       f->writers, (unsigned long long)f->slots, before, steps[i],
		       (double)(f->ns[0][i] + f->ns[1][i]) / (double)done);
	}
	fflush(stdout);
}

static void
run_once(uint64_t slots_wanted, uint32_t writers)
{
	static struct fill_run f;
	struct writer w[WRITERS_MAX];
	pthread_t thread[WRITERS_MAX];

	f = (struct fill_run){.writers = writers};
	own_create_slots(&f.own, slots_wanted, writers);
	f.slots = (uint64_t)index_bucket_count(&f.own.store->ix) * BUCKET_SLOTS;
	pthread_barrier_init(&f.barrier, NULL, writers);
	for (uint32_t i = 0; i < writers; i++) {
		w[i] = (struct writer){&f, i};
		ensure(pthread_create(&thread[i], NULL, write_all, &w[i]) == 0);
	}
	for (uint32_t i = 0; i < writers; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&f.barrier);
	report(&f);
	own_destroy(&f.own);
}

int
main(int argc, char **argv)
{
	uint32_t shift = 20, writers = 1, runs = 1;

	const struct bench_option known[] = {BENCH_NUMBER("slots-shift", &shift, 10, 30),
					     BENCH_NUMBER("writers", &writers, 1, WRITERS_MAX),
					     BENCH_NUMBER("runs", &runs, 1, 99),
					     {0}};

	bench_options(argc, argv, known);
	for (uint32_t i = 0; i < runs; i++)
		run_once(1ull << shift, writers);
	return 0;
}
