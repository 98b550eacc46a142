/*
 * A hundred thousand connections on one core. Goal: all of them open, at ten thousand a second, all
 * are answered, cost nothing while they are idle, close or are closed for idling, and leave nothing
 * behind. Method: stacks as clients of a whole core. The instructions of a request and a timer with
 * few and with many connections are measured by tools (README); this test checks behaviour only.
 */
#include "sim_crowd.h"

#include "serve/serve_policy.h"

#include "support/test.h"

#include <time.h>

#define CONNS      100000u
#define A_SECOND   10000u
#define MS         1000000ull
#define SECOND     (1000 * MS)
#define IDLE_S     30u
#define EVERY_STEP (100 * 1000u)

static double
cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct stack_usage
usage(const struct crowd *w)
{
	struct stack_usage use;

	stack_usage_mt(w->sc->cores[0].core.stack, &use);
	return use;
}

/* Opens all connections; virtual time runs at the pace of A_SECOND. */
static void
open_all(struct crowd *w)
{
	const double began = cpu_s();

	crowd_run(w, 50 * MS, MS); /* ARP */
	for (uint32_t i = 0; i < CONNS; i += A_SECOND / 1000) {
		crowd_connect(w, A_SECOND / 1000);
		for (uint32_t k = 0; k < 10; k++)
			crowd_step(w, EVERY_STEP);
	}
	crowd_run(w, 2 * SECOND, MS);
	print_message("%u connections in %.2f s of CPU, both ends\n", CONNS, cpu_s() - began);
	check_eq(w->failed, 0);
	check_eq(w->opened, CONNS);
	check_eq(usage(w).conns_open, CONNS);
	check_eq(crowd_count(w, TCP_REFUSED_TABLE), 0);
	check_eq(crowd_count(w, TCP_COOKIES_SENT), 0);
	check_eq(crowd_count(w, TCP_TIMEOUT_SYN), 0);
}

static void
ask_all(struct crowd *w)
{
	const double began = cpu_s();

	for (uint32_t i = 0; i < CONNS; i++) {
		crowd_ask(w, i);
		if (i % 32 == 31)
			crowd_step(w, EVERY_STEP);
	}
	crowd_run(w, SECOND, MS);
	check_eq(w->answered, CONNS);
	print_message("each asked once: %.2f s of CPU, both ends\n", cpu_s() - began);
}

static void
nothing_is_left(struct crowd *w)
{
	const struct stack_usage use = usage(w);

	check_eq(use.conns, 0);
	check_eq(use.conns_open, 0);
	check_eq(use.chunks_used, 0);
	check_eq(use.rx_frames_held, 0);
	check_eq(crowd_count(w, TCP_ABORTED) + crowd_count(w, TCP_TIMEOUT), 0);
}

TEST(a_hundred_thousand_open_are_answered_and_close)
{
	struct crowd *w = crowd_create(CONNS);
	double began;
	uint64_t sent;

	open_all(w);
	ask_all(w);
	check_eq(usage(w).chunks_used, 0);
	sent = crowd_count(w, TX_FRAMES);
	began = cpu_s();
	for (uint32_t i = 0; i < 10000; i++)
		crowd_turn(w);
	print_message("an idle turn: %.0f ns\n", (cpu_s() - began) * 1e9 / 10000);
	check_eq(crowd_count(w, TX_FRAMES), sent);
	for (uint32_t i = 0; i < CONNS; i++) {
		crowd_close(w, i);
		if (i % 32 == 31)
			crowd_step(w, EVERY_STEP);
	}
	crowd_run(w, 3 * SECOND, MS);
	check_eq(w->gone, CONNS);
	nothing_is_left(w);
	crowd_destroy(w);
}

TEST(a_hundred_thousand_that_idle_are_closed)
{
	struct crowd *w = crowd_create(CONNS);
	const struct serve_policy policy = {.idle_timeout_s = IDLE_S};
	const struct counter *kicks;

	serve_shared_set_policy(w->sc->shared, &policy);
	kicks = &serve_counters(w->sc->cores[0].core.serve)[CONN_IDLE_KICKS];
	open_all(w);
	ask_all(w);
	/* Every client has sent a request in the last twenty seconds or so: none is idle for long
	 * enough yet. */
	check_eq(counter_read(kicks), 0);
	crowd_run(w, (IDLE_S + 10) * SECOND, MS / 2);
	check_eq(counter_read(kicks), CONNS);
	check_eq(w->gone, CONNS);
	crowd_run(w, 3 * SECOND, MS);
	nothing_is_left(w);
	crowd_destroy(w);
}
