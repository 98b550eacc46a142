/*
 * cpu_pair.c - measures the distance of two CPUs, and the share of their cores that other work
 * leaves.
 *
 * The host places the CPUs of a virtual machine, and moves them. Two figures show their present
 * place:
 *
 *   distance_ns  time for a line that one CPU wrote to reach the other: 20 to 60 in one
 *                cache, 200 and more from one chip to another.
 *   shares       independent additions in the time of one that waits for the one
 *                before it: 3.7 on an EPYC with a core to itself, 2 if other work has the
 *                core's other hardware thread. It does not depend on the clock's rate.
 *
 *   cpu_pair [A B]     prints {"distance_ns": ..., "shares": [..., ...]}, medians, in some ms
 */
#include "base/time_units.h"

#include "../../support/sorted.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#define LOOKS      401u
#define EXCHANGES  32u /* exchanges in one measurement */
#define ROUNDS     64u
#define SIDE_BY    24u /* additions a round, of which six are independent */
#define IN_A_ROW   8u
#define FAR_NS     100000.0
#define LINE_BYTES 128u /* two lines: memory is fetched in pairs */

static struct {
	_Alignas(LINE_BYTES) atomic_uint ball;
	_Alignas(LINE_BYTES) atomic_uint back;
	_Alignas(LINE_BYTES) atomic_bool over;
	uint32_t cpus[2];
	double shares[2];
} court;

static double
median(double *values)
{
	sort_doubles(values, LOOKS);
	return values[LOOKS / 2];
}

static uint64_t
ticks(void)
{
	uint64_t t;

	_mm_lfence();
	t = __rdtsc();
	_mm_lfence();
	return t;
}

static double
share_look(void)
{
	uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, from = ticks(), middle, to;

	for (uint32_t i = 0; i < ROUNDS; i++)
		__asm__ volatile(".rept 8\n\tadd $1, %0\n\t.endr" : "+r"(a));
	middle = ticks();
	for (uint32_t i = 0; i < ROUNDS; i++)
		__asm__ volatile(".rept 4\n\tadd $1, %0\n\tadd $1, %1\n\tadd $1, %2\n\t"
				 "add $1, %3\n\tadd $1, %4\n\tadd $1, %5\n\t.endr"
				 : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	to = ticks();
	return (double)(middle - from) / IN_A_ROW / ((double)(to - middle) / SIDE_BY);
}

static double
share(void)
{
	static _Thread_local double looks[LOOKS];

	for (uint32_t i = 0; i < LOOKS; i++)
		looks[i] = share_look();
	return median(looks);
}

static void
on_cpu(uint32_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0) {
		fprintf(stderr, "cpu_pair: CPU %u is not ours\n", cpu);
		exit(1);
	}
}

/* Returns each number that the other thread sends. The lines carry nothing else. */
static void *
return_balls(void *arg)
{
	uint32_t seen = 0;

	on_cpu(court.cpus[1]);
	court.shares[1] = share();
	while (!atomic_load_explicit(&court.over, memory_order_relaxed)) {
		const uint32_t ball = atomic_load_explicit(&court.ball, memory_order_relaxed);

		if (ball != seen)
			atomic_store_explicit(&court.back, ball, memory_order_relaxed);
		seen = ball;
	}
	return NULL;
}

static double
distance_ns(void)
{
	static double looks[LOOKS];
	uint32_t ball = 0;

	for (uint32_t i = 0; i < LOOKS; i++) {
		const uint64_t from = clock_ns(CLOCK_MONOTONIC);

		for (uint32_t n = 0; n < EXCHANGES; n++) {
			atomic_store_explicit(&court.ball, ++ball, memory_order_relaxed);
			while (atomic_load_explicit(&court.back, memory_order_relaxed) != ball)
				;
		}
		looks[i] = (double)(clock_ns(CLOCK_MONOTONIC) - from) / (2 * EXCHANGES);
		/* The two threads take turns on one CPU, or hardly run at all. */
		if (looks[i] > FAR_NS)
			return looks[i];
	}
	return median(looks);
}

int
main(int argc, char **argv)
{
	pthread_t other;
	double ns;

	if (argc != 1 && argc != 3) {
		fputs("cpu_pair [A B]\n", stderr);
		return 1;
	}
	for (uint32_t i = 0; i < 2; i++)
		court.cpus[i] = argc == 3 ? (uint32_t)strtoul(argv[1 + i], NULL, 10) : i;
	on_cpu(court.cpus[0]);
	if (pthread_create(&other, NULL, return_balls, NULL) != 0) {
		perror("cpu_pair: thread");
		return 1;
	}
	court.shares[0] = share();
	ns = distance_ns();
	/* Relaxed: the flag carries no data. */
	atomic_store_explicit(&court.over, true, memory_order_relaxed);
	pthread_join(other, NULL);
	printf("{\"distance_ns\": %.1f, \"shares\": [%.2f, %.2f]}\n", ns, court.shares[0],
	       court.shares[1]);
	return 0;
}
