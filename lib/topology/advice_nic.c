/*
 * advice_nic.c - rules about the NIC: driver, IOMMU, node, PCIe, link, firmware.
 */
#include "advice.h"

#include <stdio.h>
#include <string.h>

#define VENDOR_INTEL 0x8086u
#define X722_FIRST   0x37cdu /* of X710's family, with its own firmware numbers */
#define X722_LAST    0x37d3u

#define GRUB "GRUB_CMDLINE_LINUX in /etc/default/grub; update-grub; reboot"

/* The oldest firmware that should be used, according to DPDK's guides. */
struct firmware_rule {
	const char *driver; /* driver of the kernel */
	/* 0: all firmware; other values: a family with its own version numbers. */
	uint32_t major;
	uint32_t at_least_major, at_least_minor;
	const char *source;
};

static const struct firmware_rule firmware_rules[] = {
	{"i40e", 0, 8, 30, "DPDK guide of i40e, matching list, 21.11"},
	{"mlx5_core", 12, 12, 21, "DPDK guide of mlx5, prerequisites"},
	{"mlx5_core", 14, 14, 21, "DPDK guide of mlx5, prerequisites"},
	{"mlx5_core", 16, 16, 21, "DPDK guide of mlx5, prerequisites"},
	{"mlx5_core", 20, 20, 27, "DPDK guide of mlx5, prerequisites"},
	{"mlx5_core", 22, 22, 27, "DPDK guide of mlx5, prerequisites"},
};

static void
check_driver(struct advice_list *list, const struct advice_input *c)
{
	const struct pci_nic *nic = c->nic;
	struct advice *a;

	if (pci_nic_is_bound(nic)) {
		advice_add(list, ADVICE_OK, "driver", "%s", nic->driver);
		return;
	}
	a = advice_add(list, ADVICE_FAIL, "driver", "%s is bound to %s, not to a user-space driver",
		       nic->address, nic->driver[0] != '\0' ? nic->driver : "no driver");
	if (c->config->kernel[0] != '\0' && nic->driver[0] != '\0')
		advice_fix(a, "%s take %s %s", c->nic_tool, nic->address, c->config->kernel);
	else
		advice_fix(a, "%s bind %s", c->nic_tool, nic->address);
}

static void
check_vfio(struct advice_list *list, const struct advice_input *c)
{
	struct advice *a;

	if (pci_nic_is_shared(c->nic)) {
		advice_add(list, ADVICE_OK, "vfio", "not needed with %s", c->nic->driver);
	} else if (tree_has(c->tree, "sys/module/vfio_pci") ||
		   tree_has(c->tree, "sys/bus/pci/drivers/vfio-pci")) {
		advice_add(list, ADVICE_OK, "vfio", "vfio-pci is loaded");
	} else {
		a = advice_add(list, pci_nic_is_bound(c->nic) ? ADVICE_OK : ADVICE_FAIL, "vfio",
			       "vfio-pci is not loaded");
		advice_fix(a, "modprobe vfio-pci; echo vfio-pci > "
			      "/etc/modules-load.d/vfio-pci.conf");
	}
}

/* Sets the fix that switches on the IOMMU. For AMD the BIOS is enough, Intel also needs a kernel
 * option. */
static void
fix_iommu(struct advice *a, const struct advice_input *c, const char *else_words)
{
	const char *model = c->topology->model;

	if (strstr(model, "AMD") != NULL || strstr(model, "Hygon") != NULL)
		advice_fix(a,
			   "switch on the IOMMU (AMD-Vi) in the BIOS; add iommu=pt to " GRUB "%s",
			   else_words);
	else if (strstr(model, "Intel") != NULL)
		advice_fix(a,
			   "switch on VT-d in the BIOS; add intel_iommu=on iommu=pt to " GRUB "%s",
			   else_words);
	else
		advice_fix(a,
			   "switch on the IOMMU in the firmware; add iommu.passthrough=1 to " GRUB
			   "%s",
			   else_words);
}

