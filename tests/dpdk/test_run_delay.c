/*
 * The time that a thread waited for its CPU. Goal: a wait is reported once, and a check is due
 * after a long turn and at intervals. Method: another thread spins on the same CPU until this
 * one has waited; due times by a fake clock.
 */
#include "support/test.h"
#include "dpdk/run_delay.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOKS_MAX 100000000ull /* some 100 s: the other thread runs long before */
#define NOW       7000000000ull

TEST(a_look_is_due_after_a_long_turn_and_at_times)
{
	struct run_delay d;

	run_delay_begin(&d, NOW);
	check(d.fd >= 0);
	check(!run_delay_is_due(&d, NOW + 1000000, NOW + 1000000 - RUN_DELAY_LONG_NS));
	check(run_delay_is_due(&d, NOW + 1000000, NOW + 1000000 - RUN_DELAY_LONG_NS - 1));
	check(!run_delay_is_due(&d, NOW + RUN_DELAY_EVERY_NS - 1, NOW + RUN_DELAY_EVERY_NS - 2));
	check(run_delay_is_due(&d, NOW + RUN_DELAY_EVERY_NS, NOW + RUN_DELAY_EVERY_NS));
	run_delay_since_ns(&d, NOW + RUN_DELAY_EVERY_NS);
	check(!run_delay_is_due(&d, NOW + RUN_DELAY_EVERY_NS + 1, NOW + RUN_DELAY_EVERY_NS));
	run_delay_end(&d);
}

/* d is as run_delay_begin leaves it on a kernel that does not count waits. */
TEST(without_the_kernel_s_word_no_look_is_due)
{
	const struct run_delay d = {.fd = -1, .due_ns = UINT64_MAX};

	check(!run_delay_is_due(&d, NOW, NOW - RUN_DELAY_LONG_NS - 1));
	check(!run_delay_is_due(&d, NOW + RUN_DELAY_EVERY_NS, NOW));
}

static atomic_bool stop;

static void *
spin(void *unused)
{
	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		;
	return unused;
}

/* Pins this thread to one CPU, which new threads inherit. */
static void
pin_to_one_cpu(void)
{
	cpu_set_t all, one;

	check_eq(sched_getaffinity(0, sizeof all, &all), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		break;
	}
	check_eq(sched_setaffinity(0, sizeof one, &one), 0);
}

TEST(a_wait_is_reported_once)
{
	struct run_delay d;
	uint64_t since_ns = 0, sum, looks = 0;
	pthread_t other;

	pin_to_one_cpu();
	run_delay_begin(&d, NOW);
	sum = d.last_ns;
	check_eq(pthread_create(&other, NULL, spin, NULL), 0);
	while (since_ns == 0 && looks++ < LOOKS_MAX) {
		since_ns = run_delay_since_ns(&d, NOW);
		sum += since_ns;
	}
	atomic_store_explicit(&stop, true, memory_order_relaxed);
	pthread_join(other, NULL);
	check(since_ns > 1000);
	check_eq(sum, d.last_ns);
	run_delay_end(&d);
	check_eq(d.fd, -1);
}

int
main(void)
{
	if (access("/proc/thread-self/schedstat", R_OK) != 0) {
		puts("skipped: this kernel has no schedstat");
		return 77;
	}
	return tests_run(NULL, NULL);
}
