/*
 * nic_profile.h - the profile of the port that the operator named.
 *
 * port.profile if it was said; of a PCI address the profile that lists its ID; else the one of the
 * port's name. What the operator says about rings and burst goes before it.
 *
 * Thread: main, at start.
 * Errors: struct error.
 */
#ifndef CLOCKOO_NIC_PROFILE_H
#define CLOCKOO_NIC_PROFILE_H

#include "config/config.h"
#include "profile/profile.h"

bool nic_profile(struct profile *p, const struct config *cfg, struct error *err);

/* Once DPDK has said which driver took the NIC: if only the generic profile knew its ID, the one of
 * that driver. */
bool nic_profile_of_driver(struct profile *p, const struct config *cfg, const char *driver,
			   struct error *err);

#endif
