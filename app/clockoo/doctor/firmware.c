/*
 * firmware.c - asks for the firmware version by an ioctl of ethtool.
 */
#include "firmware.h"
#include "kernel/kernel_iface.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>

void
firmware_ask(struct pci_nic *nic)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq req = {.ifr_data = (void *)&info};

	if (kernel_iface_ask(nic->iface, SIOCETHTOOL, &req))
		snprintf(nic->firmware, sizeof nic->firmware, "%.*s",
			 (int)strnlen(info.fw_version, sizeof info.fw_version), info.fw_version);
}
