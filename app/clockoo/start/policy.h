/*
 * policy.h - makes serve's policy of the operator's options.
 *
 * Thread: the main thread calls policy_set before any core turns; the control thread calls
 *         policy_change.
 */
#ifndef CLOCKOO_POLICY_H
#define CLOCKOO_POLICY_H

#include "access/users.h"
#include "nic.h"
#include "process/process.h"
#include "sizes.h"

/* The parts that the policy and `stats settings` are made of. */
struct policy_facts {
	const struct config *config;
	const struct process *process;
	const struct nic *nic;
	const struct sizes *sizes;
	const struct serve_restart *restart;
	/* Room for our address as text, IP_ADDR_TEXT_MAX + 1 bytes; `stats settings` reads it
	 * later. */
	char *inter;
};

void policy_set(struct serve_shared *shared, struct users *users, const struct policy_facts *facts);

/* Copies the options that policy_may_change() allows from now to asked and config, and gives serve
 * those of its policy. */
void policy_change(struct serve_shared *shared, struct config *asked, struct config *config,
		   const struct config *now);
bool policy_may_change(const char *option);

#endif
