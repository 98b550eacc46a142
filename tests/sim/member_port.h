/*
 * member_port.h - the queue of a bond's member, over a mem_port of its own.
 *
 * The members of a core share a pool (bond.h), while each mem_port has one: a frame that leaves by
 * another member than it came from is copied into that one's pool, and a dropped frame returns to
 * its own.
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
