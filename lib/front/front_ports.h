/*
 * front_ports.h - shares the cores' findings about local ports: which core a server's replies
 * reach.
 *
 * A reply that reaches another core than the opener is lost, and its port is given up
 * (tcp/pending_connects.h). The core that received it opens from that port, if it lacks a
 * connection, so about n ln n tries serve n cores.
 *
 * Shape:  for each server the cores that its replies have reached, and the lost tries; for each
 *         core and server one port to open from.
 * Owner:  the caller. Server i is the fleet's.
 * Thread: any core and the control thread call *_mt.
 * Errors: front_ports_unreached_mt: a server whose replies do not reach all cores.
 * Bounds: CORES_MAX cores. FRONT_PORT_TRIES lost tries for each core, of a server.
 */
#ifndef CLOCKOO_FRONT_PORTS_H
#define CLOCKOO_FRONT_PORTS_H

#include "base/region.h"
#include "config/lcores.h"

#include <stdbool.h>
#include <stdint.h>

#define FRONT_PORT_TRIES 64u

struct front_ports;

size_t front_ports_bytes(uint32_t cores, uint32_t servers);
struct front_ports *front_ports_create(struct region *region, uint32_t cores, uint32_t servers);

/* Records that the reply to this port reached `core`, not the opener, which has given the port
 * up. */
void front_ports_lost_mt(struct front_ports *p, uint32_t server, uint16_t port, uint32_t core);
/* Records that this core has a connection. */
void front_ports_reached_mt(struct front_ports *p, uint32_t server, uint32_t core);
/* Returns a port whose replies are known to reach this core, each once; 0: there is none. */
uint16_t front_ports_take_mt(struct front_ports *p, uint32_t server, uint32_t core);

/* A server whose tries are exhausted without a reply at some core, and the cores with replies,
 * bit by bit. */
struct front_unreached {
	uint32_t server;
	uint64_t cores;
};
bool front_ports_unreached_mt(const struct front_ports *p, struct front_unreached *which);

#define FRONT_UNREACHED_BYTES 240u
/* Writes the cores as "0, 2 only". */
void front_ports_words(const struct front_unreached *which, char words[FRONT_UNREACHED_BYTES]);

#endif