static void
check_iommu(struct advice_list *list, const struct advice_input *c)
{
	char unsafe[TOPOLOGY_NAME_BYTES];
	struct advice *a;

	if (c->nic->iommu_group[0] != '\0' && !c->nic->noiommu) {
		advice_add(list, ADVICE_OK, "IOMMU", "on, group %s", c->nic->iommu_group);
		return;
	}
	if (pci_nic_is_shared(c->nic)) {
		advice_add(list, ADVICE_OK, "IOMMU", "off; %s needs none", c->nic->driver);
		return;
	}
	tree_line(c->tree, unsafe, sizeof unsafe,
		  "sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
	if (unsafe[0] == 'Y' || c->nic->noiommu || strstr(c->nic->driver, "uio") != NULL) {
		a = advice_add(list, ADVICE_WARN, "IOMMU",
			       "off: a faulty NIC or driver can write anywhere in memory");
		fix_iommu(a, c, "");
		return;
	}
	a = advice_add(list, ADVICE_FAIL, "IOMMU", "off: vfio-pci cannot drive the NIC");
	fix_iommu(a, c,
		  "; on a machine without one: echo Y > "
		  "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
}

static void
check_node(struct advice_list *list, const struct advice_input *c)
{
	struct advice *a;

	if (c->nic->node >= 0) {
		advice_add(list, ADVICE_OK, "NIC's NUMA node", "%d", c->nic->node);
	} else if (c->topology->node_end < 2) {
		advice_add(list, ADVICE_OK, "NIC's NUMA node", "there is only one");
	} else {
		a = advice_add(list, ADVICE_WARN, "NIC's NUMA node",
			       "not reported by the BIOS; assuming node %u", c->placement->node);
		advice_fix(a, "look up the slot's socket in the board's manual, and choose CPUs of "
			      "that socket with --lcores");
	}
}

static void
check_pcie(struct advice_list *list, const struct pci_nic *nic)
{
	struct advice *a;

	if (nic->pcie_width == 0 || nic->pcie_width_max == 0) {
		advice_add(list, ADVICE_UNKNOWN, "PCIe", "not reported by the machine");
		return;
	}
	if (nic->pcie_width >= nic->pcie_width_max &&
	    strcmp(nic->pcie_speed, nic->pcie_speed_max) == 0) {
		advice_add(list, ADVICE_OK, "PCIe", "x%u, %s", nic->pcie_width, nic->pcie_speed);
		return;
	}
	a = advice_add(list, ADVICE_WARN, "PCIe", "x%u at %s, but the NIC supports x%u at %s",
		       nic->pcie_width, nic->pcie_speed, nic->pcie_width_max, nic->pcie_speed_max);
	advice_fix(a, "reseat the card, or move it to a slot with x%u and that speed",
		   nic->pcie_width_max);
}

static void
check_link(struct advice_list *list, const struct pci_nic *nic)
{
	struct advice *a;

	switch (nic->link) {
	case LINK_UNKNOWN:
		advice_add(list, ADVICE_UNKNOWN, "link",
			   "unknown until start: no kernel driver is bound to this NIC");
		return;
	case LINK_UP:
		if (nic->link_mbps != 0)
			advice_add(list, ADVICE_OK, "link", "up, %u Mbit/s", nic->link_mbps);
		else
			advice_add(list, ADVICE_OK, "link", "up");
		return;
	case LINK_DOWN:
		break;
	}
	a = advice_add(list, ADVICE_WARN, "link", "%s has no link", nic->iface);
	advice_fix(a, "ip link set %s up; then look at cable, module and switch port", nic->iface);
}

static const struct firmware_rule *
firmware_rule_of(const struct pci_nic *nic, uint32_t major)
{
	for (uint32_t i = 0; i < sizeof firmware_rules / sizeof firmware_rules[0]; i++) {
		const struct firmware_rule *r = &firmware_rules[i];

		if (strcmp(r->driver, nic->driver) == 0 && (r->major == 0 || r->major == major))
			return r;
	}
	return NULL;
}

static void
check_firmware(struct advice_list *list, const struct pci_nic *nic)
{
	const bool x722 = nic->vendor == VENDOR_INTEL && nic->device >= X722_FIRST &&
			  nic->device <= X722_LAST;
	const struct firmware_rule *r;
	uint32_t major = 0, minor = 0;
	struct advice *a;

	if (sscanf(nic->firmware, "%u.%u", &major, &minor) != 2) {
		advice_add(list, ADVICE_UNKNOWN, "firmware", "%s",
			   nic->firmware[0] != '\0'
				   ? nic->firmware
				   : "only a kernel driver reports it (ethtool -i)");
		return;
	}
	r = x722 ? NULL : firmware_rule_of(nic, major);
	if (r == NULL || major > r->at_least_major ||
	    (major == r->at_least_major && minor >= r->at_least_minor)) {
		advice_add(list, ADVICE_OK, "firmware", "%s", nic->firmware);
		return;
	}
	a = advice_add(list, ADVICE_WARN, "firmware", "%s, older than %u.%u (%s)", nic->firmware,
		       r->at_least_major, r->at_least_minor, r->source);
	advice_fix(a, strcmp(nic->driver, "i40e") == 0 ? "Intel's NVM Update Tool"
						       : "mlxup, NVIDIA's firmware tool");
}

void
advice_nic(struct advice_list *list, const struct advice_input *c)
{
	struct advice *a;

	if (c->nic == NULL)
		return;
	if (!c->nic->there) {
		a = advice_add(list, ADVICE_FAIL, "NIC", "there is no PCI device %s",
			       c->nic->address);
		advice_fix(a, "%s list", c->nic_tool);
		return;
	}
	check_driver(list, c);
	check_vfio(list, c);
	check_iommu(list, c);
	check_node(list, c);
	check_pcie(list, c->nic);
	check_link(list, c->nic);
	check_firmware(list, c->nic);
}
