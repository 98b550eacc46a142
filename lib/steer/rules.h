/*
 * rules.h - rules for single flows, where RSS is not enough; private to lib/steer.
 *
 * Shape:  each function appends rules to plan->rules if the NIC's limits allow that, and returns
 *         whether it did.
 * Thread: pure functions.
 */
#ifndef CLOCKOO_RULES_H
#define CLOCKOO_RULES_H

#include "plan.h"

/* Adds rules that direct ARP, ICMP and neighbour discovery to queue 0. */
void rules_for_neighbours(struct steer_plan *plan, const struct flow_limits *limits);

/* Adds rules that direct UDP port first + i to queue i, for all queues. False if the NIC has no
 * filter for it. */
bool rules_for_udp_ports(struct steer_plan *plan, const struct flow_limits *limits, uint32_t first);

/* Adds rules for TCP over IPv4 by bits of the client's port: for more queues than RSS can name, or
 * instead of RSS. False: the NIC cannot do that. */
bool rules_for_tcp(struct steer_plan *plan, const struct flow_limits *limits);

/* Adds a rule for each port on which the cache listens, and rules for the ports of connections that
 * it opens itself. All other frames stay with the kernel. False: the NIC has no filter for that. */
bool rules_for_isolation(struct steer_plan *plan, const struct flow_limits *limits,
			 const struct config *cfg);

/* Returns the mask over client ports that rules_for_tcp chose; 0: none. */
uint16_t rules_tcp_mask(const struct steer_plan *plan);

#endif
