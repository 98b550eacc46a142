/*
 * sim_core.h - whole cores in memory: port, stack, serve, over one shared store, under one
 * virtual clock. What the benches, the simulations and the fuzzers of the appliance turn.
 *
 * Shape:  cores[i] is core i; all have the same MAC and address, as the queues of one NIC do:
 *         the caller decides which port a frame is fed to.
 * Units:  ns on the virtual clock; it moves only by sim_cores_turn's caller.
 * Owner:  sim_cores_destroy gives everything back.
 * Thread: one, or one a core if the caller turns core_turn(&cores[i].core, ...) by itself.
 * Bounds: STORE_CORES_MAX cores.
 */
#ifndef CLOCKOO_SIM_CORE_H
#define CLOCKOO_SIM_CORE_H

#include "core/core.h"
#include "mem_port.h"
#include "sim_stack.h"

#define SIM_UNIX_START 1700000000

struct sim_core {
	struct core core;
	struct mem_port *port; /* NULL: the caller's own */
};

struct sim_cores {
	struct sim_core *cores;
	uint32_t count;
	uint64_t now_ns;
	bool pauses; /* a clock that jumps is a pause of the process; else cores turn meanwhile */
	struct store *store;
	struct serve_shared *shared;
	struct region region;
};

struct sim_cores_options {
	uint32_t cores;
	uint32_t frames;           /* of each port */
	uint32_t caps;             /* of each port: enum port_cap */
	struct port *const *ports; /* one a core instead; NULL: each has a mem_port */
	uint32_t conn_requests_max;
	size_t memory_bytes;
	uint32_t value_max;        /* 0: STORE_VALUE_MAX */
	struct stack_config stack; /* of each core: sim_config() */
};

struct sim_cores_options sim_cores_defaults(uint64_t seed);
struct sim_cores *sim_cores_create(const struct sim_cores_options *options);
void sim_cores_destroy(struct sim_cores *sc);

/* One turn of every core at sc->now_ns. */
void sim_cores_turn(struct sim_cores *sc);
/* The earliest timer of any core; UINT64_MAX: none. */
uint64_t sim_cores_next(const struct sim_cores *sc);

#endif
