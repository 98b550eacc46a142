/*
 * front_cores.h - makes each server's reply reach the core that sent the request, in a front of
 * several cores.
 *
 * Shape:  two tables that all cores share: connections being opened (tcp/pending_connects.h),
 *         and the core of each local port (front/front_ports.h). If the steering plan fixes the
 *         core of a reply, front_cores_core_of() returns it.
 * Owner:  the tables lie in the appliance's block. With one core, or no front, there are none.
 * Thread: create by main. core_of by any core. check by the control thread.
 * Errors: a server whose replies do not reach all cores. Within FRONT_CORES_START_NS of the start
 *         the program stops; later it writes a line to stderr.
 */
#ifndef CLOCKOO_FRONT_CORES_H
#define CLOCKOO_FRONT_CORES_H

#include "config/config.h"
#include "front/front.h"
#include "nic.h"

struct fleet;
struct tcp_config;

#define FRONT_CORES_START_NS (30ull * 1000000000)
#define FRONT_REFUSAL_BYTES  640u /* a host's name, cores, and the reason */

struct front_cores {
	const struct front_ports *ports;   /* NULL: no core shares servers with another */
	bool refused;                      /* the program stops, for the reason in refusal */
	char refusal[FRONT_REFUSAL_BYTES]; /* empty = none */
};

size_t front_cores_bytes(const struct config *cfg, const struct front_settings *front);
/* Makes the tables, and names them in the settings of the front and of TCP. */
void front_cores_create(struct front_cores *c, struct region *region, const struct config *cfg,
			struct front_settings *front, struct tcp_config *tcp,
			const struct nic *nic);

/* Returns the core that the plan steers a path's replies to. arg: a struct nic that has started. */
uint32_t front_cores_core_of(const void *arg, const struct front_path *path);

/* Checks the servers; called once a second. up_ns: time since the start. False if the program must
 * stop; c->refusal has the reason. */
bool front_cores_check(struct front_cores *c, const struct fleet *fleet, uint64_t up_ns);

/* Returns for --plan how replies over IPv4 reach the core that sent the request. */
const char *front_cores_words(const struct steer_plan *plan, uint32_t cores);

#endif
