/*
 * firmware.h - the version of a NIC's firmware, which sysfs lacks.
 *
 * Thread: main.
 */
#ifndef CLOCKOO_FIRMWARE_H
#define CLOCKOO_FIRMWARE_H

#include "topology/pci_nic.h"

/* Fills nic->firmware if the kernel drives the NIC and reports a version; otherwise changes
 * nothing. */
void firmware_ask(struct pci_nic *nic);

#endif
