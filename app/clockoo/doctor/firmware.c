/*
 * firmware.c - the firmware version by the ethtool ioctl, since no file of the kernel has it.
 */
#include "firmware.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

void
firmware_ask(struct pci_nic *nic)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq req = {.ifr_data = (void *)&info};
	const int fd = nic->iface[0] != '\0' ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

	if (fd < 0)
		return;
	snprintf(req.ifr_name, sizeof req.ifr_name, "%.15s", nic->iface);
	if (ioctl(fd, SIOCETHTOOL, &req) == 0)
		snprintf(nic->firmware, sizeof nic->firmware, "%.*s",
			 (int)strnlen(info.fw_version, sizeof info.fw_version), info.fw_version);
	close(fd);
}
