/*
 * bench_two_cores.c - measures what two real threads on one store cost each other.
 * bench_shared_lines starts it to check its model.
 *
 * A line on stdout is "line NS", the time to get a line that the other core has written, or "LOAD
 * APART TOGETHER", the nanoseconds of an operation of two threads on a store each, and on one
 * store. Both take turns, block by block. Times are CPU times: a block of some loads is longer
 * than a time slice, and took four times as long while another process ran.
 *
 *   bench_two_cores MEMORY_MB OPERATIONS ROUNDS
 */
#include "paper_crew.h"
#include "shared_loads.h"

#include <stdio.h>
#include <stdlib.h>

#define THREADS   2u
#define SHARED_BY 64u /* lines */
#define ADDITIONS (1u << 16)

struct counted_line {
	_Atomic uint64_t n;
} __attribute__((aligned(CACHE_LINE_BYTES)));

struct lines {
	struct counted_line at[THREADS][SHARED_BY];
	bool together;
};

struct pair {
	struct shared_store one, apart[THREADS];
	uint32_t bursts;
	bool together;
};

static void
add_to_lines(void *arg, uint32_t thread)
{
	struct lines *l = arg;
	struct counted_line *lines = l->at[l->together ? 0 : thread];
	uint64_t random = thread;

	for (uint32_t i = 0; i < ADDITIONS; i++)
		atomic_fetch_add_explicit(&lines[bench_below(&random, SHARED_BY)].n, 1,
					  memory_order_relaxed);
}

/* Returns the time to fetch a line. The additions do not wait for each other, as a turn's lines
 * are prefetched: additions that wait for the previous one cost 34 ns where these cost 20. If two
 * threads add to the same lines at the same speed, each finds half of them written by the
 * other. */
static double
line_ns(void)
{
	static struct lines l;
	double seconds[2];

	for (uint32_t i = 0; i < 2; i++) {
		l.together = i == 1;
		seconds[i] = crew_run_cpu(THREADS, add_to_lines, &l);
	}
	return (seconds[1] - seconds[0]) * 1e9 / ADDITIONS * 2;
}

static void
run_bursts(void *arg, uint32_t thread)
{
	struct pair *p = arg;
	struct shared_store *s = p->together ? &p->one : &p->apart[thread];
	const uint32_t core = p->together ? thread : 0;

	for (uint32_t i = 0; i < p->bursts; i++)
		shared_load_burst(s, core);
	shared_load_rest(s, core);
}

static double
operation_ns(struct pair *p, bool together)
{
	p->together = together;
	return crew_run_cpu(THREADS, run_bursts, p) * 1e9 / ((double)p->bursts * SHARED_BURST);
}

static void
measure(struct pair *p, enum shared_load load, size_t memory_bytes, uint32_t rounds)
{
	shared_load_open(&p->one, load, memory_bytes, UINT32_MAX, THREADS, 1);
	for (uint32_t i = 0; i < THREADS; i++)
		shared_load_open(&p->apart[i], load, memory_bytes, UINT32_MAX, 1, i + 2);
	operation_ns(p, false);
	operation_ns(p, true);
	for (uint32_t i = 0; i < rounds; i++) {
		const double apart = operation_ns(p, false);

		printf("%u %.2f %.2f\n", load, apart, operation_ns(p, true));
		printf("line %.2f\n", line_ns());
	}
	shared_load_close(&p->one);
	for (uint32_t i = 0; i < THREADS; i++)
		shared_load_close(&p->apart[i]);
}

int
main(int argc, char **argv)
{
	static struct pair p;
	uint32_t rounds;
	size_t memory;

	if (argc != 4)
		return 2;
	memory = bench_number(argv[1], 8, 4096) * BENCH_MIB;
	p.bursts = bench_number(argv[2], SHARED_BURST, 100000000) / SHARED_BURST;
	rounds = bench_number(argv[3], 1, 99);
	for (uint32_t load = 0; load < SHARED_LOADS; load++)
		if (load != LOAD_FIRST_GET) /* this load ends when all keys have been requested */
			measure(&p, load, memory, rounds);
	return 0;
}
