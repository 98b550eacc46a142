/*
 * host.c - gathers the facts about the machine on which EAL depends, and writes one line about what
 * is missing.
 */
#include "host.h"
#include "kernel/kernel_iface.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CAP_NET_ADMIN_BIT 12 /* linux/capability.h */
#define LINES_MAX         256u
#define LOCK_BYTES        (32u << 20) /* the two rings of one af_packet queue */

static void
probe_cpus(struct cpu_list *cpus)
{
	cpu_set_t set;

	cpus->count = 0;
	if (sched_getaffinity(0, sizeof set, &set) != 0)
		return;
	for (uint32_t cpu = 0; cpu < LCORE_ID_END; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus->at[cpus->count++] = cpu;
}

/* Returns the number after key in a file of "key number" lines; 0 if the key is missing. */
static uint64_t
number_in(const char *path, const char *key, int base)
{
	FILE *file = fopen(path, "re");
	uint64_t n = 0;
	char line[256];

	if (file == NULL)
		return 0;
	for (uint32_t i = 0; i < LINES_MAX && fgets(line, sizeof line, file) != NULL; i++) {
		if (strncmp(line, key, strlen(key)) == 0) {
			n = strtoull(line + strlen(key), NULL, base);
			break;
		}
	}
	fclose(file);
	return n;
}

uint64_t
host_resident_bytes(void)
{
	static const char status[] = "/proc/self/status";

	return (number_in(status, "VmRSS:", 10) + number_in(status, "HugetlbPages:", 10)) * 1024;
}

/* Returns the bytes of free hugepages of all sizes, since EAL uses each size. The directories have
 * names like hugepages-2048kB. */
static uint64_t
free_hugepage_bytes(void)
{
	static const char dir_path[] = "/sys/kernel/mm/hugepages";
	DIR *dir = opendir(dir_path);
	uint64_t bytes = 0;
	struct dirent *entry;

	if (dir == NULL)
		return 0;
	for (uint32_t i = 0; i < LINES_MAX && (entry = readdir(dir)) != NULL; i++) {
		char path[sizeof dir_path + sizeof entry->d_name + 32];
		uint64_t kb;

		if (strncmp(entry->d_name, "hugepages-", 10) != 0)
			continue;
		kb = strtoull(entry->d_name + 10, NULL, 10);
		snprintf(path, sizeof path, "%s/%s/free_hugepages", dir_path, entry->d_name);
		bytes += number_in(path, "", 10) * kb * 1024;
	}
	closedir(dir);
	return bytes;
}

static void
probe_iface(struct host *host, const char *name)
{
	struct ifreq req = {0};

	if (!kernel_iface_ask(name, SIOCGIFFLAGS, &req))
		return; /* PRESENCE_MISSING */
	host->iface = req.ifr_flags & IFF_UP ? PRESENCE_READY : PRESENCE_DOWN;
	if (kernel_iface_ask(name, SIOCGIFMTU, &req))
		host->iface_mtu = (uint32_t)req.ifr_mtu;
}

static bool
may_open_packet_sockets(void)
{
	const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* True if the rings of all cores can be locked in memory. Limits and capabilities interact with
 * user namespaces, so only an attempt shows it. */
static bool
may_lock_rings(uint32_t cores)
{
	const size_t bytes = (size_t)LOCK_BYTES * (cores != 0 ? cores : 1);
	void *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);

	if (at == MAP_FAILED)
		return false;
	munmap(at, bytes);
	return true;
}

/* True if this process may open /dev/vfio/N, where N is the device's IOMMU group. */
static bool
may_open_group(const char *device)
{
	char path[192], target[256];
	const char *group;
	ssize_t len;

	snprintf(path, sizeof path, "%s/iommu_group", device);
	len = readlink(path, target, sizeof target - 1);
	target[len > 0 ? len : 0] = '\0';
	group = strrchr(target, '/');
	if (group == NULL)
		return false;
	snprintf(path, sizeof path, "/dev/vfio%.64s", group);
	return access(path, R_OK | W_OK) == 0;
}

static void
probe_pci(struct host *host, const char *address)
{
	char device[96], path[128], target[256];
	const char *domain = strlen(address) == 7 ? "0000:" : "";
	ssize_t len;

	snprintf(device, sizeof device, "/sys/bus/pci/devices/%s%.31s", domain, address);
	host->pci_exists = address[0] != '\0' && access(device, F_OK) == 0;
	snprintf(path, sizeof path, "%s/driver", device);
	len = readlink(path, target, sizeof target - 1);
	target[len > 0 ? len : 0] = '\0';
	/* The drivers of mlx4, mlx5 and mana share the NIC with the kernel's driver; for all others
	 * the kernel's must be unbound. */
	host->pci_bound = strstr(target, "vfio-pci") != NULL || strstr(target, "uio") != NULL ||
			  strstr(target, "mlx") != NULL || strstr(target, "/mana") != NULL;
	host->pci_ours = strstr(target, "vfio-pci") != NULL && may_open_group(device);
}

/* Examines a socket file by a connect of the wrong type, which disturbs no listener: the kernel
 * refuses with EPROTOTYPE before it connects. For a file that a crash left there is no socket, and
 * the error is ECONNREFUSED. See unix(7). */
static enum presence
probe_socket(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	enum presence p = PRESENCE_READY;
	struct stat st;
	int fd;

	if (path[0] == '\0' || stat(path, &st) != 0)
		return PRESENCE_MISSING;
	if (!S_ISSOCK(st.st_mode))
		return PRESENCE_OTHER;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return p;
	if ((size_t)snprintf(name.sun_path, sizeof name.sun_path, "%s", path) <
		    sizeof name.sun_path &&
	    connect(fd, (const struct sockaddr *)&name, sizeof name) != 0 && errno == ECONNREFUSED)
		p = PRESENCE_DOWN;
	close(fd);
	return p;
}

void
host_probe(struct host *host, const struct config *cfg)
{
	memset(host, 0, sizeof *host);
	probe_cpus(&host->cpus);
	host->huge_free_bytes = free_hugepage_bytes();
	host->memory_free_bytes = number_in("/proc/meminfo", "MemAvailable:", 10) * 1024;
	probe_iface(host, cfg->iface);
	host->root = geteuid() == 0;
	host->net_raw = may_open_packet_sockets();
	host->net_admin = number_in("/proc/self/status", "CapEff:", 16) >> CAP_NET_ADMIN_BIT & 1;
	host->tun = access("/dev/net/tun", R_OK | W_OK) == 0;
	host->may_lock = may_lock_rings(cfg->cores);
	host->socket = probe_socket(cfg->socket);
	probe_pci(host, cfg->pci);
}

static bool
check_memory(const struct host *host, const struct config *cfg, uint64_t bytes, struct error *err)
{
	const uint64_t mb = 1u << 20, need_mb = (bytes + mb - 1) / mb;

	if (cfg->no_huge && host->memory_free_bytes < bytes)
		return error_set(err, "memory: %llu MB needed, %llu MB free: lower -m, -c or -t",
				 (unsigned long long)need_mb,
				 (unsigned long long)(host->memory_free_bytes / mb));
	if (!cfg->no_huge && host->huge_free_bytes < bytes)
		return error_set(err,
				 "hugepages: %llu MB needed, %llu MB free: reserve them (%s "
				 "hugepages %u %s %llu), lower -m, or use --no-huge",
				 (unsigned long long)need_mb,
				 (unsigned long long)(host->huge_free_bytes / mb), host->nic_tool,
				 host->reserve_node, host->reserve_size,
				 (unsigned long long)host->reserve_pages_all);
	return true;
}

static bool
iface_is_ready(const struct host *host, const struct config *cfg, const struct profile *p,
	       struct error *err)
{
	if (cfg->iface[0] == '\0')
		return error_set(err, "--port %s: needs --iface NAME, the kernel interface to use",
				 p->name);
	if (host->iface == PRESENCE_MISSING)
		return error_set(err,
				 "--iface: there is no interface \"%s\" in this network namespace; "
				 "\"ip link\" lists them",
				 cfg->iface);
	if (host->iface == PRESENCE_DOWN)
		return error_set(err, "--iface: \"%s\" is down: ip link set %s up", cfg->iface,
				 cfg->iface);
	if (host->iface_mtu != 0 && host->iface_mtu < cfg->mtu)
		return error_set(err,
				 "--mtu: %u: the MTU of \"%s\" is %u: ip link set %s mtu %u, or "
				 "--mtu %u",
				 cfg->mtu, cfg->iface, host->iface_mtu, cfg->iface, cfg->mtu,
				 host->iface_mtu);
	return true;
}

static bool
check_privileges(const struct host *host, const struct profile *p, struct error *err)
{
	if ((p->needs & NEED_NET_RAW) && !host->net_raw)
		return error_set(err,
				 "--port %s: not permitted to open packet sockets: run as root or "
				 "with CAP_NET_RAW",
				 p->name);
	if ((p->needs & NEED_NET_ADMIN) && !host->net_admin)
		return error_set(
			err,
			"--port %s: not permitted to set up interfaces: run as root or with "
			"CAP_NET_ADMIN",
			p->name);
	if ((p->needs & NEED_TUN) && !host->tun)
		return error_set(err,
				 "--port %s: /dev/net/tun is not usable: modprobe tun, or allow "
				 "this user to open it",
				 p->name);
	if ((p->needs & NEED_LOCK) && !host->may_lock)
		return error_set(err,
				 "--port %s: not permitted to lock its rings in memory: raise the "
				 "limit (ulimit -l unlimited) or run as root",
				 p->name);
	if ((p->needs & NEED_ROOT) && !host->root && !host->pci_ours)
		return error_set(
			err,
			"--port %s: only root, or a user with access to its /dev/vfio group, may "
			"drive this port: run as root, or bind it to vfio-pci and give "
			"/dev/vfio/GROUP to this user",
			p->name);
	/* vfio counts every page that the NIC may write to as locked. */
	if ((p->needs & NEED_ROOT) && !host->root && !host->may_lock)
		return error_set(err,
				 "--port %s: not permitted to lock memory for the NIC: raise the "
				 "limit (ulimit -l unlimited, LimitMEMLOCK=infinity)",
				 p->name);
	return true;
}

static const char *
side_that_listens(const struct profile *p)
{
	return strncmp(p->device, "net_memif", 9) == 0 ? "memif server" : "vhost side";
}

static bool
socket_is_ready(const struct host *host, const struct config *cfg, const struct profile *p,
		struct error *err)
{
	if ((p->needs & (NEED_SOCKET_FREE | NEED_SOCKET_THERE)) && cfg->socket[0] == '\0')
		return error_set(err, "--port %s: needs --socket PATH, the peer's Unix socket",
				 p->name);
	if ((p->needs & NEED_SOCKET_FREE) && host->socket == PRESENCE_READY)
		return error_set(err,
				 "--socket: %s already exists and is in use: stop the program that "
				 "uses it, or name another",
				 cfg->socket);
	if ((p->needs & (NEED_SOCKET_FREE | NEED_SOCKET_THERE)) && host->socket == PRESENCE_OTHER)
		return error_set(err, "--socket: %s exists and is not a socket: name another",
				 cfg->socket);
	if ((p->needs & NEED_SOCKET_THERE) && host->socket == PRESENCE_MISSING)
		return error_set(err, "--socket: %s is not there: start the %s first", cfg->socket,
				 side_that_listens(p));
	if ((p->needs & NEED_SOCKET_THERE) && host->socket == PRESENCE_DOWN)
		return error_set(err,
				 "--socket: no process listens at %s, a stale socket of a program "
				 "that crashed and "
				 "left: remove it, and start the %s first",
				 cfg->socket, side_that_listens(p));
	return true;
}

static bool
pci_is_ready(const struct host *host, const struct config *cfg, const struct profile *p,
	     struct error *err)
{
	if (!profile_is_pci(p))
		return true;
	if (cfg->pci[0] == '\0')
		return error_set(err,
				 "--port %s: needs the NIC's PCI address instead: --port "
				 "0000:03:00.0; %s list shows them",
				 p->name, host->nic_tool);
	if (!host->pci_exists)
		return error_set(err, "--port: there is no PCI device %s; %s list shows the NICs",
				 cfg->pci, host->nic_tool);
	if (!host->pci_bound)
		return error_set(err,
				 "--port: PCI device %s is not bound to a user-space driver: "
				 "%s bind %s",
				 cfg->pci, host->nic_tool, cfg->pci);
	return true;
}

bool
host_check(const struct host *host, const struct config *cfg, const struct profile *p,
	   uint64_t memory_bytes, struct error *err)
{
	if (!pci_is_ready(host, cfg, p, err))
		return false;
	if (cfg->mtu > p->mtu_max)
		return error_set(err, "--mtu: %u: port %s takes at most %u", cfg->mtu, p->name,
				 p->mtu_max);
	return check_privileges(host, p, err) &&
	       (!(p->needs & NEED_IFACE) || iface_is_ready(host, cfg, p, err)) &&
	       socket_is_ready(host, cfg, p, err) && check_memory(host, cfg, memory_bytes, err);
}

bool
host_has_stale_socket(const struct host *host, const struct profile *profile)
{
	return (profile->needs & NEED_SOCKET_FREE) && host->socket == PRESENCE_DOWN;
}

bool
host_remove_stale_socket(const struct config *cfg, struct error *err)
{
	struct stat st;

	/* A symbolic link to a socket was made on purpose, so it is kept. */
	if (lstat(cfg->socket, &st) == 0 && S_ISSOCK(st.st_mode) && unlink(cfg->socket) == 0)
		return true;
	return error_set(err,
			 "--socket: %s is already there, left by a program that crashed, and is "
			 "not ours to remove: remove it",
			 cfg->socket);
}
