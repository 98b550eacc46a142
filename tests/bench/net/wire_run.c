/*
 * wire_run.c - the two threads, their commands and their results.
 */
#include "wire_run.h"

#include "base/time_units.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define POLL_NS        500000l
#define ECHO_TRIES     50u
#define REST_POLLS     120000u /* a minute */
#define FILL_DEPTH     128u
#define FILL_DEPTH_TCP 8u
#define SERVER         0
#define CLIENT         1

enum run_state { RUN_TURNS, RUN_ECHO, RUN_ECHO_OVER, RUN_RESTS };

static void
on_cpu(uint32_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) {
		fprintf(stderr, "bench_wire: CPU %u is not ours\n", cpu);
		exit(1);
	}
}

static void
rest(void)
{
	const struct timespec t = {0, POLL_NS};

	nanosleep(&t, NULL);
}

/* Returns the state of the run. The load pairs with the stores of the thread that gives commands.
 * Only RUN_ECHO publishes data: it is set after the asker was made ready. */
static uint32_t
state_of(struct wire_run *r)
{
	return atomic_load_explicit(&r->state, memory_order_acquire);
}

static bool
goes_on(struct wire_run *r)
{
	return !atomic_load_explicit(&r->stop, memory_order_relaxed);
}

static void
sleep_until_woken(struct wire_run *r)
{
	pthread_mutex_lock(&r->lock);
	r->asleep++;
	while (state_of(r) == RUN_RESTS)
		pthread_cond_wait(&r->woken, &r->lock);
	r->asleep--;
	pthread_mutex_unlock(&r->lock);
}

static void *
serve(void *arg)
{
	struct wire_run *r = arg;
	struct port *port = &r->wire.end[SERVER].port;

	on_cpu(r->cpus[SERVER]);
	pthread_setname_np(pthread_self(), "server");
	while (goes_on(r)) {
		const uint32_t state = state_of(r);

		if (likely(state == RUN_TURNS))
			core_turn(&r->fixture.core, tsc_clock_ns(&r->clock));
		else if (state == RUN_RESTS)
			sleep_until_woken(r);
		else
			echo_answer(port);
	}
	return NULL;
}

/* Runs one turn, and records the rate at the end of each slice. */
static inline void
ask(struct wire_run *r, uint64_t *from_ns, uint64_t *from_count)
{
	const uint64_t now_ns = tsc_clock_ns(&r->clock);
	const struct load_result *res = load_core_result(r->client.core);
	uint64_t count;

	load_core_turn(r->client.core, now_ns);
	wire_flood_turn(&r->flood, now_ns);
	if (r->fleet.servers != 0)
		core_turn(&r->fleet.fixture.core, now_ns);
	if (likely(now_ns - *from_ns < SLICE_NS))
		return;
	count = counter_read(&res->measured[LOAD_ANSWERED]);
	if (count > *from_count && r->slices < SLICES_MAX)
		r->slice[r->slices++] =
			(float)((double)(count - *from_count) * 1e9 / (double)(now_ns - *from_ns));
	*from_ns = now_ns;
	*from_count = count;
}

static void *
generate(void *arg)
{
	struct wire_run *r = arg;
	uint64_t from_ns = 0, from_count = 0;

	on_cpu(r->cpus[CLIENT]);
	pthread_setname_np(pthread_self(), "client");
	while (goes_on(r)) {
		const uint32_t state = state_of(r);

		if (likely(state == RUN_TURNS))
			ask(r, &from_ns, &from_count);
		if (unlikely(state == RUN_RESTS))
			sleep_until_woken(r);
		if (likely(state != RUN_ECHO))
			continue;
		echo_ask_begin(&r->asker, &r->wire.end[CLIENT].port, NULL, r->echo_span_ns,
			       tsc_clock_ns(&r->clock));
		while (echo_ask(&r->asker, tsc_clock_ns(&r->clock)))
			;
		/* Pairs with the load in state_of. */
		atomic_store_explicit(&r->state, RUN_ECHO_OVER, memory_order_release);
	}
	return NULL;
}

