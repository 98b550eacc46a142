/*
 * load_coordinator.c - fill, runs and sweeps in order; progress, silence of the server, signals.
 */
#include "load_coordinator.h"
#include "load/knee.h"
#include "load_output.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS         50000000l
#define TICKS_S         20u
#define NO_ANSWER_TICKS (3 * TICKS_S) /* without any answer the server is absent */
#define STOP_TICKS      (2 * TICKS_S) /* ticks for connections to close */
#define KNEE_CLOSE      1.03
#define KNEE_MISSED     0.001 /* largest share of missed requests at a rate that was reached */
#define BAR_CELLS       40u
/* With fewer requests a 99th percentile means nothing. */
#define SWEEP_REQUESTS 100.0

static sigset_t
our_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	return set;
}

void
load_coordinator_block_signals(void)
{
	sigset_t set = our_signals();

	sigaddset(&set, SIGPIPE); /* a write to the socket of a server that has ended raises it */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static uint64_t
count_now(const struct load_program *p, enum load_counter which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->config.cores; i++) {
		const struct load_result *r = load_core_result(p->workers[i].core);

		sum += counter_read(&r->all[which]) + counter_read(&r->measured[which]);
	}
	return sum;
}

static bool
all_done(const struct load_program *p)
{
	for (uint32_t i = 0; i < p->config.cores; i++)
		if (!load_core_done_mt(p->workers[i].core))
			return false;
	return true;
}

/* Sleeps for a tick. False after a signal. */
static bool
tick(void)
{
	const struct timespec t = {0, TICK_NS};
	const sigset_t set = our_signals();

	return sigtimedwait(&set, NULL, &t) < 0;
}

static bool
report_no_answer(struct load_program *p)
{
	const struct load_options *o = &p->options;
	const uint32_t ip = o->server;
	uint64_t arp = 0;

	for (uint32_t i = 0; i < p->config.cores; i++)
		arp += counter_read(&stack_counters(p->workers[i].stack)[ARP_LEARNED]);
	p->failed = true;
	return error_set(&p->error, "no answer from %u.%u.%u.%u:%u over %s in %u s: %s", ip >> 24,
			 ip >> 16 & 255, ip >> 8 & 255, ip & 255, o->server_port,
			 o->transport == LOAD_UDP ? "UDP" : "TCP", NO_ANSWER_TICKS / TICKS_S,
			 arp == 0 ? "no ARP reply; are port and address right, and "
				    "is the server running?"
			 : o->transport == LOAD_UDP ? "does the server listen on UDP (-U)?"
						    : "does the server listen on that port?");
}

static void
show_progress(const struct load_program *p, uint64_t done, uint64_t all)
{
	const uint32_t cells = (uint32_t)(done * BAR_CELLS / (all != 0 ? all : 1));

	if (p->options.quiet || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\rstoring [%-*.*s] %llu of %llu keys", (int)BAR_CELLS, (int)cells,
		"########################################", (unsigned long long)done,
		(unsigned long long)all);
	if (done >= all)
		fputs("\n", stderr);
}

static void
start_cores(struct load_program *p, const struct load_command *command)
{
	for (uint32_t i = 0; i < p->config.cores; i++) {
		struct load_command own = *command;
		const uint32_t n = p->config.cores;

		/* The remainder of connections goes to the first cores. */
		own.conns = command->conns / n + (i < command->conns % n);
		own.rate = command->rate / n;
		load_core_command_mt(p->workers[i].core, &own);
	}
}

/* Handles a signal: requests in flight are still awaited, then no more runs begin. */
static void
interrupt(struct load_program *p)
{
	atomic_store(&p->interrupted, true);
	for (uint32_t i = 0; i < p->config.cores; i++)
		load_core_cancel_mt(p->workers[i].core);
}

/* Waits until the cores are done. False if the server is silent. */
static bool
wait_done(struct load_program *p, bool fill)
{
	uint64_t seen = 0;
	uint32_t silent = 0;

	while (!all_done(p)) {
		const uint64_t answered = count_now(p, LOAD_ANSWERED);

		silent = answered == seen ? silent + 1 : 0;
		seen = answered;
		if (seen == 0 && silent > NO_ANSWER_TICKS)
			return report_no_answer(p);
		if (fill)
			show_progress(p, answered, p->workload.keys.n);
		if (!tick())
			interrupt(p);
	}
	return count_now(p, LOAD_ANSWERED) != 0 || report_no_answer(p);
}

static void
merge(struct load_program *p)
{
	load_result_clear(p->merged);
	for (uint32_t i = 0; i < p->config.cores; i++)
		load_result_merge(p->merged, load_core_result(p->workers[i].core));
	p->report->wrong += load_result_wrong(p->merged);
	if (!p->report->mismatch.seen)
		p->report->mismatch = p->merged->mismatch;
}

