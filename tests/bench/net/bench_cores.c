/*
 * bench_cores.c - measures what a second core adds: cycles of core_turn, first of one core, then
 * of two at once over one store.
 *
 * Each thread runs a core of the appliance and its generator, turn by turn (bench_pair.h), so two
 * CPUs show two cores. Only the appliance's turns are counted, by the median block of turns. A
 * core serves as many requests as its cycles allow; the scaling is the requests that two serve
 * together, divided by those that one served alone. The load is UDP, 95 % gets and 5 % sets, with
 * uniform keys, then with zipf 0.99, where both cores need the same lines.
 *
 *   bench_cores [--keys N] [--ms N] [--cpus A,B]
 */
#include "../bench_pair.h"
#include "base/time_units.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CORES       2u
#define BLOCK_STEPS 16u
#define BLOCKS_MAX  262144u
#define END_STEPS   1000000u

/* A worker that is this many blocks ahead of a paused one waits for it. The old versions of its
 * sets, 26 a block, stay in memory until the other core turns. With RETIRE_LIST_MAX of them, sets
 * over UDP are refused. */
#define AHEAD_BLOCKS 128u
#define LEFT         UINT32_MAX

struct worker {
	struct bench_pair *pair;
	const struct worker *other; /* the worker that runs at the same time, or NULL */
	_Atomic uint32_t progress;  /* blocks begun; LEFT: it turns no more */
	uint32_t cpu, ms;
	pthread_barrier_t *start;
	uint32_t blocks;
	double cycles[BLOCKS_MAX]; /* cycles for each request */
	double median;
};

static void
fail(const char *words)
{
	fprintf(stderr, "bench_cores: %s\n", words);
	exit(1);
}

static void
take_block(struct worker *w)
{
	struct turn_timing turn_timing = {0};
	const double from = bench_pair_served(w->pair);
	double requests;

	for (uint32_t i = 0; i < BLOCK_STEPS; i++)
		bench_pair_step(w->pair, &turn_timing);
	requests = bench_pair_served(w->pair) - from;
	if (requests > 0 && w->blocks < BLOCKS_MAX)
		w->cycles[w->blocks++] = (double)turn_timing.cycles / requests;
}

/* The kernel may take a thread's CPU for long where others want it. */
static void
wait_for_other(struct worker *w, uint32_t *seen, uint32_t *seen_at)
{
	uint32_t now;

	w->progress++;
	if (w->other == NULL)
		return;
	while ((now = w->other->progress) == *seen && now != LEFT &&
	       w->progress - *seen_at > AHEAD_BLOCKS)
		sched_yield();
	if (now != *seen) {
		*seen = now;
		*seen_at = w->progress;
	}
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	uint32_t seen = 0, seen_at = 0;
	struct turn_timing unseen = {0};
	uint64_t end_ns;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(w->cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0)
		fail("a CPU is not ours");
	w->blocks = 0;
	bench_pair_command(w->pair, 0);
	pthread_barrier_wait(w->start);
	end_ns = clock_ns(CLOCK_MONOTONIC) + w->ms * NS_PER_MS;
	while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
		wait_for_other(w, &seen, &seen_at);
		take_block(w);
	}
	load_core_cancel_mt(w->pair->core);
	for (uint32_t i = 0; i < END_STEPS && !bench_pair_done(w->pair); i++)
		bench_pair_step(w->pair, &unseen);
	bench_pair_check(w->pair);
	/* The core turns no more, so the other must not wait for it. */
	store_offline(w->pair->fixture.sc);
	w->progress = LEFT;
	if (w->blocks == 0)
		fail("no request was answered");
	bench_sort(w->cycles, w->blocks);
	w->median = w->cycles[w->blocks / 2];
	return NULL;
}

/* Runs count workers at once. Returns what they serve together, in units of a core that needs
 * one cycle a request. */
static double
together(struct worker *workers, uint32_t count)
{
	pthread_t threads[CORES];
	pthread_barrier_t start;
	double served = 0;

	pthread_barrier_init(&start, NULL, count);
	for (uint32_t i = 0; i < count; i++) {
		workers[i].start = &start;
		workers[i].progress = 0;
		workers[i].other = count == CORES ? &workers[1 - i] : NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
			fail("no thread");
	for (uint32_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < count; i++)
		served += 1 / workers[i].median;
	pthread_barrier_destroy(&start);
	return served;
}

static void
measure(const char *kind, const char *suffix, uint32_t keys, struct worker *workers)
{
	static struct bench_pair pairs[2][CORES];
	struct bench_pair *pair = pairs[suffix[0] != '\0'];
	double one, two;

	bench_pairs_make(pair, CORES, kind_by_name(kind), keys);
	for (uint32_t i = 0; i < CORES; i++) {
		store_offline(pair[i].fixture.sc);
		workers[i].pair = &pair[i];
	}
	one = together(workers, 1);
	two = together(workers, CORES);
	printf("%s\"cycles_one_core%s\": %.1f, \"cycles_two_cores%s\": %.1f, "
	       "\"two_cores_scaling%s\": %.4f",
	       suffix[0] != '\0' ? ", " : "{", suffix, 1 / one, suffix, CORES / two, suffix,
	       two / one);
}

int
main(int argc, char **argv)
{
	static struct worker workers[CORES];
	uint32_t keys = 1000000, ms = 300, cpus[CORES];
	const char *two = "0,1";

	const struct bench_option known[] = {BENCH_NUMBER("keys", &keys, 1, 100000000),
					     BENCH_NUMBER("ms", &ms, 1, 60000),
					     BENCH_TEXT("cpus", &two),
					     {0}};

	bench_options(argc, argv, known);
	if (sscanf(two, "%u,%u", &cpus[0], &cpus[1]) != CORES)
		fail("--cpus A,B");
	for (uint32_t i = 0; i < CORES; i++) {
		workers[i].cpu = cpus[i];
		workers[i].ms = ms;
	}
	measure("udp_mix", "", keys, workers);
	measure("udp_zipf_mix", "_zipf", keys, workers);
	puts("}");
	return 0;
}
