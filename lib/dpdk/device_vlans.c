/*
 * device_vlans.c - sets the VLANs whose frames a port receives.
 */
#include "device_vlans.h"

#include <string.h>

#include <rte_ethdev.h>

#define VLAN_LAST 4094u /* VLAN 0 is in tags that only have a priority */

/* True for virtio. DPDK's driver always enables virtio's filter (VIRTIO_NET_F_CTRL_VLAN); without
 * the offload it adds no VLAN to it, so that the device drops every tagged frame. */
static bool
always_filters(const struct device *d)
{
	return strcmp(d->driver, "net_virtio") == 0;
}

/* True if the other side of the NIC filters, too: a physical function permits a virtual one only a
 * few VLANs. */
static bool
is_virtual_function(const struct device *d)
{
	const size_t len = strlen(d->driver);

	return len > 2 && strcmp(d->driver + len - 2, "vf") == 0;
}

static bool
is_beside_kernel(const struct device *d, const struct config *cfg)
{
	return cfg->kernel[0] != '\0' && !d->isolated;
}

/* True if addresses are in VLANs, or may be: files of addresses are read later. */
static bool
has_vlans(const struct config *cfg)
{
	return cfg->vlan != 0 || cfg->addresses[0] == '/' || strstr(cfg->addresses, "vlan") != NULL;
}

bool
device_vlans_filter(const struct device *d, const struct config *cfg)
{
	if (!is_beside_kernel(d, cfg))
		return has_vlans(cfg);
	return always_filters(d) || (is_virtual_function(d) && has_vlans(cfg));
}

int
device_vlans_join(const struct device *d, const struct config *cfg)
{
	int rc = 0;

	if (!(d->offloads_rx & RTE_ETH_RX_OFFLOAD_VLAN_FILTER))
		return 0;
	if (!always_filters(d) || !is_beside_kernel(d, cfg))
		return cfg->vlan == 0 ? 0 : rte_eth_dev_vlan_filter(d->id, (uint16_t)cfg->vlan, 1);
	for (uint16_t vlan = 0; vlan <= VLAN_LAST && rc == 0; vlan++)
		rc = rte_eth_dev_vlan_filter(d->id, vlan, 1);
	return rc;
}
