/*
 * wire_flood.h - a flood towards the kernel beside the cache, over the wire of a wire_run: SYNs to
 * a port of the kernel, at a given rate, between the generator's requests.
 *
 * The core has a lane to the kernel. The generator's thread is the kernel: it empties the lane, and
 * answers nothing.
 *
 * Shape:  `is_offered` is set by the caller, the rest by wire_flood_make.
 * Units:  ns on the run's clock.
 * Owner:  the caller's region.
 * Thread: wire_flood_turn by the generator's thread; others set wire_flood_rate_mt.
 * Bounds: a turn sends a burst. What a thread that was away has missed is sent later, up to
 *         WIRE_FLOOD_BACKLOG frames.
 */
#ifndef CLOCKOO_WIRE_FLOOD_H
#define CLOCKOO_WIRE_FLOOD_H

#include "../bench_fixture.h"
#include "kernel/kernel_lane.h"
#include "wire_port.h"

#include <stdatomic.h>

#define WIRE_FLOOD_BACKLOG 4096u

struct wire_flood {
	bool is_offered;  /* the core has a lane */
	atomic_uint rate; /* frames a second; 0: none */
	struct port *port;
	struct kernel_lane *lane;
	uint32_t was_rate, number;
	uint64_t paid_ns; /* frames are sent for the time up to it */
};

size_t wire_flood_bytes(const struct wire_flood *f);
/* Gives the core at the server's end its lane. */
void wire_flood_make(struct wire_flood *f, struct bench_fixture *core, struct region *region,
		     struct wire_end *client);
void wire_flood_rate_mt(struct wire_flood *f, uint32_t frames_s);
void wire_flood_turn(struct wire_flood *f, uint64_t now_ns);

#endif
