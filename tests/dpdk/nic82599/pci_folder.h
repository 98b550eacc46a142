/*
 * pci_folder.h - a PCI device that is a directory of files, for DPDK's real PCI bus.
 *
 * DPDK finds devices below the directory that SYSFS_PCI_DEVICES names. Ours claims to be bound to
 * igb_uio, the one kernel driver that DPDK maps by opening a file: "resource0". That file is
 * empty, so every access to the mapping of it raises SIGBUS, which mmio_trap.h turns into calls.
 * Files that cannot be in the directory (/dev/uioN, and its configuration space under
 * /sys/class/uio) are opened by an open64() of our own, which the bus's library calls because
 * ours is in the program.
 *
 * Owner:  the caller, until pci_folder_remove.
 * Thread: one, before EAL starts.
 * Errors: a check that fails.
 */
#ifndef CLOCKOO_PCI_FOLDER_H
#define CLOCKOO_PCI_FOLDER_H

#include <stdint.h>

#define PCI_FOLDER_BAR_BYTES 0x20000u
#define PCI_FOLDER_ADDRESS   "0000:82:00.0"
#define PCI_FOLDER_PATH      64u

struct pci_folder {
	char path[PCI_FOLDER_PATH]; /* the value of SYSFS_PCI_DEVICES */
	uint16_t vendor, device;
};

void pci_folder_make(struct pci_folder *folder, uint16_t vendor, uint16_t device);
/* Writes the device's files below folder->path, which is there. */
void pci_folder_fill(const struct pci_folder *folder);
void pci_folder_remove(struct pci_folder *folder);

/* The file that is opened in place of /proc/self/pagemap; "": that one. */
extern char pci_folder_pagemap[PCI_FOLDER_PATH];

#endif
