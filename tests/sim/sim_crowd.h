/*
 * sim_crowd.h - one core with as many connections as it has slots, opened by stacks as clients.
 *
 * Shape:  a core, and CROWD_STACKS client stacks on one perfect switch; every connection asks one
 *         short question at a time when it is told to.
 * Units:  ns on the virtual clock.
 * Thread: one.
 */
#ifndef CLOCKOO_SIM_CROWD_H
#define CLOCKOO_SIM_CROWD_H

#include "sim_core.h"

#define CROWD_STACKS 2u /* one has 64512 ports to one server */

struct crowd_client {
	struct sim_stack *ss;
	struct crowd *crowd;
	struct conn **conn; /* by slot */
};

struct crowd {
	struct sim_cores *sc;
	struct crowd_client client[CROWD_STACKS];
	uint32_t conns; /* in all */
	uint32_t opened, gone, failed, answered;
	uint32_t tried;                /* connects so far */
	void (*turn)(struct crowd *w); /* the core's: crowd_turn, or one that counts */
};

struct crowd *crowd_create(uint32_t conns);
void crowd_destroy(struct crowd *w);

/* Everybody has a turn, what was sent arrives, and the clock moves on by step_ns. */
void crowd_step(struct crowd *w, uint64_t step_ns);
void crowd_run(struct crowd *w, uint64_t for_ns, uint64_t step_ns);

void crowd_connect(struct crowd *w, uint32_t count);
/* Client i of all asks; its answer is counted when it comes. */
void crowd_ask(struct crowd *w, uint32_t i);
void crowd_close(struct crowd *w, uint32_t i);

/* A turn of the core alone, for whoever counts instructions. */
void crowd_turn(struct crowd *w);

uint64_t crowd_count(const struct crowd *w, uint32_t which);

#endif
