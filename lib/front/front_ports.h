/*
 * front_ports.h - what all cores have learned of local ports: to which core a server's replies
 * come.
 *
 * A reply that comes to another core than the one that opens the connection is lost, and its port
 * is given up (tcp/pending_connects.h). The core that met it opens from that port, if it lacks a
 * connection: so some n ln n tries serve n cores.
 *
 * Shape:  of each server the cores that its replies have reached, and the tries that were lost; of
 *         each core and server one port to be opened from.
 * Owner:  the caller; server i is that of the fleet.
 * Thread: *_mt by any core, and by the control thread.
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

/* The reply to this port came to another core than the asker's, and the asker is done with it. */
void front_ports_lost_mt(struct front_ports *p, uint32_t server, uint16_t port, uint32_t core);
/* This core has a connection. */
void front_ports_reached_mt(struct front_ports *p, uint32_t server, uint32_t core);
/* A port that is known to be this core's, once; 0: none is. */
uint16_t front_ports_take_mt(struct front_ports *p, uint32_t server, uint32_t core);

/* A server of which all tries are lost and some core has no reply; the cores that have some, bit by
 * bit. False: there is none. */
struct front_unreached {
	uint32_t server;
	uint64_t cores;
};
bool front_ports_unreached_mt(const struct front_ports *p, struct front_unreached *which);

#define FRONT_UNREACHED_BYTES 240u
/* "0, 2 only" */
void front_ports_words(const struct front_unreached *which, char words[FRONT_UNREACHED_BYTES]);

#endif
