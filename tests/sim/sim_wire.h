/*
 * sim_wire.h - a cable between two ports in memory that loses, doubles, delays and reorders.
 *
 * Shape:  frames in flight, sorted by when they arrive; what one port sent the other receives.
 * Units:  ns on the virtual clock; chances in permille.
 * Owner:  frames in flight are copies; both ports belong to the caller.
 * Thread: one.
 * Errors: a frame that finds no room in flight or at the other end is lost, and counted.
 * Bounds: WIRE_FLIGHTS frames in flight.
 */
#ifndef CLOCKOO_SIM_WIRE_H
#define CLOCKOO_SIM_WIRE_H

#include "mem_port.h"
#include "sim_rng.h"

#define WIRE_FLIGHTS 1024u

struct sim_faults {
	uint32_t lose, twice, late; /* permille */
	uint64_t delay_ns;          /* of every frame */
	uint64_t jitter_ns;         /* at most that much more for a late one: it is overtaken */
};

struct sim_flight {
	uint64_t at_ns;
	struct mem_port *to;
	uint32_t len;
	uint8_t bytes[MEM_FRAME_BYTES];
};

struct sim_wire {
	struct mem_port *end[2];
	struct sim_faults faults;
	struct sim_rng rng;
	uint32_t count;
	struct sim_flight *order[WIRE_FLIGHTS]; /* the first count: in flight, earliest first */
	struct sim_flight *flights;
	uint64_t lost;
};

struct sim_wire *sim_wire_create(struct mem_port *a, struct mem_port *b,
				 const struct sim_faults *faults, uint64_t seed);
void sim_wire_destroy(struct sim_wire *w);

/* Take what both ports sent; hand over what has arrived. */
void sim_wire_turn(struct sim_wire *w, uint64_t now_ns);

/* When the next frame arrives; UINT64_MAX: none is in flight. */
uint64_t sim_wire_next(const struct sim_wire *w);

#endif
