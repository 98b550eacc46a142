/*
 * The load generator against the appliance, in one process. Goal: over UDP and TCP, with loss and
 * without, every request is answered, lost or refused, and counted as such; values are verified,
 * and one wrong byte in the server's memory is detected; an open loop measures latency from its
 * schedule. Method: a cable in memory, a virtual clock, and the store's own interface to corrupt an
 * item.
 */
#include "sim_load.h"

#include "support/test.h"

#define MS 1000000ull
#define S  1000000000ull

static const struct sim_faults perfect = {.delay_ns = 10000};

static struct workload
workload_of(enum load_protocol protocol, uint32_t value_least, uint32_t value_most)
{
	struct workload w = {
		.protocol = protocol,
		.keys = {.kind = KEYS_UNIFORM, .n = 500},
		.set_share = 0.1,
		.multiget = 1,
	};

	size_distribution_uniform(&w.key_size, 12, 40);
	size_distribution_uniform(&w.value_size, value_least, value_most);
	return w;
}

static struct load_command
fill_order(void)
{
	return (struct load_command){.task = LOAD_FILL, .conns = 4, .depth = 8};
}

static struct load_command
run_order(double rate)
{
	return (struct load_command){
		.task = LOAD_RUN,
		.conns = 8,
		.depth = 4,
		.rate = rate,
		.warmup_ns = 5 * MS,
		.measure_ns = 50 * MS,
	};
}

static void
check_no_lies(const struct sim_load *sl)
{
	check_eq(sim_load_count(sl, LOAD_WRONG_KEY), 0);
	check_eq(sim_load_count(sl, LOAD_WRONG_VALUE), 0);
	check_eq(sim_load_count(sl, LOAD_BROKEN), 0);
}

static const struct row {
	enum load_transport transport;
	enum load_protocol protocol;
	uint32_t value_least, value_most;
	uint32_t multiget;
	uint32_t lose; /* permille */
	double delete_share;
} rows[] = {
	{LOAD_UDP, LOAD_TEXT, 0, 100, 1, 0, 0},     {LOAD_UDP, LOAD_META, 32, 32, 1, 0, 0},
	{LOAD_UDP, LOAD_TEXT, 32, 900, 8, 0, 0},    {LOAD_UDP, LOAD_TEXT, 0, 100, 1, 30, 0.1},
	{LOAD_TCP, LOAD_TEXT, 0, 100, 1, 0, 0},     {LOAD_TCP, LOAD_META, 0, 100, 5, 0, 0.05},
	{LOAD_TCP, LOAD_TEXT, 32, 32, 30, 0, 0},    {LOAD_TCP, LOAD_TEXT, 5, 5000, 1, 0, 0},
	{LOAD_TCP, LOAD_TEXT, 1, 300, 2, 20, 0.05}, {LOAD_TCP, LOAD_TEXT, 9000, 30000, 1, 0, 0},
};

TEST(every_request_is_accounted_for)
{
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct row *row = &rows[i];
		const struct sim_faults faults = {.delay_ns = 10000, .lose = row->lose};
		const struct load_command fill = fill_order(), run = run_order(0),
					  rest = {.task = LOAD_IDLE};
		struct workload w = workload_of(row->protocol, row->value_least, row->value_most);
		struct sim_load *sl;

		w.multiget = row->multiget;
		w.delete_share = row->delete_share;
		sl = sim_load_create(&w, row->transport, &faults, 50 + i);
		check(sim_load_execute(sl, &fill, 60 * S));
		check_eq(sim_load_count(sl, LOAD_STORED), w.keys.n);
		check_no_lies(sl);

		check(sim_load_execute(sl, &run, 60 * S));
		check_no_lies(sl);
		check(sim_load_count(sl, LOAD_ANSWERED) > 100);
		check_eq(sim_load_count(sl, LOAD_ANSWERED) + sim_load_count(sl, LOAD_LOST),
			 sim_load_count(sl, LOAD_SENT));
		check_eq(sim_load_count(sl, LOAD_HITS) + sim_load_count(sl, LOAD_MISSES),
			 sim_load_count(sl, LOAD_KEYS_ASKED));
		check(sim_load_count(sl, LOAD_STORED) > 0);
		if (row->delete_share == 0 && row->lose == 0)
			check_eq(sim_load_count(sl, LOAD_MISSES), 0);
		if (row->lose == 0)
			check_eq(sim_load_count(sl, LOAD_LOST) + sim_load_count(sl, LOAD_LATE), 0);
		else if (row->transport == LOAD_UDP)
			check(sim_load_count(sl, LOAD_LOST) > 0);
		check_eq(load_core_result(sl->core)->latency.count,
			 counter_read(&load_core_result(sl->core)->measured[LOAD_ANSWERED]));
		check(sim_load_execute(sl, &rest, 60 * S));
		sim_load_destroy(sl);
	}
}

