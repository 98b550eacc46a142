/*
 * bench_client.h - a load generator's core on a port of a bench: the client of bench_fixture.h.
 *
 * Shape:  workload, stack and generator are in the caller's region; the port is the caller's. TCP
 *         uses timestamps, as kernel clients do.
 * Thread: one.
 * Errors: a wrong reply ends the process.
 */
#ifndef CLOCKOO_BENCH_CLIENT_H
#define CLOCKOO_BENCH_CLIENT_H

#include "base/region.h"
#include "load/load_core.h"

/* The requests to make. */
struct bench_workload {
	enum load_transport transport;
	uint32_t keys, value_bytes, multiget;
	uint32_t conns, depth_max; /* TCP */
	double sets;               /* share of sets among the requests */
	double zipf;               /* 0: uniform */
	uint32_t rx_frames_max;
	uint32_t core, cores; /* this client's share in storing the keys; 0: all */
	uint32_t burst;       /* frames that the client takes in a turn; 0: all it can */
};

struct bench_client {
	struct workload w;
	struct load_core *core;
};

/* Makes the workload, which must come first: the generator's size depends on it. */
void bench_client_plan(struct bench_client *c, const struct bench_workload *workload);
size_t bench_client_bytes(const struct bench_client *c, const struct bench_workload *workload);
void bench_client_make(struct bench_client *c, const struct bench_workload *workload,
		       struct region *r, struct port *port);

uint64_t bench_client_count(const struct bench_client *c, enum load_counter which);

/* Ends the process if an answer was wrong or a key was missing. */
void bench_client_check(const struct bench_client *c);

#endif
