/*
 * sim_crowd.h - one core with as many connections as it has slots, opened by client stacks.
 *
 * Shape:  a core and CROWD_STACKS client stacks on one lossless switch. A connection sends one
 *         short request when the test asks for it.
 * Units:  ns on the virtual clock.
 * Thread: one.
 */
#ifndef CLOCKOO_SIM_CROWD_H
#define CLOCKOO_SIM_CROWD_H

#include "sim_core.h"

#define CROWD_STACKS 2u /* one stack has 64512 ports to one server */

struct crowd_client {
	struct sim_stack *ss;
	struct crowd *crowd;
	struct conn **conn; /* connections by slot */
};

struct crowd {
	struct sim_cores *sc;
	struct crowd_client client[CROWD_STACKS];
	uint32_t conns; /* connections of all client stacks */
	uint32_t opened, gone, failed, answered;
	uint32_t tried; /* connections attempted so far */
	/* Runs a turn of the core: crowd_turn, or a function that also counts. */
	void (*turn)(struct crowd *w);
};

struct crowd *crowd_create(uint32_t conns);
void crowd_destroy(struct crowd *w);

/* Runs a turn of every stack, delivers the sent frames, and advances the clock by step_ns. */
void crowd_step(struct crowd *w, uint64_t step_ns);
void crowd_run(struct crowd *w, uint64_t for_ns, uint64_t step_ns);

void crowd_connect(struct crowd *w, uint32_t count);
/* Sends the request of connection i; its answer is counted when it arrives. */
void crowd_ask(struct crowd *w, uint32_t i);
void crowd_close(struct crowd *w, uint32_t i);

/* Runs a turn of the core alone, for callers that count its instructions. */
void crowd_turn(struct crowd *w);

uint64_t crowd_count(const struct crowd *w, uint32_t which);

#endif
