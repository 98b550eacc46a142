/*
 * front_ports.h - local ports by the core that replies to them reach, shared by all cores.
 *
 * A reply may reach another core than the one that opened the connection. Then it is lost, and the
 * opener gives the port up (tcp/pending_connects.h). The core that received the reply connects from
 * that port, if it lacks a connection. So about n ln n attempts connect n cores.
 *
 * Shape:  for each server: the cores that its replies have reached, and the number of lost
 *         attempts. For each core and server: one port to open from.
 * Owner:  the caller. Servers have their numbers in the fleet.
 * Thread: any core and the control thread call *_mt.
 * Errors: front_ports_unreached_mt: there is a server whose replies do not reach all cores.
 * Bounds: CORES_MAX cores; FRONT_PORT_TRIES lost attempts for each core, at a server.
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

/* Records that the reply to this port has reached `core`. The opener, another core, has given the
 * port up. */
void front_ports_lost_mt(struct front_ports *p, uint32_t server, uint16_t port, uint32_t core);
/* Records that this core has a connection. */
void front_ports_reached_mt(struct front_ports *p, uint32_t server, uint32_t core);
/* Returns a port whose replies are known to reach this core, and forgets it. 0: there is none. */
uint16_t front_ports_take_mt(struct front_ports *p, uint32_t server, uint32_t core);

/* A server whose attempts are used up while its replies have not reached some core. */
struct front_unreached {
	uint32_t server;
	uint64_t cores; /* bit n: its replies have reached core n */
};
bool front_ports_unreached_mt(const struct front_ports *p, struct front_unreached *which);

#define FRONT_UNREACHED_BYTES 240u
/* Writes the cores in words, such as "0, 2 only". */
void front_ports_words(const struct front_unreached *which, char words[FRONT_UNREACHED_BYTES]);

#endif
