/*
 * flow_rules.c - builds rte_flow patterns and actions from the rules of a plan.
 */
#include "flow_rules.h"

#include <netinet/in.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#define ITEMS_MAX   4u /* Ethernet, IP, transport, end */
#define ACTIONS_MAX 3u /* queue or RSS, mark, end */

/* A rule in DPDK's form; items and actions point to the rest. */
struct rte_rule {
	struct rte_flow_item items[ITEMS_MAX];
	struct rte_flow_action actions[ACTIONS_MAX];
	uint32_t item_count, action_count;
	struct rte_flow_item_eth eth, eth_mask;
	struct rte_flow_item_ipv4 ip4, ip4_mask;
	struct rte_flow_item_ipv6 ip6, ip6_mask;
	struct rte_flow_item_tcp tcp, tcp_mask;
	struct rte_flow_item_udp udp, udp_mask;
	struct rte_flow_action_queue queue;
	struct rte_flow_action_mark mark;
	struct rte_flow_action_rss rss;
};

/* The queues of a port in their order. Constant, since drivers copy the list. */
static uint16_t all_queues[CORES_MAX];

static void
add_item(struct rte_rule *r, enum rte_flow_item_type type, const void *spec, const void *mask)
{
	r->items[r->item_count++] =
		(struct rte_flow_item){.type = type, .spec = spec, .mask = mask};
}

static void
add_action(struct rte_rule *r, enum rte_flow_action_type type, const void *conf)
{
	r->actions[r->action_count++] = (struct rte_flow_action){.type = type, .conf = conf};
}

static void
add_ethernet(struct rte_rule *r, const struct steer_match *m)
{
	if (m->ether_type == 0) {
		add_item(r, RTE_FLOW_ITEM_TYPE_ETH, NULL, NULL);
		return;
	}
	r->eth.hdr.ether_type = htons(m->ether_type);
	r->eth_mask.hdr.ether_type = UINT16_MAX;
	add_item(r, RTE_FLOW_ITEM_TYPE_ETH, &r->eth, &r->eth_mask);
}

/* Adds the IP item. A rule for the flow director has masks of zeros, since ixgbe accepts the item
 * only so (ixgbe_parse_fdir_filter_normal). */
static void
add_ip(struct rte_rule *r, const struct steer_rule *rule)
{
	const struct steer_match *m = &rule->match;
	const bool look = rule->explicit_protocol || rule->kind == STEER_DIRECTOR;

	if (rule->explicit_protocol) {
		r->ip4.hdr.next_proto_id = r->ip6.hdr.proto = m->protocol;
		r->ip4_mask.hdr.next_proto_id = r->ip6_mask.hdr.proto = UINT8_MAX;
	}
	if (m->ip_version == 4)
		add_item(r, RTE_FLOW_ITEM_TYPE_IPV4, look ? &r->ip4 : NULL,
			 look ? &r->ip4_mask : NULL);
	else if (m->ip_version == 6)
		add_item(r, RTE_FLOW_ITEM_TYPE_IPV6, look ? &r->ip6 : NULL,
			 look ? &r->ip6_mask : NULL);
}

static void
add_ports(struct rte_rule *r, const struct steer_match *m)
{
	if ((m->src_port_mask | m->dst_port_mask) == 0)
		return;
	r->udp.hdr.src_port = r->tcp.hdr.src_port = htons(m->src_port);
	r->udp.hdr.dst_port = r->tcp.hdr.dst_port = htons(m->dst_port);
	r->udp_mask.hdr.src_port = r->tcp_mask.hdr.src_port = htons(m->src_port_mask);
	r->udp_mask.hdr.dst_port = r->tcp_mask.hdr.dst_port = htons(m->dst_port_mask);
	if (m->protocol == IPPROTO_TCP)
		add_item(r, RTE_FLOW_ITEM_TYPE_TCP, &r->tcp, &r->tcp_mask);
	else
		add_item(r, RTE_FLOW_ITEM_TYPE_UDP, &r->udp, &r->udp_mask);
}

