/*
 * plan.c - plans queues, RSS and hand-over; tries the ways of steering in order.
 */
#include "plan.h"
#include "rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The key repeats every 16 bits, so the hash stays the same if both ends are exchanged (Woo and
 * Park, "Scalable TCP Session Monitoring with Symmetric Receive-side Scaling", 2012). So a segment
 * of the appliance that a router quotes has the hash of its flow, and a mirror or a load generator
 * at the other end computes the same hash. The key need not be secret: a client that aims its flows
 * at one queue slows down only that queue, as it could by a flood. */
static const uint8_t rss_key[] = {0x6d, 0x5a};

#define RSS_KEY_USUAL 40u
#define RETA_USUAL    128u
#define RSS_IP        (RSS_KIND_IP4 | RSS_KIND_IP6)
#define RSS_TCP       (RSS_KIND_TCP4 | RSS_KIND_TCP6)
#define RSS_UDP       (RSS_KIND_UDP4 | RSS_KIND_UDP6)

static uint32_t
min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Returns the largest power of two that is at most n; 0 for 0. */
static uint32_t
power_of_two_below(uint32_t n)
{
	return n == 0 ? 0 : 1u << (31 - (uint32_t)__builtin_clz(n));
}

static void __attribute__((format(printf, 2, 3)))
summary_add(struct steer_plan *plan, const char *format, ...)
{
	const size_t used = strlen(plan->words);
	va_list args;

	va_start(args, format);
	vsnprintf(plan->words + used, sizeof plan->words - used, format, args);
	va_end(args);
}

/* The input of each step of planning. */
struct plan_args {
	const struct config *cfg;
	const struct profile *profile;
	const struct port_caps *caps;
	struct error *err;
};

/* Returns how many entries of the table the plan fills; 0: none. */
static uint32_t
table_of(const struct plan_args *t)
{
	return t->profile->reta_fixed ? 0 : t->caps->reta_size;
}

static bool
can_hash(const struct plan_args *t)
{
	return t->profile->spread == SPREAD_RSS && t->caps->rss_fields != 0 &&
	       table_of(t) <= RETA_MAX;
}

/* Reports that the port cannot do what the operator requested by name. */
static bool
steering_refused(const struct plan_args *t, const char *mode, const char *why)
{
	return error_set(t->err, "--steering: %s: port %s %s: use auto", mode, t->profile->name,
			 why);
}

static void
plan_rss(struct steer_plan *plan, const struct plan_args *t, uint32_t queues)
{
	const struct port_caps *caps = t->caps;

	plan->rss_fields = caps->rss_fields;
	if (t->profile->rss_key_by != RSS_KEY_BY_NONE)
		plan->rss_key_bytes = min_u32(caps->rss_key_bytes, RSS_KEY_MAX);
	for (uint32_t i = 0; i < plan->rss_key_bytes; i++)
		plan->rss_key[i] = rss_key[i % sizeof rss_key];
	plan->reta_size = table_of(t);
	for (uint32_t i = 0; i < plan->reta_size; i++)
		plan->reta[i] = (uint16_t)(i % queues);
}

static void
say_rss(struct steer_plan *plan)
{
	summary_add(plan, "RSS over addresses%s%s, ",
		    plan->rss_fields & RSS_TCP ? ", TCP ports" : "",
		    plan->rss_fields & RSS_UDP ? ", UDP ports" : "");
	if (plan->reta_size != 0)
		summary_add(plan, "table of %u", plan->reta_size);
	else
		summary_add(plan, "the NIC's own table");
}

/* Plans RSS; with rules for TCP if the RSS table cannot name all queues, and always with director.
 * Not for a front: its servers all answer from one port, so rules by the sender's port would take
 * them for one client. */
static bool
plan_hash(struct steer_plan *plan, const struct plan_args *t, bool director)
{
	const uint32_t wanted = plan->queues;
	const uint32_t most = t->profile->rss_queues_max;
	const uint32_t named = most != 0 ? min_u32(wanted, most) : wanted;
	const bool rules = (director || named < wanted) && !config_has_front(t->cfg) &&
			   !config_shares_nic(t->cfg) && rules_for_tcp(plan, &t->profile->flow);

	if (director && !rules)
		return steering_refused(t, "flow-director", "has no rules by bits of a port");
	if (!rules)
		plan->queues = named;
	summary_add(plan, "%u queues, ", plan->queues);
	if (rules)
		summary_add(
			plan,
			"TCP over IPv4 by client port (flow director, mask 0x%04x), the rest by ",
			rules_tcp_mask(plan));
	plan_rss(plan, t, named);
	say_rss(plan);
	if (named < plan->queues)
		summary_add(plan, " over %u queues", named);
	return true;
}

/* Returns what spreads the flows if the port is not programmed; NULL: nothing does. */
static const char *
spread_by(enum spread spread)
{
	switch (spread) {
	case SPREAD_FANOUT:
		return "the kernel spreads flows by hash (packet fanout)";
	case SPREAD_KERNEL:
		return "the kernel spreads flows by hash over the interface's queues";
	case SPREAD_PEER:
		return "the other side must keep each flow on one queue";
	case SPREAD_CABLE:
		return "the thread behind the port brings each flow to its core";
	case SPREAD_RSS:
	case SPREAD_NONE:
		break;
	}
	return NULL;
}

/* Plans the first way that the port supports. If it supports none, cores hand frames over to each
 * other. */
static bool
plan_auto(struct steer_plan *plan, const struct plan_args *t)
{
	const char *who = spread_by(t->profile->spread);

	if (can_hash(t))
		return plan_hash(plan, t, false);
	if (who != NULL) {
		summary_add(plan, "%u queues, %s", plan->queues, who);
		return true;
	}
	plan->queues = 1;
	summary_add(plan, "1 queue, the port cannot spread flows");
	return true;
}

