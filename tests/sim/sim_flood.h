/*
 * sim_flood.h - a whole core with clients, under a flood of SYNs from sources that do not exist.
 *
 * Shape:  old clients connect before the flood, and send a request whenever they get an answer. New
 *         clients connect one after the other during the flood, and each leaves with its first
 *         answer. A client repeats its SYN after 1 and 3 s, as kernels do.
 * Units:  ns on a virtual clock, which advances by the cost of each turn, frame and request.
 * Thread: one.
 * Bounds: FLOOD_CLIENTS_MAX clients, FLOOD_SAMPLES_MAX answers to the old clients.
 */
#ifndef CLOCKOO_SIM_FLOOD_H
#define CLOCKOO_SIM_FLOOD_H

#include <stdint.h>

#define FLOOD_CLIENTS_MAX 512u
#define FLOOD_SAMPLES_MAX (1u << 20)
#define FLOOD_SERVED_NS   4000000000ull /* a client that waits longer has given up */
#define FLOOD_SENT_NS     90u           /* the cost of sending a frame, as in test_fairness.c */

struct sim_flood_plan {
	uint32_t syns_s; /* 0: no flood */
	uint32_t olds, news;
	uint64_t news_ns;  /* time in which the new clients connect */
	uint64_t least_ns; /* the run lasts at least this long */
	uint64_t sent_ns;  /* cost of a sent frame */
	uint64_t seed;
};

struct sim_flood_result {
	uint64_t syns, lost;  /* lost: the port's ring was full */
	uint32_t news_served; /* new clients answered new clients answered within FLOOD_SERVED_NS */
	uint64_t new_median_ns, old_median_ns, old_p99_ns;
	uint32_t old_answers;       /* during the flood */
	uint64_t ns;                /* duration of the run */
	uint64_t cookies, deferred; /* counters of the core */
};

struct sim_flood_result sim_flood_run(const struct sim_flood_plan *plan);

#endif