/* Returns which fields of a rule's flows the NIC hashes. */
static uint64_t
match_rss_types(const struct steer_match *m)
{
	const bool is_tcp = m->protocol == IPPROTO_TCP;

	if (m->ip_version == 4)
		return is_tcp ? RTE_ETH_RSS_NONFRAG_IPV4_TCP : RTE_ETH_RSS_NONFRAG_IPV4_UDP;
	return is_tcp ? RTE_ETH_RSS_NONFRAG_IPV6_TCP : RTE_ETH_RSS_NONFRAG_IPV6_UDP;
}

/* Adds the action that sends frames to one queue, or to queues by the plan's hash. */
static void
add_target(struct rte_rule *r, const struct steer_rule *rule, const struct steer_plan *plan)
{
	if (!rule->spread || plan->queues == 1) {
		add_action(r, RTE_FLOW_ACTION_TYPE_QUEUE, &r->queue);
		return;
	}
	for (uint32_t i = 0; i < plan->queues; i++)
		all_queues[i] = (uint16_t)i;
	r->rss = (struct rte_flow_action_rss){
		.types = match_rss_types(&rule->match),
		.key = plan->rss_key_bytes != 0 ? plan->rss_key : NULL,
		.key_len = plan->rss_key_bytes,
		.queue = all_queues,
		.queue_num = plan->queues,
	};
	add_action(r, RTE_FLOW_ACTION_TYPE_RSS, &r->rss);
}

static void
translate(struct rte_rule *r, const struct steer_rule *rule, const struct steer_plan *plan)
{
	*r = (struct rte_rule){.queue.index = rule->queue, .mark.id = rule->mark};
	add_ethernet(r, &rule->match);
	add_ip(r, rule);
	add_ports(r, &rule->match);
	add_item(r, RTE_FLOW_ITEM_TYPE_END, NULL, NULL);
	add_target(r, rule, plan);
	if (rule->mark != 0)
		add_action(r, RTE_FLOW_ACTION_TYPE_MARK, &r->mark);
	add_action(r, RTE_FLOW_ACTION_TYPE_END, NULL);
}

/* Makes one rule. rte_flow_validate ignores the existing rules, so rte_flow_create may refuse a
 * rule that it has accepted. */
static bool
make(uint16_t port, const struct steer_rule *rule, const struct steer_plan *plan,
     struct rte_flow_error *error)
{
	const struct rte_flow_attr attr = {.ingress = 1, .priority = rule->priority};
	struct rte_rule r;

	translate(&r, rule, plan);
	return rte_flow_validate(port, &attr, r.items, r.actions, error) == 0 &&
	       rte_flow_create(port, &attr, r.items, r.actions, error) != NULL;
}

bool
flow_rules_isolate(uint16_t port, struct error *err)
{
	struct rte_flow_error error = {0};

	if (rte_flow_isolate(port, 1, &error) == 0)
		return true;
	return error_set(err,
			 "--kernel nic: the driver cannot leave frames to the kernel: %s; name a "
			 "tap interface",
			 error.message != NULL ? error.message : rte_strerror(rte_errno));
}

void
flow_rules_create(uint16_t port, const struct steer_plan *plan, struct rule_report *report)
{
	*report = (struct rule_report){0};
	for (uint32_t i = 0; i < plan->rule_count; i++) {
		const struct steer_rule *rule = &plan->rules[i];
		struct rte_flow_error error = {0};

		if (make(port, rule, plan, &error)) {
			report->made++;
			continue;
		}
		if (report->refused++ == 0)
			snprintf(report->first, sizeof report->first,
				 "the NIC refused the rule \"%s\": %s; instead: %s", rule->words,
				 error.message != NULL ? error.message : rte_strerror(rte_errno),
				 rule->if_refused);
	}
}

void
flow_rules_flush(uint16_t port)
{
	struct rte_flow_error error = {0};

	(void)rte_flow_flush(port, &error); /* if there are no rules there is nothing to remove */
}