static bool
fill(struct load_program *p)
{
	const struct load_options *o = &p->options;
	const struct load_command command = {
		.task = LOAD_FILL,
		.conns = o->conns,
		.depth = o->transport == LOAD_UDP ? FILL_DEPTH_UDP : FILL_DEPTH_TCP,
	};
	uint64_t stored;

	start_cores(p, &command);
	if (!wait_done(p, true))
		return false;
	merge(p);
	stored = counter_read(&p->merged->all[LOAD_STORED]);
	show_progress(p, stored, stored);
	if (atomic_load(&p->interrupted))
		return false;
	if (stored == p->workload.keys.n)
		return true;
	p->failed = true;
	return error_set(
		&p->error,
		"only %llu of %u keys were stored: %llu refused, %llu lost; more memory for "
		"the server (-m), or fewer --keys",
		(unsigned long long)stored, p->workload.keys.n,
		(unsigned long long)counter_read(&p->merged->all[LOAD_REFUSED]),
		(unsigned long long)counter_read(&p->merged->all[LOAD_LOST]));
}

/* Makes one run. Returns its point, the report's last; NULL if the run failed. */
static struct load_point *
run_once(struct load_program *p, uint32_t conns, uint32_t depth, double rate)
{
	const struct load_options *o = &p->options;
	const struct load_command command = {
		.task = LOAD_RUN,
		.conns = conns,
		.depth = depth,
		.rate = rate,
		.arrivals = o->arrivals,
		.warmup_ns = (uint64_t)(o->warmup * 1e9),
		.measure_ns = (uint64_t)(o->seconds * 1e9),
		.requests = o->requests,
	};
	struct load_point *point = &p->report->point[p->report->count];

	if (p->report->count == LOAD_POINTS_MAX) {
		p->failed = true;
		error_set(&p->error, "--vary: more than %u runs together", LOAD_POINTS_MAX);
		return NULL;
	}
	start_cores(p, &command);
	if (!wait_done(p, false))
		return NULL;
	merge(p);
	*point = (struct load_point){
		.conns = o->transport == LOAD_TCP ? conns : 0,
		.depth = depth,
		.rate = rate,
	};
	load_point_fill(point, p->merged, p->config.cores);
	load_table_row(stdout, point);
	p->report->count++;
	if (atomic_load(&p->interrupted))
		return NULL;
	if (point->measured[LOAD_ANSWERED] == 0) {
		p->failed = true;
		error_set(&p->error, "no answer in the measured time: %llu requests were lost",
			  (unsigned long long)point->all[LOAD_LOST]);
		return NULL;
	}
	return point;
}

static bool
slo_met(const struct load_options *o, const struct load_point *point)
{
	const double us = o->slo == SLO_MEAN ? point->mean_us : point->p99_us;

	return us <= o->slo_us && load_point_missed(point) <= KNEE_MISSED;
}

/* True if no rate can meet the SLO: even such a low rate misses it. */
static bool
is_hopeless(const struct knee *k, double rate, double seconds)
{
	return k->runs != 0 && k->met == 0 && rate * seconds < SWEEP_REQUESTS;
}

static bool
sweep(struct load_program *p, uint32_t conns, uint32_t depth)
{
	struct knee knee;
	double rate;

	knee_start(&knee, p->options.sweep_from, KNEE_CLOSE);
	while (knee_next(&knee, &rate) && !is_hopeless(&knee, rate, p->options.seconds)) {
		const struct load_point *point = run_once(p, conns, depth, rate);

		if (point == NULL)
			return false;
		knee_record(&knee, slo_met(&p->options, point));
	}
	p->knee_rate = knee.met;
	load_output_knee(p, conns, depth);
	return true;
}

static bool
runs(struct load_program *p)
{
	const struct load_options *o = &p->options;
	const uint32_t times = o->vary == VARY_NOTHING ? 1 : o->vary_count;

	load_table_head(stdout);
	for (uint32_t i = 0; i < times; i++) {
		const uint32_t conns = o->vary == VARY_CONNECTIONS ? o->vary_values[i] : o->conns;
		const uint32_t depth = o->vary == VARY_DEPTH ? o->vary_values[i] : o->depth;

		if (o->slo != SLO_NONE ? !sweep(p, conns, depth)
				       : run_once(p, conns, depth, o->rate) == NULL)
			return false;
	}
	return true;
}

static void
stop_cores(struct load_program *p)
{
	const struct load_command command = {.task = LOAD_IDLE};

	if (!all_done(p))
		return; /* the run ended because the server is silent */
	start_cores(p, &command);
	for (uint32_t i = 0; i < STOP_TICKS && !all_done(p); i++)
		tick();
}

static void *
coordinate(void *arg)
{
	struct load_program *p = arg;
	const struct load_options *o = &p->options;

	/* Threads inherit the main thread's CPU, which a core never yields. */
	pthread_setaffinity_np(pthread_self(), sizeof p->all_cpus, &p->all_cpus);
	if ((o->no_fill || fill(p)) && !o->fill_only)
		runs(p);
	stop_cores(p);
	/* Pairs with the load in load_program.c. */
	atomic_store_explicit(&p->stop, true, memory_order_relaxed);
	return NULL;
}

bool
load_coordinator_start(pthread_t *thread, struct load_program *p, struct error *err)
{
	const int rc = pthread_create(thread, NULL, coordinate, p);

	return rc == 0 || error_set(err, "cannot start the coordinator: %s", strerror(rc));
}
