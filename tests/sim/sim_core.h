/*
 * sim_core.h - whole cores in memory: port, stack and service, over one shared store and under one
 * virtual clock, for benches, simulations and fuzzers of the appliance.
 *
 * Shape:  cores[i] is core i. All have the same MAC and address, like the queues of one NIC; the
 *         caller chooses the port to which a frame is fed.
 * Units:  ns on the virtual clock, which only the caller of sim_cores_turn advances.
 * Owner:  sim_cores_destroy frees everything.
 * Thread: one; or one for each core, if the caller calls core_turn(&cores[i].core, ...) itself.
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
	struct mem_port *port; /* NULL: the caller's own port */
};

struct sim_cores {
	struct sim_core *cores;
	uint32_t count;
	uint64_t now_ns;
	/* True: a jump of the clock stands for a pause of the process. False: cores ran
	 * meanwhile. */
	bool pauses;
	struct store *store;
	struct serve_shared *shared;
	struct region region;
};

struct sim_cores_options {
	uint32_t cores;
	uint32_t frames;           /* of each port */
	uint32_t caps;             /* of each port: enum port_cap */
	struct port *const *ports; /* one for each core; NULL: each core gets a mem_port */
	uint32_t conn_requests_max;
	size_t memory_bytes;
	uint32_t value_max;        /* 0: STORE_VALUE_MAX */
	struct stack_config stack; /* of each core: sim_config() */
};

struct sim_cores_options sim_cores_defaults(uint64_t seed);
struct sim_cores *sim_cores_create(const struct sim_cores_options *options);
void sim_cores_destroy(struct sim_cores *sc);

/* Runs one turn of every core at sc->now_ns. */
void sim_cores_turn(struct sim_cores *sc);
/* Returns the earliest timer of any core; UINT64_MAX: none. */
uint64_t sim_cores_next(const struct sim_cores *sc);

#endif
