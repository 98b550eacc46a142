/*
 * nic_claim.h - ensures that one process serves an address behind a NIC: a second one would reset
 * the first one's clients.
 *
 * Shape:  a name of NIC and address in this network namespace (name_claim.h). An interface of the
 *         same name in another namespace is another NIC. If a stranger holds the name, a line on
 *         stderr says so, and no claim is made.
 * Owner:  the caller has the descriptor. The claim lasts until it is closed.
 * Thread: main.
 * Errors: struct error names the process that holds the claim.
 */
#ifndef CLOCKOO_NIC_CLAIM_H
#define CLOCKOO_NIC_CLAIM_H

#include "config/config.h"
#include "name_claim.h"
#include "profile/profile.h"

/* Claims the address. False if another process has claimed it. *claim is NAME_CLAIM_NONE for a port
 * that only one process can have (its own socket, a ring), on a machine without abstract names, and
 * if a stranger holds the name. */
bool nic_claim(const struct config *cfg, const struct profile *profile, int *claim,
	       struct error *err);

/* Returns the holder of the claim on the address. */
struct name_holder nic_claim_holder(const struct config *cfg, const struct profile *profile);

#endif