/* Flips one byte of the key's value in the store. */
static void
spoil(struct sim_load *sl, const struct workload *w, uint32_t key)
{
	struct store_core *sc = store_core_of(sl->server->store, 0);
	const uint32_t len = workload_value_len(w, key);
	uint8_t key_text[ITEM_KEY_ROOM], value[256];
	const struct view k = {key_text, workload_key_len(w, key)};
	struct item_value v;
	struct fill f;

	item_key_put(key_text, key, k.len);
	item_value_begin(&v, key, len, 3);
	item_value_put(&v, value, len);
	value[len / 2] ^= 0x10;
	check_eq(store_begin(sc, &f, k, store_hash(sc, k), len, 0, 0), STORE_OK);
	store_fill(sc, &f, value, len);
	check_eq(store_finish(sc, &f, STORE_SET, 0), STORE_OK);
}

TEST(a_wrong_byte_in_the_server_is_seen)
{
	for (uint32_t i = 0; i < 2; i++) {
		const struct load_command fill = fill_order(), run = run_order(0);
		struct workload w = workload_of(LOAD_TEXT, 32, 32);
		struct sim_load *sl;

		w.set_share = 0;
		sl = sim_load_create(&w, i == 0 ? LOAD_UDP : LOAD_TCP, &perfect, 9);
		check(sim_load_execute(sl, &fill, S));
		spoil(sl, &w, 123);
		check(sim_load_execute(sl, &run, S));
		check(sim_load_count(sl, LOAD_WRONG_VALUE) > 0);
		check(load_core_result(sl->core)->mismatch.seen);
		check_eq(load_core_result(sl->core)->mismatch.key, 123);
		check_eq(sim_load_count(sl, LOAD_WRONG_KEY) + sim_load_count(sl, LOAD_BROKEN), 0);
		check_eq(sim_load_count(sl, LOAD_MISSES), 0);
		sim_load_destroy(sl);
	}
}

/* 100,000 a second for 50 ms. */
TEST(an_open_loop_follows_its_schedule)
{
	for (uint32_t i = 0; i < 2; i++) {
		const struct load_command fill = fill_order();
		struct load_command run = run_order(100000);
		struct workload w = workload_of(LOAD_TEXT, 32, 32);
		struct sim_load *sl =
			sim_load_create(&w, i == 0 ? LOAD_UDP : LOAD_TCP, &perfect, 4);
		const struct load_result *r = load_core_result(sl->core);

		run.depth = 64;
		check(sim_load_execute(sl, &fill, S));
		check(sim_load_execute(sl, &run, S));
		check_eq(counter_read(&r->measured[LOAD_UNSENT]), 0);
		check(counter_read(&r->measured[LOAD_SENT]) >= 4999);
		check(counter_read(&r->measured[LOAD_SENT]) <= 5001);
		/* The round trip, and a step or two of the clock. */
		check(histogram_quantile(&r->latency, 0.99) < 60000);
		check(histogram_quantile(&r->latency, 0.5) >= 20000);
		sim_load_destroy(sl);
	}
}

/* The cable sometimes delays a frame by 5 ms, and one request is sent at a time. Requests that were
 * due meanwhile count as late, though each is answered at once when it is sent. */
TEST(a_stall_counts_for_every_request_that_was_due_in_it)
{
	const struct load_command fill = fill_order();
	struct load_command run = run_order(20000);
	struct workload w = workload_of(LOAD_TEXT, 32, 32);
	struct sim_load *sl = sim_load_create(&w, LOAD_UDP, &perfect, 4);
	const struct load_result *r = load_core_result(sl->core);

	run.depth = 1;
	check(sim_load_execute(sl, &fill, S));
	sl->wire->faults = (struct sim_faults){.delay_ns = 10000, .late = 5, .jitter_ns = 10 * MS};
	check(sim_load_execute(sl, &run, S));
	check(counter_read(&r->measured[LOAD_SENT]) > 500);
	/* Five in a thousand frames are late, but far more than one in a hundred requests. */
	check(histogram_quantile(&r->latency, 0.90) > MS);
	sim_load_destroy(sl);
}

/* Answers arrive after their request has timed out, when another request has its slot. */
TEST(a_late_answer_is_not_taken_for_the_next_requests)
{
	const struct load_command fill = fill_order();
	struct load_command run = run_order(0);
	struct workload w = workload_of(LOAD_TEXT, 32, 32);
	struct sim_load *sl = sim_load_create(&w, LOAD_UDP, &perfect, 6);

	run.depth = 16;
	run.measure_ns = 400 * MS;
	check(sim_load_execute(sl, &fill, S));
	sl->wire->faults =
		(struct sim_faults){.delay_ns = 10000, .late = 100, .jitter_ns = 90 * MS};
	check(sim_load_execute(sl, &run, 60 * S));
	check(sim_load_count(sl, LOAD_LATE) > 0);
	check(sim_load_count(sl, LOAD_LOST) > 0);
	check_no_lies(sl);
	sim_load_destroy(sl);
}

