/*
 * sim_pair.h - two stacks on one cable under one virtual clock: a client that opens, a server.
 *
 * Units:  ns on the virtual clock.
 * Owner:  sim_pair_destroy gives everything back.
 * Thread: one.
 * Bounds: none of time: sim_pair_run ends when the clock stands at its end, or when its judge
 *         says so.
 */
#ifndef CLOCKOO_SIM_PAIR_H
#define CLOCKOO_SIM_PAIR_H

#include "sim_stack.h"
#include "sim_wire.h"

#define SIM_CLIENT_IP (SIM_PEERS + 1)

enum sim_side {
	SIM_CLIENT,
	SIM_SERVER,
};

struct sim_pair {
	struct sim_stack *side[2]; /* enum sim_side */
	struct sim_wire *wire;
	uint64_t now_ns;
};

/* The sides know each other's MAC when it returns; faults begin then. cfg[side] is completed with
 * addresses, and a port for the server alone. */
struct sim_pair *sim_pair_create(const struct stack_config cfg[2], const struct sim_faults *faults,
				 uint64_t seed);
void sim_pair_destroy(struct sim_pair *p);

/* Until the clock is at until_ns or done(arg) is true; NULL: the clock alone. */
void sim_pair_run(struct sim_pair *p, uint64_t until_ns, bool (*done)(void *arg), void *arg);

/* The client opens a connection to the server. NULL: refused. */
struct conn *sim_pair_connect(struct sim_pair *p);

#endif