static bool
plan_none(struct steer_plan *plan, const struct plan_args *t)
{
	if (plan->queues < t->cfg->cores)
		return error_set(t->err,
				 "--steering: none: %u cores need a queue each and port %s has %u: "
				 "use -t %u, or auto",
				 t->cfg->cores, t->profile->name, plan->queues, plan->queues);
	summary_add(plan, "%u queues, the port is left to spread flows as it does", plan->queues);
	return true;
}

/* Refuses RSS with one of two reasons: the table is too long, or the port has no hash. */
static bool
refuse_rss(const struct plan_args *t)
{
	return steering_refused(t, "rss",
				table_of(t) > RETA_MAX ? "has too long a redirection table"
						       : "cannot hash flows");
}

static bool
plan_as_configured(struct steer_plan *plan, const struct plan_args *t)
{
	switch ((enum config_steering)t->cfg->steering) {
	case STEERING_RSS:
		return can_hash(t) ? plan_hash(plan, t, false) : refuse_rss(t);
	case STEERING_FLOW_DIRECTOR:
		return can_hash(t) ? plan_hash(plan, t, true)
				   : steering_refused(t, "flow-director", "has no flow rules");
	case STEERING_NONE:
		return plan_none(plan, t);
	case STEERING_SOFTWARE:
		if (profile_is_cable(t->profile))
			return steering_refused(t, "software", "spreads flows by itself");
		plan->handover = true;
		return plan_auto(plan, t);
	case STEERING_AUTO:
		break;
	}
	return plan_auto(plan, t);
}

static void
plan_udp_ports(struct steer_plan *plan, const struct plan_args *t)
{
	const uint32_t first = t->cfg->udp_port, last = first + plan->queues - 1;

	if (!t->cfg->udp_port_per_core || first == 0)
		return;
	if (plan->queues > 1 && rules_for_udp_ports(plan, &t->profile->flow, first)) {
		summary_add(plan, "; UDP ports %u to %u to queues 0 to %u%s", first, last,
			    plan->queues - 1, t->profile->flow.ipv6 ? "" : " (IPv4)");
	} else if (!plan->handover) {
		summary_add(plan,
			    "; UDP ports %u to %u without rules: any core answers any of them",
			    first, last);
		plan->fallback = true;
	}
}

/* Plans rules for the cache's ports, on a port that leaves everything else to the kernel. If each
 * UDP port has a queue, it keeps its core. */
static bool
plan_isolation(struct steer_plan *plan, const struct plan_args *t)
{
	if (!config_shares_nic(t->cfg))
		return true;
	plan->isolated = true;
	summary_add(plan, "; what no rule asks for stays with the kernel");
	return rules_for_isolation(plan, &t->profile->flow, t->cfg) ||
	       error_set(t->err, "--kernel nic: port %s has too few rules; name a tap interface",
			 t->profile->name);
}

static bool
plan_flows(struct steer_plan *plan, const struct plan_args *t)
{
	const struct config *cfg = t->cfg;
	const struct profile *profile = t->profile;
	const struct port_caps *caps = t->caps;
	const uint32_t wanted = cfg->queues != 0 ? min_u32(cfg->queues, cfg->cores) : cfg->cores;
	const uint32_t most =
		min_u32(profile->queues_max, min_u32(caps->rx_queues_max, caps->tx_queues_max));

	memset(plan, 0, sizeof *plan);
	plan->queues = min_u32(wanted, most);
	if (profile->queues_power_of_two)
		plan->queues = power_of_two_below(plan->queues);
	if (most == 0)
		return error_set(t->err, "--port %s: it has no queue to send or receive by",
				 profile->name);
	if (cfg->cores == 1) {
		summary_add(plan, "1 queue, all flows on it");
		return true;
	}
	if (!plan_as_configured(plan, t))
		return false;
	plan->cable = profile_is_cable(profile);
	if (plan->queues > 1 && cfg->steering != STEERING_NONE && !config_shares_nic(cfg))
		rules_for_neighbours(plan, &profile->flow);
	if (plan->queues < cfg->cores) {
		plan->handover = true;
		plan->fallback = cfg->steering != STEERING_SOFTWARE && plan->queues < wanted;
	}
	if (!config_shares_nic(cfg))
		plan_udp_ports(plan, t);
	if (plan->handover)
		summary_add(plan, "; %u cores hand frames over to each other in software",
			    cfg->cores);
	return true;
}

bool
steer_plan_make(struct steer_plan *plan, const struct config *cfg, const struct profile *profile,
		const struct port_caps *caps, struct error *err)
{
	const struct plan_args t = {cfg, profile, caps, err};

	return plan_flows(plan, &t) && plan_isolation(plan, &t);
}

void
steer_caps_max(const struct profile *profile, struct port_caps *caps)
{
	*caps = (struct port_caps){
		.rx_queues_max = profile->queues_max,
		.tx_queues_max = profile->queues_max,
		.rss_fields =
			profile->rss_fields != 0 ? profile->rss_fields : RSS_IP | RSS_TCP | RSS_UDP,
		.rss_key_bytes =
			profile->rss_key_bytes != 0 ? profile->rss_key_bytes : RSS_KEY_USUAL,
		.reta_size = profile->reta_size != 0 ? profile->reta_size : RETA_USUAL,
	};
}

const char *
steer_mode(const struct steer_plan *plan)
{
	if (plan->handover)
		return "software";
	if (rules_tcp_mask(plan) != 0)
		return "flow-director";
	if (plan->rss_fields != 0)
		return "rss";
	return plan->queues == 1 ? "one-queue" : "port";
}
