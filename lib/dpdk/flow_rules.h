/*
 * flow_rules.h - programs the plan's rules into the NIC with rte_flow.
 *
 * An isolated port receives nothing but what a rule asks for; the kernel's driver, which keeps the
 * NIC, has the rest.
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
	char first[256]; /* the first refusal as a text; empty: none */
};

/* Has the port receive only what rules ask for. The port is not configured yet. */
bool flow_rules_isolate(uint16_t port, struct error *err);

void flow_rules_create(uint16_t port, const struct steer_plan *plan, struct rule_report *report);

/* Removes all of clockoo's rules from the NIC. */
void flow_rules_flush(uint16_t port);

#endif