void
wire_run_start(struct wire_run *r, const struct bench_workload *workload, uint32_t memory_mib)
{
	const uint8_t mac[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};
	struct bench_shared shared;
	struct region region = {0};

	r->workload = *workload;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->woken, NULL);
	bench_client_plan(&r->client, workload);
	region = bench_region(bench_shared_bytes(memory_mib, 1) + bench_fixture_bytes() +
				      wire_bytes() + bench_client_bytes(&r->client, workload) +
				      wire_fleet_bytes(&r->fleet, memory_mib) +
				      wire_flood_bytes(&r->flood),
			      &r->hugepages);
	r->fixture.hugepages = r->hugepages;
	wire_make(&r->wire, &region, mac);
	r->wire.end[CLIENT].is_client = true;
	if (r->lends)
		wire_lend(&r->wire.end[SERVER]);
	bench_shared_make(&shared, memory_mib, 1, &region);
	if (r->fleet.servers != 0)
		wire_fleet_make(&r->fleet, &r->fixture, &shared, memory_mib, &region, &r->wire);
	else
		bench_fixture_create_on_port(&r->fixture, &shared, 0, &region,
					     &r->wire.end[SERVER].port);
	wire_flood_make(&r->flood, &r->fixture, &region, &r->wire.end[CLIENT]);
	bench_client_make(&r->client, workload, &region,
			  r->fleet.servers != 0 ? &r->fleet.split.side[0].port
						: &r->wire.end[CLIENT].port);
	tsc_clock_begin(&r->clock);
	tsc_clock_finish(&r->clock);
	r->fixture.core.start_ns = r->fixture.core.last_ns = tsc_clock_ns(&r->clock);
	r->fleet.fixture.core.start_ns = r->fleet.fixture.core.last_ns = r->fixture.core.start_ns;
	if (pthread_create(&r->threads[SERVER], NULL, serve, r) != 0 ||
	    pthread_create(&r->threads[CLIENT], NULL, generate, r) != 0) {
		perror("bench_wire: thread");
		exit(1);
	}
}

static uint32_t
asleep(struct wire_run *r)
{
	uint32_t found;

	pthread_mutex_lock(&r->lock);
	found = r->asleep;
	pthread_mutex_unlock(&r->lock);
	return found;
}

void
wire_run_rest(struct wire_run *r, bool rests)
{
	/* Pairs with the loads in state_of. The lock ensures that a thread about to wait does not
	 * miss it. */
	pthread_mutex_lock(&r->lock);
	atomic_store_explicit(&r->state, rests ? RUN_RESTS : RUN_TURNS, memory_order_release);
	pthread_cond_broadcast(&r->woken);
	pthread_mutex_unlock(&r->lock);
	while (asleep(r) != (rests ? 2 : 0))
		rest();
}

void
wire_run_end(struct wire_run *r)
{
	wire_run_rest(r, false);
	/* Pairs with the load in the threads' loops; it carries no data. */
	atomic_store_explicit(&r->stop, true, memory_order_relaxed);
	pthread_join(r->threads[SERVER], NULL);
	pthread_join(r->threads[CLIENT], NULL);
}

static double
echo_once(struct wire_run *r)
{
	/* This store and the one below pair with the loads in state_of. */
	atomic_store_explicit(&r->state, RUN_ECHO, memory_order_release);
	while (state_of(r) != RUN_ECHO_OVER)
		rest();
	atomic_store_explicit(&r->state, RUN_TURNS, memory_order_release);
	rest(); /* frames still in flight arrive and are dropped */
	return echo_frames_per_s(&r->asker);
}

double
wire_run_echo(struct wire_run *r, uint64_t span_ns)
{
	double frames_s = 0;

	r->echo_span_ns = span_ns;
	/* On a busy machine one of the two threads may not have run at all. */
	for (uint32_t i = 0; i < ECHO_TRIES && frames_s == 0; i++)
		frames_s = echo_once(r);
	return frames_s;
}

static void
run_command(struct wire_run *r, const struct load_command *command)
{
	r->slices = 0;
	load_core_command_mt(r->client.core, command);
	while (!load_core_done_mt(r->client.core))
		rest();
	bench_client_check(&r->client);
}

void
wire_run_fill(struct wire_run *r)
{
	const bool tcp = r->workload.transport == LOAD_TCP;
	const struct load_command command = {
		.task = LOAD_FILL,
		.conns = r->workload.conns,
		.depth = tcp ? FILL_DEPTH_TCP : FILL_DEPTH,
	};

	run_command(r, &command);
	if (bench_client_count(&r->client, LOAD_STORED) != r->workload.keys) {
		fputs("bench_wire: not all keys were stored\n", stderr);
		exit(1);
	}
	/* The index has grown with the keys, and migrates bucket by bucket to its larger
	 * table. */
	for (uint32_t i = 0; i < REST_POLLS && bench_fixture_resizing(&r->fixture); i++)
		rest();
}

