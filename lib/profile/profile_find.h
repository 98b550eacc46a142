/*
 * profile_find.h - finds the profile that lists a NIC.
 *
 * Each profile of a directory lists the PCI IDs and the DPDK drivers that it was written for. The
 * ID is known before DPDK runs, the driver's name afterwards; the name also covers IDs newer than
 * the lists.
 *
 * Thread: one, at start: profiles are loaded, see profile.h.
 * Errors: struct error: a directory or a profile that cannot be read.
 * Bounds: PROFILE_FILES_MAX files of the directory.
 */
#ifndef CLOCKOO_PROFILE_FIND_H
#define CLOCKOO_PROFILE_FIND_H

#include "profile.h"

#define PROFILE_FILES_MAX 128u
#define PROFILE_GENERIC   "pci" /* for a NIC that no other profile lists */

bool profile_find_pci(char name[CONFIG_NAME_BYTES], const char *data_dir, uint16_t vendor,
		      uint16_t device, struct error *err);
bool profile_find_driver(char name[CONFIG_NAME_BYTES], const char *data_dir, const char *driver,
			 struct error *err);

/* True if the profile was written for that driver. */
bool profile_knows_driver(const struct profile *p, const char *driver);

#endif
