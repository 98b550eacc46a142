/*
 * Peers that fill a pool over TLS: they do not finish a handshake, come again and again, or do not
 * read. Goal: other clients' handshakes and requests take at most half as long again at their p99
 * as without these peers, and none is refused, missed or reset.
 * Method: a whole core of the program's size with TLS, and a stack as its clients, on a cable of
 * 10 Gbit/s. The core is busy for what a turn did: the turn, each frame and request, and each step
 * of a handshake. The same run without these peers is the control. Each row of `crowds` is run with
 * the numbers and sources of peers that the argument says (sim_shares.h).
 */
#include "sim_tls_crowd.h"

#include "support/test.h"

#include <stdio.h>

#define BEGIN_NS    (300 * MS_NS)
#define JOINED_NS   (600 * MS_NS) /* hellos of all peers at once take the core so long */
#define MEASURED_NS SECOND_NS
#define LONGEST_US  8000u /* of any answer: a lost segment takes longer */

static const char *const kind_names[KINDS] = {
	[KIND_HELLO] = "connect and get", /* to the first answer */
	[KIND_GET_SMALL] = "get 1 KB",
	[KIND_GET_MIDDLE] = "get 20 KB",
	[KIND_SET_MIDDLE] = "set 20 KB",
};

struct result {
	uint32_t p99_us[KINDS], longest_us[KINDS];
	uint32_t answers, resets, good_resets, wrong;
};

static uint32_t
percentile_us(struct sim_waits *waits, uint32_t percent)
{
	return (uint32_t)(sim_waits_percentile(waits, percent) / 1000);
}

static struct result
result_of(struct tls_world *w)
{
	struct result r = {.resets = w->resets, .good_resets = w->good_resets, .wrong = w->wrong};

	print_message("%s: %u of %s %s: p50, p99, most of", w->crowd->row.pool, w->count - HONEST,
		      sim_sources_names[w->crowd->row.cell.sources], w->crowd->row.name);
	for (uint32_t i = 0; i < KINDS; i++) {
		struct sim_waits *waits = &w->kind[i];

		r.p99_us[i] = UINT32_MAX / 4;
		if (waits->count == 0)
			continue;
		r.p99_us[i] = percentile_us(waits, 99);
		r.longest_us[i] = percentile_us(waits, 100);
		r.answers += waits->count;
		print_message(" %s %u %u %u us,", kind_names[i], percentile_us(waits, 50),
			      r.p99_us[i], r.longest_us[i]);
	}
	print_message(" %u answers, %u wrong, %u resets, %u of others; %u handshakes, %u steps, %u "
		      "yielded\n",
		      r.answers, r.wrong, w->resets, r.good_resets,
		      (uint32_t)tls_count_of(w, TLS_HANDSHAKES),
		      (uint32_t)tls_count_of(w, TLS_STEPS),
		      (uint32_t)tls_count_of(w, TLS_HANDSHAKE_YIELDED));
	return r;
}

/* Measured from so long after the peers have joined. */
static struct result
honest_beside_after(const struct crowd *crowd, uint64_t after_ns)
{
	struct tls_world *w = tls_world_of(crowd);
	struct result r;

	check_eq(sim_service_set(&w->sim, "s", SMALL), STORE_OK);
	check_eq(sim_service_set(&w->sim, "m", MIDDLE), STORE_OK);
	check_eq(sim_service_set(&w->sim, "l", LARGE), STORE_OK);
	tls_world_join(w, false, HONEST);
	tls_world_run(w, BEGIN_NS);
	tls_world_join(w, true, crowd->row.cell.count);
	tls_world_run(w, after_ns);
	w->measures = true;
	tls_world_run(w, MEASURED_NS);
	r = result_of(w);
	tls_world_free(w);
	return r;
}

static struct result
honest_beside(const struct crowd *crowd)
{
	return honest_beside_after(crowd, JOINED_NS);
}

#define ROW(pool_, name_, count_) .row = {.pool = pool_, .name = name_, .cell = {count_, 0}}
#define WORST(pool_, name_, count_)                                                                \
	.row = {.pool = pool_, .name = name_, .cell = {count_, 0}, .worst = true}

