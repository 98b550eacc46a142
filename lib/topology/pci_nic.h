/*
 * pci_nic.h - a NIC on the PCI bus, as sysfs describes it.
 *
 * Shape:  plain data, read once from a tree. A text is empty if the machine reports nothing. Link
 *         and firmware are known only while a driver of the kernel owns the NIC.
 * Thread: one, at start.
 */
#ifndef CLOCKOO_PCI_NIC_H
#define CLOCKOO_PCI_NIC_H

#include "topology.h"

#define PCI_ADDRESS_BYTES 16u /* 0000:03:00.0 */

enum link_state { LINK_UNKNOWN, LINK_DOWN, LINK_UP };

struct pci_nic {
	bool there;
	char address[PCI_ADDRESS_BYTES];
	uint32_t vendor, device; /* PCI IDs */
	char driver[TOPOLOGY_NAME_BYTES];
	char iface[TOPOLOGY_NAME_BYTES]; /* the kernel's name, if it drives the NIC */
	char firmware[TOPOLOGY_NAME_BYTES];
	int32_t node; /* NODE_UNKNOWN: not reported, or the machine has only one node */
	enum link_state link;
	uint32_t link_mbps;
	char pcie_speed[TOPOLOGY_NAME_BYTES], pcie_speed_max[TOPOLOGY_NAME_BYTES]; /* "8.0 GT/s" */
	uint32_t pcie_width, pcie_width_max;
	char iommu_group[TOPOLOGY_NAME_BYTES]; /* empty: no IOMMU in use */
	bool noiommu; /* the group is the substitute that vfio makes without an IOMMU */
};

/* Reads the NIC with this address, which may lack its domain. */
void pci_nic_read(struct pci_nic *nic, const struct tree *tree, const char *address);

/* True if the NIC is bound to a driver for user space. */
bool pci_nic_is_bound(const struct pci_nic *nic);
/* True if the kernel's driver keeps the NIC while DPDK's uses it (mlx4, mlx5, mana). */
bool pci_nic_is_shared(const struct pci_nic *nic);

#endif
