/*
 * sim_flood.h - one whole core, its clients, and SYNs of sources that do not exist.
 *
 * Shape:  old clients are connected before the flood begins and ask again as soon as they are
 *         answered; new ones come one after the other during it, and each leaves with its first
 *         answer. A client repeats its SYN as kernels do, after 1 and 3 s.
 * Units:  ns on a virtual clock, which moves by what a turn did: so much for the turn, for each
 *         frame and for each request.
 * Thread: one.
 * Bounds: FLOOD_CLIENTS_MAX clients, FLOOD_SAMPLES_MAX answers to the old ones.
 */
#ifndef CLOCKOO_SIM_FLOOD_H
#define CLOCKOO_SIM_FLOOD_H

#include <stdint.h>

#define FLOOD_CLIENTS_MAX 512u
#define FLOOD_SAMPLES_MAX (1u << 20)
#define FLOOD_SERVED_NS   4000000000ull /* who waits longer has gone elsewhere */
#define FLOOD_SENT_NS     90u           /* a frame out of a NIC's ring, as test_fairness.c has it */

struct sim_flood_plan {
	uint32_t syns_s; /* 0: no flood */
	uint32_t olds, news;
	uint64_t news_ns;  /* in which the new ones come */
	uint64_t least_ns; /* it lasts that long, though all are served */
	uint64_t sent_ns;  /* price of a frame sent */
	uint64_t seed;
};

struct sim_flood_result {
	uint64_t syns, lost;  /* lost: the port's ring was full */
	uint32_t news_served; /* within FLOOD_SERVED_NS */
	uint64_t new_median_ns, old_median_ns, old_p99_ns;
	uint32_t old_answers;       /* while the flood came */
	uint64_t ns;                /* that it lasted */
	uint64_t cookies, deferred; /* what the core counted */
};

struct sim_flood_result sim_flood_run(const struct sim_flood_plan *plan);

#endif
