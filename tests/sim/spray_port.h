/*
 * spray_port.h - a NIC of several queues that distributes frames at random.
 *
 * Shape:  queues over one mem_port, which is their wire and pool. Each received frame goes to a
 *         queue drawn from the seed, or always to queue 0. Ports beyond the last queue can only
 *         allocate and drop.
 * Owner:  the caller keeps the struct and the mem_port alive.
 * Thread: one.
 * Bounds: SPRAY_PORTS_MAX ports; MEM_RING frames a queue, further frames are lost.
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
		struct port port; /* first member */
		struct spray *spray;
		struct mem_ring rx;
	} ports[SPRAY_PORTS_MAX];
};

void spray_init(struct spray *s, struct mem_port *wire, uint32_t ports, uint32_t queues,
		bool evenly);

#endif
