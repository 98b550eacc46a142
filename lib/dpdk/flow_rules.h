/*
 * flow_rules.h - the plan's rules, put into the NIC with rte_flow.
 *
 * A rule that the driver refuses is no error: without it its frames reach another core, which the
 * plan says for each. It is counted, and the first one named with the driver's reason.
 *
 * Thread: the main thread, between start and stop of the port.
 * Bounds: RULES_MAX rules.
 */
#ifndef CLOCKOO_FLOW_RULES_H
#define CLOCKOO_FLOW_RULES_H

#include "steer/plan.h"

struct rule_report {
	uint32_t made, refused;
	char first[256]; /* the first refusal, in words; empty: none */
};

void flow_rules_create(uint16_t port, const struct steer_plan *plan, struct rule_report *report);

/* Nothing of ours stays in the NIC. */
void flow_rules_flush(uint16_t port);

#endif
