/*
 * sim_load.h - the load generator and the appliance at both ends of a cable in memory, in one
 * process and under one virtual clock.
 *
 * Shape:  one core each. sim_load_execute gives the generator an order, and runs both sides until
 *         the order is done.
 * Units:  ns on the virtual clock; a step is one turn of each side.
 * Owner:  sim_load_destroy frees everything.
 * Thread: one.
 */
#ifndef CLOCKOO_SIM_LOAD_H
#define CLOCKOO_SIM_LOAD_H

#include "sim_core.h"
#include "sim_wire.h"

#include "load/load_core.h"

#define SIM_LOAD_IP    0x0a000002u /* 10.0.0.2 */
#define SIM_LOAD_PORT  40000u
#define SIM_LOAD_PORTS 8u

struct sim_load {
	struct sim_cores *server;
	struct mem_port *port;
	struct stack *stack;
	struct load_core *core;
	struct sim_wire *wire;
	struct region region;
	uint64_t step_ns;
};

/* Initializes the workload and creates both sides; orders are limited to CONNS_MAX connections and
 * DEPTH_MAX requests in flight. */
struct sim_load *sim_load_create(struct workload *w, enum load_transport transport,
				 const struct sim_faults *faults, uint64_t seed);
void sim_load_destroy(struct sim_load *sl);

/* Advances the clock by a step and runs a turn of both sides. */
void sim_load_turn(struct sim_load *sl);
/* Executes the order. False: it was not done within limit_ns. */
bool sim_load_execute(struct sim_load *sl, const struct load_command *order, uint64_t limit_ns);
uint64_t sim_load_count(const struct sim_load *sl, enum load_counter which);

#endif
