/*
 * pci_nic.c - a NIC as sysfs describes it.
 */
#include "pci_nic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCI_DIR           "sys/bus/pci/devices"
#define SHORT_ADDRESS_LEN 7u /* 03:00.0 */
#define VENDOR_MELLANOX   0x15b3u
#define VENDOR_MICROSOFT  0x1414u

static bool
keep_name(void *arg, const char *name)
{
	snprintf(arg, TOPOLOGY_NAME_BYTES, "%s", name);
	return false;
}

static uint32_t
number_of(const struct tree *tree, const char *address, const char *file)
{
	uint64_t n = 0;

	return tree_number(tree, &n, PCI_DIR "/%s/%s", address, file) ? (uint32_t)n : 0;
}

static bool
keep_virtio(void *arg, const char *name)
{
	return strncmp(name, "virtio", 6) != 0 || keep_name(arg, name);
}

/* Finds the kernel's interface of the NIC. For a virtio NIC it belongs to a device below the PCI
 * device. */
static void
find_iface(struct pci_nic *nic, const struct tree *tree)
{
	char path[TREE_PATH_BYTES], virtio[TOPOLOGY_NAME_BYTES] = "";

	snprintf(path, sizeof path, PCI_DIR "/%s/net", nic->address);
	tree_names(tree, path, keep_name, nic->iface);
	if (nic->iface[0] != '\0')
		return;
	snprintf(path, sizeof path, PCI_DIR "/%s", nic->address);
	tree_names(tree, path, keep_virtio, virtio);
	snprintf(path, sizeof path, PCI_DIR "/%s/%s/net", nic->address, virtio);
	if (virtio[0] != '\0')
		tree_names(tree, path, keep_name, nic->iface);
}

static void
read_iface(struct pci_nic *nic, const struct tree *tree)
{
	uint64_t n;

	find_iface(nic, tree);
	if (nic->iface[0] == '\0')
		return;
	/* The kernel does not report the carrier of an interface that is down. */
	if (tree_number(tree, &n, "sys/class/net/%s/carrier", nic->iface))
		nic->link = n != 0 ? LINK_UP : LINK_DOWN;
	else
		nic->link = LINK_DOWN;
	if (tree_number(tree, &n, "sys/class/net/%s/speed", nic->iface) && n < 1u << 24)
		nic->link_mbps = (uint32_t)n;
	tree_line(tree, nic->firmware, sizeof nic->firmware, "ethtool/%s/firmware-version",
		  nic->iface);
}

/* True if the group, by its name, is one that vfio makes for a device without an IOMMU
 * (vfio_group.c of the kernel). */
static bool
is_noiommu(const struct tree *tree, const char *group)
{
	char name[TOPOLOGY_NAME_BYTES];

	return group[0] != '\0' &&
	       tree_line(tree, name, sizeof name, "sys/kernel/iommu_groups/%s/name", group) &&
	       strcmp(name, "vfio-noiommu") == 0;
}

/* Reads a speed such as "8.0 GT/s". Newer kernels append " PCIe". */
static void
read_speed(char speed[TOPOLOGY_NAME_BYTES], const struct tree *tree, const struct pci_nic *nic,
	   const char *file)
{
	char *unit;

	tree_line(tree, speed, TOPOLOGY_NAME_BYTES, PCI_DIR "/%s/%s", nic->address, file);
	unit = strstr(speed, " PCIe");
	if (unit != NULL)
		*unit = '\0';
}

void
pci_nic_read(struct pci_nic *nic, const struct tree *tree, const char *address)
{
	uint64_t node;

	memset(nic, 0, sizeof *nic);
	snprintf(nic->address, sizeof nic->address, "%s%s",
		 strlen(address) == SHORT_ADDRESS_LEN ? "0000:" : "", address);
	nic->there = address[0] != '\0' && tree_has(tree, PCI_DIR "/%s", nic->address);
	nic->node = NODE_UNKNOWN;
	if (!nic->there)
		return;
	nic->vendor = number_of(tree, nic->address, "vendor");
	nic->device = number_of(tree, nic->address, "device");
	if (tree_number(tree, &node, PCI_DIR "/%s/numa_node", nic->address) && node < NODES_MAX)
		nic->node = (int32_t)node;
	tree_link(tree, nic->driver, sizeof nic->driver, PCI_DIR "/%s/driver", nic->address);
	tree_link(tree, nic->iommu_group, sizeof nic->iommu_group, PCI_DIR "/%s/iommu_group",
		  nic->address);
	nic->noiommu = is_noiommu(tree, nic->iommu_group);
	read_speed(nic->pcie_speed, tree, nic, "current_link_speed");
	read_speed(nic->pcie_speed_max, tree, nic, "max_link_speed");
	nic->pcie_width = number_of(tree, nic->address, "current_link_width");
	nic->pcie_width_max = number_of(tree, nic->address, "max_link_width");
	read_iface(nic, tree);
}

bool
pci_nic_is_shared(const struct pci_nic *nic)
{
	return (nic->vendor == VENDOR_MELLANOX && strncmp(nic->driver, "mlx", 3) == 0) ||
	       (nic->vendor == VENDOR_MICROSOFT && strcmp(nic->driver, "mana") == 0);
}

bool
pci_nic_is_bound(const struct pci_nic *nic)
{
	return pci_nic_is_shared(nic) || strcmp(nic->driver, "vfio-pci") == 0 ||
	       strcmp(nic->driver, "uio_pci_generic") == 0 || strcmp(nic->driver, "igb_uio") == 0;
}
