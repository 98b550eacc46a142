/*
 * device_link.c - whether a port has a link, and its speed: by the driver, or by the kernel for an
 * interface of its own.
 */
#include "device.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_ethdev.h>

bool
device_link_up_mt(const struct device *d)
{
	struct rte_eth_link link = {0};

	if (device_is_away(d))
		return false;
	return rte_eth_link_get_nowait(d->id, &link) != 0 || link.link_status != 0;
}

/* Returns the number in a file of the kernel's about the interface; 0 if there is none. */
static uint32_t
iface_number(const char *iface, const char *file)
{
	char path[sizeof "/sys/class/net//carrier" + CONFIG_NAME_BYTES], text[16] = "";
	const int n = snprintf(path, sizeof path, "/sys/class/net/%s/%s", iface, file);
	const int fd = n < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t got;
	long value;

	if (fd < 0)
		return 0;
	got = read(fd, text,
		   sizeof text - 1); /* an interface that is down has no carrier to read */
	close(fd);
	value = got > 0 ? strtol(text, NULL, 10) : 0;
	return value > 0 && value < UINT16_MAX * 1000L ? (uint32_t)value : 0;
}

uint32_t
device_link_mbps_mt(const struct device *d)
{
	struct rte_eth_link link = {0};

	if (device_is_away(d))
		return 0;
	if (d->iface[0] != '\0') {
		const uint32_t mbps = iface_number(d->iface, "speed");

		return iface_number(d->iface, "carrier") == 0 ? 0 : mbps != 0 ? mbps : 1;
	}
	if (rte_eth_link_get_nowait(d->id, &link) != 0)
		return 1;
	if (link.link_status == 0)
		return 0;
	return link.link_speed == 0 || link.link_speed == UINT32_MAX ? 1 : link.link_speed;
}
