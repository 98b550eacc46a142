/*
 * nic_claim.h - one process serves an address behind a NIC: a second one would reset its clients.
 *
 * Shape:  a name of the network namespace (unix(7), abstract), of the NIC and the address: an
 *         interface of the same name in another namespace is another NIC. A name and no file: it is
 *         gone with the process, however that ends.
 * Owner:  the descriptor belongs to the caller; the claim holds until it is closed.
 * Thread: main.
 * Errors: struct error says which process has it.
 */
#ifndef CLOCKOO_NIC_CLAIM_H
#define CLOCKOO_NIC_CLAIM_H

#include "config/config.h"
#include "profile/profile.h"

#define NIC_CLAIM_NONE (-1) /* no claim is needed, or the machine has no such names */

/* False: another process has it. No claim is made for a port that no other process can have: a
 * socket of its own, a ring. */
bool nic_claim(const struct config *cfg, const struct profile *profile, int *claim,
	       struct error *err);

/* The process that has it; 0: none, or not known. */
uint32_t nic_claim_holder(const struct config *cfg, const struct profile *profile);

#endif