static int
by_size(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Returns 0 if b is 0. */
static double
ratio(double a, double b)
{
	return b == 0 ? 0 : a / b;
}

struct served {
	uint64_t busy_ns, total_ns, busy_turns, frames, sent, refused;
};

static struct served
served(const struct wire_run *r)
{
	const struct counter *c = r->fixture.core.counters;
	const struct counter *s = stack_counters(r->fixture.stack);

	return (struct served){
		counter_read(&c[CORE_BUSY_NS]),
		counter_read(&c[CORE_TOTAL_NS]),
		turn_times_count(&r->fixture.core.times),
		counter_read(&s[RX_FRAMES]),
		counter_read(&s[TX_FRAMES]),
		counter_read(&s[KERNEL_DROP_RATE]),
	};
}

static void
row_of_server(struct wire_row *row, const struct served *from, const struct served *to,
	      double requests)
{
	const double busy_ns = (double)(to->busy_ns - from->busy_ns);

	row->server_busy = ratio(busy_ns, (double)(to->total_ns - from->total_ns));
	row->server_ns = ratio(busy_ns, requests);
	row->server_burst = ratio((double)(to->frames - from->frames),
				  (double)(to->busy_turns - from->busy_turns));
	row->server_turn_ns = ratio(busy_ns, (double)(to->busy_turns - from->busy_turns));
	row->server_in = ratio((double)(to->frames - from->frames), requests);
	row->server_out = ratio((double)(to->sent - from->sent), requests);
	row->served = requests;
	row->refused = (double)(to->refused - from->refused);
	row->refused_s = ratio(1e9 * row->refused, (double)(to->total_ns - from->total_ns));
}

static void
row_of_client(struct wire_run *r, struct wire_row *row)
{
	const struct load_result *res = load_core_result(r->client.core);
	const struct counter *m = res->measured;
	const double s = (double)res->measured_ns / 1e9;
	const double answered = (double)counter_read(&m[LOAD_ANSWERED]);

	row->requests = answered;
	row->requests_s = answered / s;
	row->keys_s = (double)counter_read(&m[LOAD_KEYS_ASKED]) / s;
	row->bytes_s = (double)counter_read(&m[LOAD_RECEIVED_BYTES]) / s;
	row->p50_us = (double)histogram_quantile(&res->latency, 0.5) / NS_PER_US;
	row->p99_us = (double)histogram_quantile(&res->latency, 0.99) / NS_PER_US;
	row->p999_us = (double)histogram_quantile(&res->latency, 0.999) / NS_PER_US;
	row->generator_busy = (double)counter_read(&m[LOAD_BUSY_NS]) / (double)res->measured_ns;
	row->generator_ns = ratio((double)counter_read(&m[LOAD_BUSY_NS]), answered);
	qsort(r->slice, r->slices, sizeof r->slice[0], by_size);
	if (r->slices != 0) {
		row->slice_median = (double)r->slice[r->slices / 2];
		row->slice_best = (double)r->slice[r->slices - 1 - r->slices / 10];
	}
}

static double
residence_us(const struct wire_run *r, double share)
{
	const uint64_t ticks = histogram_quantile(&r->wire.end[CLIENT].residence, share);

	const uint64_t from = r->clock.base.tsc;

	return (double)(tsc_clock_ns_at(&r->clock, from + ticks) -
			tsc_clock_ns_at(&r->clock, from)) /
	       NS_PER_US;
}

void
wire_run_command(struct wire_run *r, const struct load_command *command, bool residence,
		 struct wire_row *row)
{
	struct served from, to;

	histogram_clear(&r->wire.end[CLIENT].residence);
	/* No frame is in flight: both ends see the change before the next frame. */
	for (uint32_t i = 0; i < 2; i++)
		atomic_store_explicit(&r->wire.end[i].timed, residence, memory_order_relaxed);
	*row = (struct wire_row){0};
	from = served(r);
	run_command(r, command);
	to = served(r);
	row_of_server(row, &from, &to, (double)bench_client_count(&r->client, LOAD_ANSWERED));
	row_of_client(r, row);
	if (!residence)
		return;
	row->residence_p50_us = residence_us(r, 0.5);
	row->residence_p99_us = residence_us(r, 0.99);
	row->residence_p999_us = residence_us(r, 0.999);
}
