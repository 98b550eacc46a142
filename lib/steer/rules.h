/*
 * rules.h - rules for single flows, where RSS is not enough; private to lib/steer.
 *
 * Shape:  each function appends to plan->rules what the NIC's limits allow, and tells what it made.
 * Thread: pure functions.
 */
#ifndef CLOCKOO_RULES_H
#define CLOCKOO_RULES_H

#include "plan.h"

/* ARP, ICMP and neighbour discovery to queue 0. */
void rules_for_neighbours(struct steer_plan *plan, const struct flow_limits *limits);

/* UDP port first + i to queue i, for all queues. False: the NIC has no filter for it. */
bool rules_for_udp_ports(struct steer_plan *plan, const struct flow_limits *limits, uint32_t first);

/* TCP over IPv4 by bits of the client's port, for more queues than RSS can name, or instead of
 * it. False: the NIC cannot. */
bool rules_for_tcp(struct steer_plan *plan, const struct flow_limits *limits);

/* The mask over client ports that rules_for_tcp chose; 0: none. */
uint16_t rules_tcp_mask(const struct steer_plan *plan);

#endif
