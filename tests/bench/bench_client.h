/*
 * bench_client.h - a load generator's core over a port of a bench: the client of bench_fixture.h.
 *
 * Shape:  workload, stack and generator in the caller's region; the port is the caller's. TCP
 *         speaks timestamps, as kernel clients do.
 * Thread: one.
 * Errors: a wrong answer ends the process.
 */
#ifndef CLOCKOO_BENCH_CLIENT_H
#define CLOCKOO_BENCH_CLIENT_H

#include "base/region.h"
#include "load/load_core.h"

/* What is asked for. */
struct bench_workload {
	enum load_transport transport;
	uint32_t keys, value_bytes, multiget;
	uint32_t conns, depth_max; /* TCP */
	double sets;               /* share of the requests */
	double zipf;               /* 0: uniform */
	uint32_t rx_frames_max;
	uint32_t core, cores; /* this client's share of storing the keys; 0: all of it */
	uint32_t burst;       /* frames the client takes a turn; 0: all it can */
};

struct bench_client {
	struct workload w;
	struct load_core *core;
};

/* The workload is made first: the generator's size depends on it. */
void bench_client_plan(struct bench_client *c, const struct bench_workload *workload);
size_t bench_client_bytes(const struct bench_client *c, const struct bench_workload *workload);
void bench_client_make(struct bench_client *c, const struct bench_workload *workload,
		       struct region *r, struct port *port);

uint64_t bench_client_count(const struct bench_client *c, enum load_counter which);

/* Was every answer right, and every key there? */
void bench_client_check(const struct bench_client *c);

#endif