static const struct crowd crowds[] = {
	/* Places of handshakes, and the core's time for their steps. */
	{ROW("handshakes", "end amid a hello", 900), .says = SAYS_HALF_A_HELLO},
	{ROW("handshakes", "end a record amid a hello", 900), .says = SAYS_HALF_A_RECORD},
	{WORST("handshakes", "end behind a hello", 900), .says = SAYS_HELLO},
	{ROW("handshakes", "end behind a hello, come again", 300), .says = SAYS_HELLO,
	 .again_ns = SECOND_NS},
	/* At PAUSE_NS, 45,000 connections a second of 20 us each would take nine tenths of the core
	 * before it knows that they are garbage. */
	{ROW("handshakes", "send garbage", 900), .says = SAYS_GARBAGE, .pause_ns = SECOND_NS / 2},
	{ROW("handshakes", "send nothing", 900)},
	/* Chunks of pipes and wires, and frames of the requests behind them. */
	{.row = {.pool = "replies",
		 .name = "do not read 1 KB",
		 .cell = {300, SIM_SOURCES_FAR},
		 .worst = true},
	 .asks = "get s\r\n"},
	{ROW("replies", "read a byte a second of 1 KB", 300), .asks = "get s\r\n", .rate = 1},
	{ROW("replies", "do not read 1 KB, come again", 300), .asks = "get s\r\n",
	 .again_ns = SECOND_NS},
	{ROW("replies", "do not read 900 KB", 300), .asks = "get l\r\n", .times = 4},
	/* Read buffers, one for each pipe with part of a request. */
	{WORST("lines", "end amid a line", 900), .asks = "get aaaaaaaa", .times = 1},
};

static bool
run_cell(void *arg, uint32_t i, struct sim_cell cell)
{
	const struct result *alone = arg;
	struct crowd crowd = crowds[i];
	struct result beside;
	bool good;

	crowd.row.cell = cell;
	beside = honest_beside(&crowd);
	good = sim_answers_hold(beside.answers, alone->answers) && beside.wrong == 0 &&
	       beside.good_resets == 0;
	for (uint32_t k = 0; k < KINDS; k++)
		good = good && sim_p99_holds(beside.p99_us[k], alone->p99_us[k]) &&
		       beside.longest_us[k] < LONGEST_US;
	return good;
}

static const char *asked;

TEST(peers_of_tls_slow_nobody_by_more_than_half)
{
	const struct crowd none = {ROW("control", "do nothing", 0)};
	struct result alone = honest_beside(&none);
	const struct sim_shares sh = {.asked = asked,
				      .drawn = 1,
				      .rows = sizeof crowds / sizeof *crowds,
				      .first = &crowds[0].row,
				      .stride = sizeof *crowds,
				      .run = run_cell,
				      .arg = &alone};

	check(sim_shares_run(&sh));
}

/* The core answers the hellos of all peers at once, the newest first. No peer is closed for want of
 * a place, so none connects again. */
TEST(a_burst_of_hellos_is_not_waited_for)
{
	const struct crowd none = {ROW("control", "do nothing", 0)};
	const struct crowd burst = {ROW("handshakes", "end behind a hello", 900),
				    .says = SAYS_HELLO};
	const struct result alone = honest_beside_after(&none, 0);
	const struct result beside = honest_beside_after(&burst, 0);

	check(beside.p99_us[KIND_HELLO] <= alone.p99_us[KIND_HELLO] * 4);
	check(beside.answers * 20 >= alone.answers * 19);
	check_eq(beside.resets, 0);
	check_eq(beside.good_resets, 0);
}

/* A hello waits for those before it. */
TEST(a_peer_that_says_hello_and_comes_again_slows_nobody)
{
	const struct crowd none = {ROW("control", "do nothing", 0)};
	const struct crowd again = {ROW("handshakes", "end behind a hello, come again", 300),
				    .says = SAYS_HELLO, .again_ns = SECOND_NS};
	const struct result alone = honest_beside(&none), beside = honest_beside(&again);

	check(beside.p99_us[KIND_HELLO] <= alone.p99_us[KIND_HELLO] * 3 / 2);
	check_eq(beside.good_resets, 0);
}

/* The chunks of such peers are in queues of wires and pipes, and in read buffers. */
TEST(a_crowd_that_reads_nothing_leaves_others_their_chunks)
{
	const struct crowd none = {ROW("control", "do nothing", 0)};
	const struct crowd full = {.row = {.pool = "replies",
					   .name = "do not read 900 KB",
					   .cell = {900, SIM_SOURCES_FAR}},
				   .asks = "get l\r\n",
				   .times = 4};
	const struct result alone = honest_beside(&none), beside = honest_beside(&full);

	check(beside.answers * 2 >= alone.answers);
	check(beside.p99_us[KIND_GET_SMALL] <= alone.p99_us[KIND_GET_SMALL] * 2);
	check_eq(beside.good_resets, 0);
}

int
main(int argc, char **argv)
{
	asked = argc > 1 ? argv[1] : NULL;
	if (asked != NULL)
		tests_filter(strncmp(asked, "a_", 2) == 0 ? asked : "peers_*");
	return tests_run(NULL, NULL);
}
