/*
 * wire_run.h - a core of the appliance and one of the generator, a CPU each, joined by a wire.
 *
 * Shape:  the server's thread turns until the end; the client's thread runs commands. Between two
 *         commands both are idle, or sleep, so that two runs may use the same CPUs alternately.
 * Units:  in the names. A slice is SLICE_NS; the best tenth of a run's slices shows the speed of
 *         the pair while no other process uses its CPUs.
 * Thread: one thread makes, commands and reads a run; the run's own two threads do the work.
 * Errors: a wrong reply, or a missing one, ends the process.
 */
#ifndef CLOCKOO_WIRE_RUN_H
#define CLOCKOO_WIRE_RUN_H

#include "../bench_fixture.h"
#include "../bench_client.h"
#include "dpdk/tsc_clock.h"
#include "echo_turns.h"
#include "wire_fleet.h"
#include "wire_port.h"

#include <pthread.h>

#define SLICE_NS   1000000ull
#define SLICES_MAX 65536u

struct wire_run {
	struct wire wire;
	struct bench_fixture fixture;
	struct bench_client client;
	struct wire_fleet fleet; /* if it has servers, the core is their front */
	struct bench_workload workload;
	struct tsc_clock clock;
	pthread_t threads[2];
	uint32_t cpus[2]; /* the server's and the client's */
	bool hugepages;
	bool lends; /* the server's end takes loans; set before the start */
	atomic_bool stop;
	atomic_uint state; /* enum run_state, wire_run.c */
	pthread_mutex_t lock;
	pthread_cond_t woken;
	uint32_t asleep; /* sleeping threads; under the lock */
	struct echo_asker asker;
	uint64_t echo_span_ns;
	/* written by the client while it runs */
	uint32_t slices;
	float slice[SLICES_MAX]; /* requests a second */
};

/* Results of one command. */
struct wire_row {
	double requests;                             /* requests answered */
	double requests_s, slice_median, slice_best; /* slice_best: the least of the best tenth */
	double keys_s, bytes_s;
	double p50_us, p99_us, p999_us;
	double generator_busy, server_busy; /* shares of the time */
	double generator_ns, server_ns;     /* busy time a request */
	double server_burst;                /* frames in a busy turn of the server */
	double server_turn_ns;              /* length of a busy turn */
	double server_in, server_out;       /* frames for each request */
	double residence_p50_us, residence_p99_us, residence_p999_us; /* 0: not measured */
};

/* Starts both threads; no key is stored yet. memory_mib is the store's. If r->fleet.servers is
 * set before, the core is a front whose servers share the client's thread and have a store of the
 * same size. */
void wire_run_start(struct wire_run *r, const struct bench_workload *workload, uint32_t memory_mib);
void wire_run_fill(struct wire_run *r);
/* Returns the frames a second of the wire without work at its ends. */
double wire_run_echo(struct wire_run *r, uint64_t span_ns);
void wire_run_command(struct wire_run *r, const struct load_command *command, bool residence,
		      struct wire_row *row);
/* Waits, between commands, until both threads sleep, or have resumed. */
void wire_run_rest(struct wire_run *r, bool rests);
void wire_run_end(struct wire_run *r);

#endif
