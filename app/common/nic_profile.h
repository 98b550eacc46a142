/*
 * nic_profile.h - the NIC profile of the operator's port.
 *
 * The profile of --profile; without it that of the device's PCI ID; for other ports that with the
 * port's name. The operator's ring sizes and burst replace the profile's.
 *
 * Thread: main, at start.
 * Errors: struct error.
 */
#ifndef CLOCKOO_NIC_PROFILE_H
#define CLOCKOO_NIC_PROFILE_H

#include "config/config.h"
#include "profile/profile.h"

bool nic_profile(struct profile *p, const struct config *cfg, struct error *err);

/* Replaces the generic profile by that of the driver that DPDK has found. */
bool nic_profile_of_driver(struct profile *p, const struct config *cfg, const char *driver,
			   struct error *err);

#endif