TEST(requests_of_an_ended_connection_are_lost_and_a_new_one_is_opened)
{
	const struct load_command fill = fill_order();
	struct load_command run = run_order(0);
	struct workload w = workload_of(LOAD_TEXT, 32, 32);
	struct sim_load *sl = sim_load_create(&w, LOAD_TCP, &perfect, 7);

	run.measure_ns = 200 * S;
	run.requests = 30000;
	check(sim_load_execute(sl, &fill, S));
	load_core_command_mt(sl->core, &run);
	for (uint32_t i = 0; i < 2000; i++)
		sim_load_turn(sl);
	sl->wire->faults.lose = 1000; /* for longer than the timeout of a request */
	sl->step_ns = MS;
	for (uint32_t i = 0; i < 25000; i++)
		sim_load_turn(sl);
	check_eq(sim_load_count(sl, LOAD_RESET), run.conns);
	sl->wire->faults.lose = 0;
	sl->step_ns = 5000;
	for (uint64_t i = 0; i < 10000000 && !load_core_done_mt(sl->core); i++)
		sim_load_turn(sl);
	check(load_core_done_mt(sl->core));
	check(sim_load_count(sl, LOAD_CONNECTED) >= run.conns + fill.conns);
	check_eq(counter_read(&load_core_result(sl->core)->measured[LOAD_SENT]), run.requests);
	check_eq(sim_load_count(sl, LOAD_LOST), run.conns * run.depth);
	check_eq(sim_load_count(sl, LOAD_ANSWERED) + sim_load_count(sl, LOAD_LOST),
		 sim_load_count(sl, LOAD_SENT));
	check_no_lies(sl);
	sim_load_destroy(sl);
}

TEST(a_run_has_the_connections_it_asks_for)
{
	static const uint32_t conns[] = {8, 2, 40, 1};
	const struct load_command fill = fill_order();
	struct workload w = workload_of(LOAD_TEXT, 32, 32);
	struct sim_load *sl = sim_load_create(&w, LOAD_TCP, &perfect, 8);

	check(sim_load_execute(sl, &fill, S));
	for (uint32_t i = 0; i < sizeof conns / sizeof conns[0]; i++) {
		struct load_command run = run_order(0);
		struct stack_usage use;

		run.conns = conns[i];
		run.measure_ns = 5 * MS;
		check(sim_load_execute(sl, &run, S));
		stack_usage_mt(sl->stack, &use);
		check_eq(use.conns, conns[i]);
		check_eq(sim_load_count(sl, LOAD_LOST), 0);
		check_eq(sim_load_count(sl, LOAD_RESET), 0);
	}
	sim_load_destroy(sl);
}

TEST(a_run_that_is_cut_short_waits_for_what_it_sent)
{
	for (uint32_t i = 0; i < 2; i++) {
		const struct load_command fill = fill_order();
		struct load_command run = run_order(50000);
		struct workload w = workload_of(LOAD_TEXT, 32, 32);
		struct sim_load *sl =
			sim_load_create(&w, i == 0 ? LOAD_UDP : LOAD_TCP, &perfect, 10);

		run.measure_ns = 1000 * S;
		check(sim_load_execute(sl, &fill, S));
		load_core_command_mt(sl->core, &run);
		for (uint32_t k = 0; k < 4000; k++)
			sim_load_turn(sl);
		load_core_cancel_mt(sl->core);
		for (uint32_t k = 0; k < 100; k++)
			sim_load_turn(sl);
		check(load_core_done_mt(sl->core));
		check(sim_load_count(sl, LOAD_ANSWERED) > 500);
		check_eq(sim_load_count(sl, LOAD_ANSWERED), sim_load_count(sl, LOAD_SENT));
		check_eq(sim_load_count(sl, LOAD_UNSENT), 0);
		check(load_core_result(sl->core)->measured_ns < 20 * MS);
		/* The next order is measured in full. */
		run = run_order(0);
		check(sim_load_execute(sl, &run, S));
		check_eq(load_core_result(sl->core)->measured_ns, run.measure_ns);
		sim_load_destroy(sl);
	}
}

TEST(an_absent_server_ends_the_run)
{
	for (uint32_t i = 0; i < 2; i++) {
		const struct sim_faults cut = {.delay_ns = 10000, .lose = 1000};
		const struct load_command run = run_order(0), rest = {.task = LOAD_IDLE};
		struct workload w = workload_of(LOAD_TEXT, 32, 32);
		struct sim_load *sl = sim_load_create(&w, i == 0 ? LOAD_UDP : LOAD_TCP, &cut, 4);
		struct stack_usage usage;

		sl->step_ns = 50000;
		check(sim_load_execute(sl, &run, 60 * S));
		check_eq(sim_load_count(sl, LOAD_ANSWERED), 0);
		/* Connections that never opened are closed like others, and once. */
		for (uint32_t k = 0; k < 2; k++) {
			check(sim_load_execute(sl, &rest, MS));
			stack_usage_mt(sl->stack, &usage);
			check_eq(usage.conns, 0);
		}
		sim_load_destroy(sl);
	}
}
