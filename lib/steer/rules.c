/*
 * rules.c - rules for single flows, within the limits of the NIC's filters.
 */
#include "rules.h"
#include "base/check.h"

#include <stdio.h>
#include <string.h>

#define TYPE_ARP      0x0806u /* IEEE 802 numbers; IANA's for the protocols below */
#define IP_ICMP       1u
#define IP_TCP        6u
#define IP_UDP        17u
#define IP_ICMP6      58u
#define PORT_MASK_ALL 0xffffu

/* A Linux client takes every other port number (inet_hash_connect), so the lowest bit says little
 * and is left out. */
#define PORT_SHIFT 1u
/* Classes for each queue, so that a number of queues that is no power of two is served evenly,
 * too. */
#define CLASSES_PER_QUEUE 4u

static const char by_rss[] = "RSS places them, or they come to queue 0";
static const char any_core[] = "RSS places them: any core may answer";

static uint32_t
count_of(const struct steer_plan *plan, enum steer_kind kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < plan->rule_count; i++)
		n += plan->rules[i].kind == kind;
	return n;
}

static struct steer_rule *
add(struct steer_plan *plan, const struct steer_rule *rule)
{
	struct steer_rule *r;

	ensure(plan->rule_count < RULES_MAX);
	r = &plan->rules[plan->rule_count++];
	*r = *rule;
	return r;
}

static bool
room_for(const struct steer_plan *plan, const struct flow_limits *limits, enum steer_kind kind,
	 uint32_t count)
{
	const uint32_t max[] = {
		[STEER_ETHERTYPE] = limits->ethertype_max,
		[STEER_EXACT] = limits->five_tuple_max,
		[STEER_DIRECTOR] = limits->director_max,
	};

	return count_of(plan, kind) + count <= max[kind];
}

void
rules_for_neighbours(struct steer_plan *plan, const struct flow_limits *limits)
{
	static const struct steer_rule rules[] = {
		{.match = {.ether_type = TYPE_ARP},
		 .kind = STEER_ETHERTYPE,
		 .words = "ARP to queue 0",
		 .if_refused = any_core},
		{.match = {.ip_version = 4, .protocol = IP_ICMP},
		 .kind = STEER_EXACT,
		 .explicit_protocol = true,
		 .words = "ICMP to queue 0",
		 .if_refused = any_core},
		{.match = {.ip_version = 6, .protocol = IP_ICMP6},
		 .kind = STEER_EXACT,
		 .explicit_protocol = true,
		 .words = "ICMPv6 to queue 0",
		 .if_refused = any_core},
	};

	for (uint32_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
		if (room_for(plan, limits, rules[i].kind, 1) &&
		    (rules[i].match.ip_version != 6 || limits->ipv6))
			add(plan, &rules[i]);
}

static void
add_udp_port(struct steer_plan *plan, const struct steer_rule *like, uint32_t port, uint32_t queue)
{
	struct steer_rule *r = add(plan, like);

	r->match.dst_port = (uint16_t)port;
	r->match.dst_port_mask = PORT_MASK_ALL;
	r->queue = (uint16_t)queue;
	if (r->kind == STEER_DIRECTOR && like->mark != 0)
		r->mark = plan->rule_count;
	snprintf(r->words, sizeof r->words, "UDP%s port %u to queue %u",
		 r->match.ip_version == 6 ? " over IPv6" : "", port, queue);
}

bool
rules_for_udp_ports(struct steer_plan *plan, const struct flow_limits *limits, uint32_t first)
{
	const uint32_t families = limits->ipv6 ? 2 : 1;
	/* A director with one mask for all rules may already match other bits. */
	const bool mask_free = !limits->one_mask || count_of(plan, STEER_DIRECTOR) == 0;
	const uint32_t count = plan->queues * families;
	struct steer_rule like = {
		.match = {.protocol = IP_UDP},
		.kind = STEER_EXACT,
		.explicit_protocol = limits->needs_proto,
		.if_refused = any_core,
	};

	if (!room_for(plan, limits, STEER_EXACT, count)) {
		if (!mask_free || !room_for(plan, limits, STEER_DIRECTOR, count))
			return false;
		like.kind = STEER_DIRECTOR;
		like.explicit_protocol = false; /* the UDP item implies it */
		like.mark = limits->needs_mark;
	}
	for (uint32_t family = 0; family < families; family++) {
		like.match.ip_version = family == 0 ? 4 : 6;
		for (uint32_t q = 0; q < plan->queues; q++)
			add_udp_port(plan, &like, first + q, q);
	}
	return true;
}

static uint32_t
classes_for(uint32_t queues, uint32_t max)
{
	uint32_t classes = 1;

	while (classes < queues * CLASSES_PER_QUEUE && classes * 2 <= max)
		classes *= 2;
	return classes;
}

bool
rules_for_tcp(struct steer_plan *plan, const struct flow_limits *limits)
{
	const uint32_t max =
		limits->director_max < TCP_CLASSES_MAX ? limits->director_max : TCP_CLASSES_MAX;
	const uint32_t classes = classes_for(plan->queues, max);
	const uint16_t mask = (uint16_t)((classes - 1) << PORT_SHIFT);

	if (!limits->masked_ports || classes < plan->queues ||
	    !room_for(plan, limits, STEER_DIRECTOR, classes))
		return false;
	for (uint32_t c = 0; c < classes; c++) {
		struct steer_rule *r = add(plan, &(struct steer_rule){
							 .match = {.ip_version = 4,
								   .protocol = IP_TCP,
								   .src_port_mask = mask},
							 .kind = STEER_DIRECTOR,
							 .if_refused = by_rss,
						 });

		r->match.src_port = (uint16_t)(c << PORT_SHIFT);
		/* NOLINTNEXTLINE(clang-analyzer-core.*): a plan has a queue at least */
		r->queue = (uint16_t)(c % plan->queues);
		r->mark = limits->needs_mark ? plan->rule_count : 0;
		/* Ports that differ only in bits below the mask belong to one class. */
		snprintf(r->words, sizeof r->words,
			 "TCP from client ports %u and %u modulo %u to queue %u", r->match.src_port,
			 r->match.src_port + (1u << PORT_SHIFT) - 1, classes << PORT_SHIFT,
			 r->queue);
	}
	return true;
}

uint16_t
rules_tcp_mask(const struct steer_plan *plan)
{
	for (uint32_t i = 0; i < plan->rule_count; i++)
		if (plan->rules[i].match.protocol == IP_TCP)
			return plan->rules[i].match.src_port_mask;
	return 0;
}
