/*
 * nic_profile.h - the profile of the port that the operator named.
 *
 * It is the one of --profile; else for a PCI address the one that lists its ID; else the one named
 * as the port. The operator's rings and burst replace its own.
 *
 * Thread: main, at start.
 * Errors: struct error.
 */
#ifndef CLOCKOO_NIC_PROFILE_H
#define CLOCKOO_NIC_PROFILE_H

#include "config/config.h"
#include "profile/profile.h"

bool nic_profile(struct profile *p, const struct config *cfg, struct error *err);

/* Replaces the generic profile by that of the driver, which DPDK has named. */
bool nic_profile_of_driver(struct profile *p, const struct config *cfg, const char *driver,
			   struct error *err);

#endif
