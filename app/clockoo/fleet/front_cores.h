/*
 * front_cores.h - brings each server's reply to the core that has sent the request, where a front
 * has several cores.
 *
 * Shape:  two tables that all cores share: connections that are being opened
 *         (tcp/pending_connects.h), and the core of each local port (front/front_ports.h).
 *         front_cores_core_of() returns the core of a reply where the steering plan fixes it.
 * Owner:  the tables are in the appliance's block. A program with one core, or without a front, has
 *         none.
 * Thread: main creates; any core calls core_of; the control thread checks.
 * Errors: a server whose replies do not reach all cores. In the first FRONT_CORES_START_NS that
 *         stops the program; later it is a line on stderr.
 */
#ifndef CLOCKOO_FRONT_CORES_H
#define CLOCKOO_FRONT_CORES_H

#include "config/config.h"
#include "front/front.h"
#include "nic.h"

struct fleet;
struct tcp_config;

#define FRONT_CORES_START_NS (30ull * 1000000000)
#define FRONT_REFUSAL_BYTES  640u /* a host's name, its cores, and the reason */

struct front_cores {
	const struct front_ports *ports;   /* NULL: one core, or no front */
	bool refused;                      /* the program must stop; refusal has the reason */
	char refusal[FRONT_REFUSAL_BYTES]; /* empty: no server was found unreachable */
};

size_t front_cores_bytes(const struct config *cfg, const struct front_settings *front);
/* Makes the tables and sets them in the settings of front and TCP. */
void front_cores_create(struct front_cores *c, struct region *region, const struct config *cfg,
			struct front_settings *front, struct tcp_config *tcp,
			const struct nic *nic);

/* Returns the core to which the plan steers replies of this path. arg is the struct nic, which has
 * started. */
uint32_t front_cores_core_of(const void *arg, const struct front_path *path);

/* Checks the servers once a second. up_ns is the time since the start. False if the program must
 * stop for c->refusal. */
bool front_cores_check(struct front_cores *c, const struct fleet *fleet, uint64_t up_ns);

/* Returns, for --plan, how replies over IPv4 reach the core that has sent the request. */
const char *front_cores_words(const struct steer_plan *plan, uint32_t cores);

#endif
