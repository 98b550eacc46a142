/*
 * policy.h - turns the operator's options into serve's policy.
 *
 * Thread: policy_set by the main thread, before any core turns; policy_change by the control
 *         thread.
 */
#ifndef CLOCKOO_POLICY_H
#define CLOCKOO_POLICY_H

#include "access/users.h"
#include "nic.h"
#include "process/process.h"
#include "sizes.h"

/* Facts that the policy and `stats settings` show. */
struct policy_facts {
	const struct config *config;
	const struct process *process;
	const struct nic *nic;
	const struct sizes *sizes;
	const struct serve_restart *restart;
	char *inter; /* room for our address, IP_ADDR_TEXT_MAX + 1 bytes, which shared keeps */
};

void policy_set(struct serve_shared *shared, struct users *users, const struct policy_facts *facts);

/* Copies from now to both configurations the options that may change while the program runs, for
 * which policy_may_change() is true, and applies those of serve. */
void policy_change(struct serve_shared *shared, struct config *asked, struct config *config,
		   const struct config *now);
bool policy_may_change(const char *option);

#endif
