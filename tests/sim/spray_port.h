/*
 * spray_port.h - a NIC of several queues that puts frames where it likes.
 *
 * Shape:  queues over one mem_port, which is the wire and the pool of all; each frame received goes
 *         to a queue drawn from the seed, or all to queue 0. Behind the last queue there are ports
 *         that only allocate and drop.
 * Owner:  the caller keeps the struct and the mem_port alive.
 * Thread: one.
 * Bounds: SPRAY_PORTS_MAX ports; MEM_RING frames a queue: more is a frame lost.
 */
#ifndef CLOCKOO_SPRAY_PORT_H
#define CLOCKOO_SPRAY_PORT_H

#include "mem_port.h"
#include "sim_rng.h"

#define SPRAY_PORTS_MAX 8u

struct spray {
	struct mem_port *wire;
	struct sim_rng rng;
	uint32_t queues;
	bool evenly;
	struct spray_port {
		struct port port; /* first */
		struct spray *spray;
		struct mem_ring rx;
	} ports[SPRAY_PORTS_MAX];
};

void spray_init(struct spray *s, struct mem_port *wire, uint32_t ports, uint32_t queues,
		bool evenly);

#endif
