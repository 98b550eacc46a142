/*
 * nic_claim.h - one process serves an address behind a NIC: a second one would reset its clients.
 *
 * Shape:  a name made of NIC and address, valid in this network namespace (name_claim.h): an
 *         interface of the same name in another namespace is another NIC. If a stranger holds
 *         the name, one line on stderr says so, and no claim is made.
 * Owner:  the descriptor belongs to the caller; the claim holds until it is closed.
 * Thread: main.
 * Errors: struct error names the process that has it.
 */
#ifndef CLOCKOO_NIC_CLAIM_H
#define CLOCKOO_NIC_CLAIM_H

#include "config/config.h"
#include "name_claim.h"
#include "profile/profile.h"

/* Claims the address. False if another process has it. *claim is NAME_CLAIM_NONE for a port that no
 * other process can have (a socket of its own, a ring), on a machine without such names, and beside
 * a stranger. */
bool nic_claim(const struct config *cfg, const struct profile *profile, int *claim,
	       struct error *err);

/* Returns the holder of the address. */
struct name_holder nic_claim_holder(const struct config *cfg, const struct profile *profile);

#endif
