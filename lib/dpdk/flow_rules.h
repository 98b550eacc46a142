/*
 * flow_rules.h - programs the plan's rules into the NIC with rte_flow.
 *
 * An isolated port receives only frames for which there is a rule; all others go to the kernel's
 * driver, which keeps the NIC.
 *
 * A rule that the driver refuses is no error: its frames then reach another core, which the plan
 * states for each rule. Refusals are counted, and the first one is kept with the driver's reason.
 *
 * Thread: the main thread, between start and stop of the port.
 * Bounds: RULES_MAX rules.
 */
#ifndef CLOCKOO_FLOW_RULES_H
#define CLOCKOO_FLOW_RULES_H

#include "steer/plan.h"

struct rule_report {
	uint32_t made, refused;
	char first[256]; /* text about the first refusal; empty: none */
};

/* Makes the port receive only frames for which there are rules. Called before the port is
 * configured. */
bool flow_rules_isolate(uint16_t port, struct error *err);

void flow_rules_create(uint16_t port, const struct steer_plan *plan, struct rule_report *report);

/* Removes all of clockoo's rules from the NIC. */
void flow_rules_flush(uint16_t port);

#endif
