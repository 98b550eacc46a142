/*
 * kernel_tap.c - checks the tap interface, attaches to it, and collects facts about its faults.
 */
#include "kernel_tap.h"
#include "kernel/kernel_iface.h"
#include "kernel/kernel_lane.h"
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define TUN_DEVICE  "/dev/net/tun"
#define LINE_BYTES  4096u
#define PORTS_RANGE "/proc/sys/net/ipv4/ip_local_port_range"
#define PORTS_KEPT  "/proc/sys/net/ipv4/ip_local_reserved_ports"

/* True if the interface is a tap. The driver of taps and tuns has the name "tun", and says which of
 * both an interface is. */
static bool
is_tap(const struct config *cfg)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq r = {.ifr_data = (char *)&info};

	return kernel_iface_ask(cfg->kernel, SIOCETHTOOL, &r) && strcmp(info.driver, "tun") == 0 &&
	       strcmp(info.bus_info, "tap") == 0;
}

static bool
check_mtu(const struct config *cfg, struct error *err)
{
	struct ifreq r = {0};

	if (!kernel_iface_ask(cfg->kernel, SIOCGIFMTU, &r) || (uint32_t)r.ifr_mtu <= cfg->mtu)
		return true;
	return error_set(err,
			 "--kernel %s: its MTU is %d, and the port's %u: ip link set %s mtu %u",
			 cfg->kernel, r.ifr_mtu, cfg->mtu, cfg->kernel, cfg->mtu);
}

bool
kernel_tap_check(const struct config *cfg, struct error *err)
{
	if (cfg->kernel[0] == '\0' || config_shares_nic(cfg) || cfg->sysfs[0] != '\0')
		return true;
	if (access(TUN_DEVICE, F_OK) != 0)
		return error_set(err, "--kernel: there is no " TUN_DEVICE ": modprobe tun");
	if (if_nametoindex(cfg->kernel) == 0)
		return error_set(err, "--kernel: there is no interface %s: %s kernel %s makes it",
				 cfg->kernel, paths_nic_tool(), cfg->kernel);
	if (!is_tap(cfg))
		return error_set(err,
				 "--kernel: %s is no tap: give another name, and %s kernel NAME "
				 "makes one",
				 cfg->kernel, paths_nic_tool());
	return check_mtu(cfg, err);
}

static bool
not_attached(const struct config *cfg, struct error *err)
{
	switch (errno) {
	case EBUSY:
		return error_set(err, "--kernel: %s is in use by another process", cfg->kernel);
	case EPERM:
		return error_set(err,
				 "--kernel: %s belongs to another user: %s kernel %s USER gives "
				 "it to the one of the service",
				 cfg->kernel, paths_nic_tool(), cfg->kernel);
	default:
		return error_set(err, "--kernel: cannot attach to %s: %s", cfg->kernel,
				 strerror(errno));
	}
}

/* Gives the interface the port's MAC. The kernel answers for its addresses with it while the cache
 * is away, and sends its own ARP requests with it. */
static bool
set_mac(int fd, const struct config *cfg, const uint8_t mac[6], struct error *err)
{
	struct ifreq r = {0};

	if (kernel_iface_ask(cfg->kernel, SIOCGIFHWADDR, &r) &&
	    memcmp(r.ifr_hwaddr.sa_data, mac, 6) == 0)
		return true;
	r.ifr_hwaddr.sa_family = ARPHRD_ETHER;
	memcpy(r.ifr_hwaddr.sa_data, mac, 6);
	return ioctl(fd, SIOCSIFHWADDR, &r) == 0 ||
	       error_set(err, "--kernel: cannot give %s the MAC of the port: %s", cfg->kernel,
			 strerror(errno));
}

bool
kernel_tap_attach(int *fd, const struct config *cfg, const uint8_t mac[6], struct error *err)
{
	struct ifreq r = {.ifr_flags = IFF_TAP | IFF_NO_PI};

	if (!kernel_tap_check(cfg, err))
		return false;
	memcpy(r.ifr_name, cfg->kernel, strnlen(cfg->kernel, sizeof r.ifr_name - 1));
	*fd = open(TUN_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (*fd < 0)
		return error_set(err, "--kernel: cannot open " TUN_DEVICE ": %s", strerror(errno));
	if (ioctl(*fd, TUNSETIFF, &r) != 0 ? not_attached(cfg, err) : set_mac(*fd, cfg, mac, err))
		return true;
	close(*fd);
	*fd = -1;
	return false;
}

/* ---- for doctor ---- */

static bool
read_line(const char *path, char line[LINE_BYTES])
{
	FILE *f = fopen(path, "re");
	const bool good = f != NULL && fgets(line, LINE_BYTES, f) != NULL;

	if (f != NULL)
		fclose(f);
	return good;
}

/* Returns the interface's owner. sysfs shows the interfaces of the network namespace in which it
 * was mounted, which may be another one than this process's. */
static enum kernel_tap_owner
owner_of(const struct config *cfg)
{
	const struct passwd *user = cfg->user[0] != '\0' ? getpwnam(cfg->user) : NULL;
	const uid_t ours = user != NULL ? user->pw_uid : geteuid();
	char path[64], line[LINE_BYTES];
	long owner;

	snprintf(path, sizeof path, "/sys/class/net/%s/owner", cfg->kernel);
	if (!read_line(path, line))
		return TAP_OWNER_UNKNOWN;
	owner = strtol(line, NULL, 10);
	if (owner < 0)
		return TAP_OWNER_NOBODY;
	return (uid_t)owner == ours ? TAP_OWNER_SERVICE : TAP_OWNER_OTHER;
}

/* True if the list of reserved ports ("a,b-c") contains the whole range. */
static bool
list_has(const char *list, uint32_t from, uint32_t to)
{
	while (from <= to) {
		const char *at = list;
		bool found = false;

		while (*at >= '0' && *at <= '9' && !found) {
			char *end;
			const unsigned long low = strtoul(at, &end, 10);
			const unsigned long high = *end == '-' ? strtoul(end + 1, &end, 10) : low;

			found = low <= from && from <= high;
			if (found)
				from = (uint32_t)high + 1;
			at = *end == ',' ? end + 1 : end;
		}
		if (!found)
			return false;
	}
	return true;
}

/* True if the kernel may choose a local port that the cache uses for its own connections. */
static bool
ports_overlap(void)
{
	char line[LINE_BYTES] = "", kept[LINE_BYTES] = "";
	unsigned int low, high;

	if (!read_line(PORTS_RANGE, line) || sscanf(line, "%u %u", &low, &high) != 2 ||
	    high < KERNEL_OWN_PORT_MIN || high > UINT16_MAX)
		return false;
	read_line(PORTS_KEPT, kept);
	return !list_has(kept, low > KERNEL_OWN_PORT_MIN ? low : KERNEL_OWN_PORT_MIN, high);
}

void
kernel_tap_facts(struct kernel_tap_facts *facts, const struct config *cfg)
{
	struct ifreq r = {0};

	*facts = (struct kernel_tap_facts){.owner = owner_of(cfg),
					   .is_up = kernel_iface_is_up(cfg->kernel),
					   .ports_overlap = ports_overlap()};
	facts->has_mac = kernel_iface_ask(cfg->kernel, SIOCGIFHWADDR, &r);
	if (facts->has_mac)
		memcpy(facts->mac, r.ifr_hwaddr.sa_data, sizeof facts->mac);
}
