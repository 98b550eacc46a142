/*
 * firmware.h - the firmware's version, which no file of the kernel has.
 *
 * Thread: main.
 */
#ifndef CLOCKOO_FIRMWARE_H
#define CLOCKOO_FIRMWARE_H

#include "topology/pci_nic.h"

/* Fills nic->firmware if the kernel drives the NIC and reports its firmware; else leaves it. */
void firmware_ask(struct pci_nic *nic);

#endif
