/*
 * device_link.c - whether a port has a link, and the link's speed: from the driver, or for an
 * interface of the kernel from the kernel.
 */
#include "device.h"
#include "kernel/kernel_iface.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>

#include <rte_ethdev.h>

bool
device_link_up_mt(const struct device *d)
{
	struct rte_eth_link link = {0};

	if (device_is_away(d))
		return false;
	return rte_eth_link_get_nowait(d->id, &link) != 0 || link.link_status != 0;
}

/* Returns the speed of the kernel's interface; 1: it is unknown; 0: there is no carrier. */
static uint32_t
iface_mbps(const char *iface)
{
	struct ethtool_value carrier = {.cmd = ETHTOOL_GLINK};
	struct ethtool_cmd settings = {.cmd = ETHTOOL_GSET};
	struct ifreq req = {.ifr_data = (void *)&carrier};
	uint32_t mbps;

	/* On a busy machine the interface's flags may show a carrier late; this call updates
	 * them. */
	if (!kernel_iface_ask(iface, SIOCETHTOOL, &req) || carrier.data == 0)
		return 0;
	req.ifr_data = (void *)&settings;
	mbps = kernel_iface_ask(iface, SIOCETHTOOL, &req) ? ethtool_cmd_speed(&settings) : 0;
	return mbps == 0 || mbps == (uint32_t)SPEED_UNKNOWN ? 1 : mbps;
}

uint32_t
device_link_mbps_mt(const struct device *d)
{
	struct rte_eth_link link = {0};

	if (device_is_away(d))
		return 0;
	if (d->iface[0] != '\0')
		return iface_mbps(d->iface);
	if (rte_eth_link_get_nowait(d->id, &link) != 0)
		return 1;
	if (link.link_status == 0)
		return 0;
	return link.link_speed == 0 || link.link_speed == UINT32_MAX ? 1 : link.link_speed;
}
