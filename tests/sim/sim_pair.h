/*
 * sim_pair.h - two stacks on one cable under one virtual clock: a client, which opens connections,
 * and a server.
 *
 * Units:  ns on the virtual clock.
 * Owner:  sim_pair_destroy frees everything.
 * Thread: one.
 * Bounds: sim_pair_run ends when the clock reaches its limit, or when `done` returns true.
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

/* Creates both sides; each knows the other's MAC on return, and only then faults begin. The
 * configurations get addresses, and the server's a port. */
struct sim_pair *sim_pair_create(const struct stack_config cfg[2], const struct sim_faults *faults,
				 uint64_t seed);
void sim_pair_destroy(struct sim_pair *p);

/* Runs until the clock is at until_ns, or done(arg) is true if done is not NULL. */
void sim_pair_run(struct sim_pair *p, uint64_t until_ns, bool (*done)(void *arg), void *arg);

/* Opens a connection from the client to the server. NULL: refused. */
struct conn *sim_pair_connect(struct sim_pair *p);

#endif
