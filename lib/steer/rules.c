/*
 * rules.c - rules for single flows, within the limits of the NIC's filters.
 */
#include "rules.h"
#include "base/check.h"
#include "kernel/kernel_lane.h"

#include <stdio.h>
#include <string.h>

#define TYPE_ARP      0x0806u /* IEEE 802 numbers; IANA's for the protocols below */
#define IP_ICMP       1u
#define IP_TCP        6u
#define IP_UDP        17u
#define IP_ICMP6      58u
#define PORT_MASK_ALL 0xffffu

/* A Linux client uses every second port number (inet_hash_connect), so the lowest bit hardly varies
 * and is left out. */
#define PORT_SHIFT 1u
/* Classes for each queue, so that flows are even also if the number of queues is no power of
 * two. */
#define CLASSES_PER_QUEUE 4u

static const char by_rss[] = "RSS places them, or they come to queue 0";
static const char never_here[] = "the kernel gets these frames";
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
	/* A director with one mask for all rules may already match by other bits. */
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
		/* Ports that differ only in bits outside the mask are in one class. */
		snprintf(r->words, sizeof r->words,
			 "TCP from client ports %u and %u modulo %u to queue %u", r->match.src_port,
			 r->match.src_port + (1u << PORT_SHIFT) - 1, classes << PORT_SHIFT,
			 r->queue);
	}
	return true;
}

/* A port of the cache, or several ports that one mask describes. */
struct own_ports {
	uint8_t protocol;
	uint16_t port, mask;
	bool spread; /* over all queues, instead of to one */
	uint16_t queue;
};

static void
add_own_rule(struct steer_plan *plan, const struct steer_rule *like, uint8_t ip_version)
{
	struct steer_rule *r = add(plan, like);
	const uint32_t first = r->match.dst_port;
	const uint32_t last = first | (uint16_t)~r->match.dst_port_mask;
	char to[16] = "";

	r->match.ip_version = ip_version;
	if (last != first)
		snprintf(to, sizeof to, " to %u", last);
	snprintf(r->words, sizeof r->words, "%s%s port%s %u%s of the cache",
		 r->match.protocol == IP_TCP ? "TCP" : "UDP", ip_version == 4 ? "" : " over IPv6",
		 last == first ? "" : "s", first, to);
}

/* Adds the rules for these ports, one for each family of IP. */
static bool
add_own_ports(struct steer_plan *plan, const struct flow_limits *limits, struct own_ports own)
{
	const bool whole = own.mask == PORT_MASK_ALL;
	const struct steer_rule like = {
		.match = {.protocol = own.protocol,
			  .dst_port = own.port,
			  .dst_port_mask = own.mask},
		.kind = whole ? STEER_EXACT : STEER_DIRECTOR,
		.spread = own.spread,
		.queue = own.queue,
		.explicit_protocol = limits->needs_proto,
		.if_refused = never_here,
	};

	if (!room_for(plan, limits, like.kind, limits->ipv6 ? 2 : 1) ||
	    (!whole && !limits->masked_ports))
		return false;
	add_own_rule(plan, &like, 4);
	if (limits->ipv6)
		add_own_rule(plan, &like, 6);
	return true;
}

/* Adds the local ports of connections that the cache opens, as ranges that one mask describes. */
static bool
add_own_connections(struct steer_plan *plan, const struct flow_limits *limits)
{
	struct own_ports own = {.protocol = IP_TCP, .spread = true};

	for (uint32_t port = KERNEL_OWN_PORT_MIN; port <= PORT_MASK_ALL;) {
		const uint32_t count = port & -port; /* the largest range that begins here */

		own.port = (uint16_t)port;
		own.mask = (uint16_t)-count;
		if (!add_own_ports(plan, limits, own))
			return false;
		port += count;
	}
	return true;
}

bool
rules_for_isolation(struct steer_plan *plan, const struct flow_limits *limits,
		    const struct config *cfg)
{
	const uint32_t tcp[] = {cfg->tcp_port, cfg->tls.plain_port};
	const uint32_t udp = cfg->udp_port == 0 ? 0 : cfg->udp_port_per_core ? cfg->cores : 1;
	const struct config_listen *more = &cfg->listeners;
	struct own_ports own = {.protocol = IP_TCP, .mask = PORT_MASK_ALL, .spread = true};

	for (uint32_t i = 0; i < 2 + more->more_count; i++) {
		own.port = (uint16_t)(i < 2 ? tcp[i] : more->more_ports[i - 2]);
		if (own.port != 0 && !add_own_ports(plan, limits, own))
			return false;
	}
	own.protocol = IP_UDP;
	for (uint32_t i = 0; i < udp; i++) {
		own.port = (uint16_t)(cfg->udp_port + i);
		own.spread = udp == 1 || i >= plan->queues; /* a core without a queue */
		own.queue = own.spread ? 0 : (uint16_t)i;
		if (!add_own_ports(plan, limits, own))
			return false;
	}
	return !config_has_front(cfg) || add_own_connections(plan, limits);
}

uint16_t
rules_tcp_mask(const struct steer_plan *plan)
{
	for (uint32_t i = 0; i < plan->rule_count; i++)
		if (plan->rules[i].match.protocol == IP_TCP)
			return plan->rules[i].match.src_port_mask;
	return 0;
}
