/*
 * net_rig.h - a stack on a port in memory, and turns of it with a service of the test's own.
 *
 * Units:  ns on a clock that the test moves.
 */
#ifndef CLOCKOO_NET_RIG_H
#define CLOCKOO_NET_RIG_H

#include "net_port.h"
#include "kernel/kernel_lane.h"
#include "net/neigh_table.h"
#include "stack/stack.h"

struct rig {
	struct net_port *np;
	bool owns_port;
	struct neigh_table *neigh;
	struct stack *stack;
	struct classified in;
	uint64_t now_ns;
	void *memory;
	struct kernel_lane *kernel;           /* NULL: none */
	uint64_t before[STACK_COUNTER_COUNT]; /* counters at rig_ol_flags */
};

struct rig_options {
	bool wide;                       /* our prefix length is 0, not 24 */
	const struct local_addrs *addrs; /* NULL: OUR_IP and our_ip6 */
	struct net_port *port;           /* NULL: one of its own */
	uint32_t caps;                   /* enum port_cap */
	uint32_t gateway;                /* 0: none */
	uint16_t udp_port;               /* 0: off */
	uint16_t udp_ports;              /* ports from udp_port on; 0: one */
	uint16_t vlan;                   /* 0: none */
	bool ipv6_off;
	bool kernel; /* the rig has a lane to the kernel */
};

struct rig *rig_new(const struct rig_options *options);
void rig_free(struct rig *r);

/* Runs one turn as core_turn does; serve may be NULL. */
void rig_turn(struct rig *r, void (*serve)(struct rig *r));

/* Returns the frames of the port that the stack has outside its frame cache. */
uint32_t rig_lent(const struct rig *r);

/* rig_count() returns how often an event was counted since rig_ol_flags() (rig_new calls it). */
void rig_ol_flags(struct rig *r);
uint64_t rig_count(const struct rig *r, uint32_t which);

#endif
