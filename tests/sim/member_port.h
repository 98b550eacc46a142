/*
 * member_port.h - a queue of a bond's member, over its own mem_port.
 *
 * The members of a core share a pool (bond.h), but each mem_port has its own. So a frame that
 * leaves by a member other than the one it came from is copied into the leaving member's pool, and
 * a dropped frame returns to its own pool.
 *
 * Shape:  wire is the member's cable; pools are the mem_ports of all members of the core.
 * Owner:  the caller keeps the mem_ports.
 * Thread: one.
 */
#ifndef CLOCKOO_MEMBER_PORT_H
#define CLOCKOO_MEMBER_PORT_H

#include "mem_port.h"

#define MEMBER_POOLS 2u

struct member_port {
	struct port port; /* first: the port is this struct */
	struct mem_port *wire;
	struct mem_port *const *pools; /* MEMBER_POOLS of them */
};

void member_port_init(struct member_port *m, struct mem_port *wire, struct mem_port *const *pools);

#endif
