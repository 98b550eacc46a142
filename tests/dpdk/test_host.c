/*
 * Requirements of the machine. Goal: everything missing is named, with its remedy, before EAL is
 * called; and no sufficient machine is refused. Method: a table of machines, as data, each
 * lacking one thing; no EAL.
 */
#include "support/test.h"
#include "dpdk/eal.h"
#include "dpdk/host.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MB (1ull << 20)

static const struct host good = {
	.cpus = {2, {0, 1}},
	.huge_free_bytes = 1024 * MB,
	.memory_free_bytes = 1024 * MB,
	.iface = PRESENCE_READY,
	.root = true,
	.net_raw = true,
	.net_admin = true,
	.tun = true,
	.may_lock = true,
	.pci_exists = true,
	.pci_bound = true,
	.nic_tool = "clockoo-nic",
	.reserve_node = 1,
	.reserve_size = "2M",
	.reserve_pages_all = 396, /* 346 of them exist */
};

static struct config
config_for(const char *port)
{
	struct config cfg;
	struct error err;

	config_defaults(&cfg);
	check(config_set(&cfg, "port", port, &err));
	check(config_set(&cfg, "iface", "v0", &err));
	check(config_set(&cfg, "socket", "s.sock", &err));
	return cfg;
}

static void
load(struct profile *p, const char *name)
{
	char path[512];
	struct error err;

	snprintf(path, sizeof path, PROFILE_DIR "/%s.yaml", name);
	if (!profile_load(p, path, name, &err))
		fail_msg("%s", err.text);
}

enum lack {
	LACK_NOTHING,
	LACK_IFACE,
	LACK_IFACE_UP,
	LACK_IFACE_NAME,
	LACK_IFACE_MTU,
	LACK_NET_RAW,
	LACK_NET_ADMIN,
	LACK_TUN,
	LACK_ROOT,
	LACK_ROOT_ONLY, /* vfio's file is ours */
	LACK_ROOT_AND_LOCK,
	LACK_LOCK,
	LACK_HUGE,
	LACK_HUGE_ONE_BYTE,
	LACK_MEMORY,
	LACK_SOCKET_NAME,
	LACK_SOCKET_FREE,
	LACK_SOCKET_LISTENER, /* its file exists */
	LACK_SOCKET_AT_ALL,   /* another file is in its place */
	LACK_PCI,
	LACK_PCI_BOUND,
	LACK_MTU,
};

static void
take_away(enum lack lack, struct host *h, struct config *c)
{
	switch (lack) {
	case LACK_NOTHING:
		break;
	case LACK_IFACE:
		h->iface = PRESENCE_MISSING;
		break;
	case LACK_IFACE_UP:
		h->iface = PRESENCE_DOWN;
		break;
	case LACK_IFACE_NAME:
		c->iface[0] = '\0';
		break;
	case LACK_IFACE_MTU:
		h->iface_mtu = 1460;
		break;
	case LACK_NET_RAW:
		h->net_raw = false;
		break;
	case LACK_NET_ADMIN:
		h->net_admin = false;
		break;
	case LACK_TUN:
		h->tun = false;
		break;
	case LACK_ROOT:
		h->root = false;
		break;
	case LACK_ROOT_AND_LOCK:
		h->may_lock = false;
		/* fall through */
	case LACK_ROOT_ONLY:
		h->root = false;
		h->pci_ours = true;
		break;
	case LACK_LOCK:
		h->may_lock = false;
		break;
	case LACK_HUGE:
		h->huge_free_bytes = 0;
		break;
	case LACK_HUGE_ONE_BYTE:
		h->huge_free_bytes = 100 * MB - 1;
		break;
	case LACK_MEMORY:
		h->memory_free_bytes = 99 * MB;
		break;
	case LACK_SOCKET_NAME:
		c->socket[0] = '\0';
		break;
	case LACK_SOCKET_FREE:
		h->socket = PRESENCE_READY;
		break;
	case LACK_SOCKET_LISTENER:
		h->socket = PRESENCE_DOWN;
		break;
	case LACK_SOCKET_AT_ALL:
		h->socket = PRESENCE_OTHER;
		break;
	case LACK_PCI:
		h->pci_exists = false;
		break;
	case LACK_PCI_BOUND:
		h->pci_bound = false;
		break;
	case LACK_MTU:
		c->mtu = 1501;
		break;
	}
}

static const struct {
	const char *port, *profile;
	enum lack lack;
	bool no_huge;
	const char *line; /* in the error; NULL: the machine is sufficient */
} cases[] = {
	{"af_packet", "af_packet", LACK_NOTHING, false, NULL},
	{"af_packet", "af_packet", LACK_IFACE, false, "no interface \"v0\""},
	{"af_packet", "af_packet", LACK_IFACE_UP, false, "ip link set v0 up"},
	{"af_packet", "af_packet", LACK_IFACE_NAME, false, "needs --iface NAME"},
	{"af_packet", "af_packet", LACK_IFACE_MTU, false,
	 "the MTU of \"v0\" is 1460: ip link set v0 mtu 1500, or --mtu 1460"},
	{"af_packet", "af_packet", LACK_NET_RAW, false, "CAP_NET_RAW"},
	{"af_packet", "af_packet", LACK_NET_ADMIN, false, "CAP_NET_ADMIN"},
	{"af_packet", "af_packet", LACK_TUN, false, NULL},
	{"af_packet", "af_packet", LACK_ROOT, false, NULL},
	{"af_packet", "af_packet", LACK_LOCK, false, "ulimit -l unlimited"},
	{"tap", "tap", LACK_LOCK, false, NULL},
	{"af_packet", "af_packet", LACK_HUGE, false,
	 "hugepages: 100 MB needed, 0 MB free: reserve them (clockoo-nic hugepages 1 2M 396)"},
	{"af_packet", "af_packet", LACK_HUGE_ONE_BYTE, false, "99 MB free"},
	{"af_packet", "af_packet", LACK_HUGE, true, NULL},
	{"af_packet", "af_packet", LACK_MEMORY, true, "memory: 100 MB needed, 99 MB free"},
	{"af_packet", "af_packet", LACK_MEMORY, false, NULL},
	{"af_packet", "af_packet", LACK_MTU, false, "--mtu: 1501"},
	{"tap", "tap", LACK_IFACE, false, NULL}, /* it makes the interface */
	{"tap", "tap", LACK_NET_ADMIN, false, "CAP_NET_ADMIN"},
	{"tap", "tap", LACK_TUN, false, "/dev/net/tun"},
	{"vhost", "vhost", LACK_NOTHING, false, NULL},
	{"vhost", "vhost", LACK_SOCKET_NAME, false, "needs --socket PATH"},
	{"vhost", "vhost", LACK_SOCKET_FREE, false, "already exists and is in use"},
	{"vhost", "vhost", LACK_SOCKET_LISTENER, false, NULL}, /* the stale file is removed */
	{"vhost", "vhost", LACK_SOCKET_AT_ALL, false, "s.sock exists and is not a socket"},
	{"virtio_user", "virtio_user", LACK_NOTHING, false, "start the vhost side first"},
	{"virtio_user", "virtio_user", LACK_SOCKET_FREE, false, NULL},
	{"virtio_user", "virtio_user", LACK_SOCKET_LISTENER, false, "no process listens at s.sock"},
	{"virtio_user", "virtio_user", LACK_SOCKET_AT_ALL, false, "exists and is not a socket"},
	{"memif", "memif", LACK_SOCKET_FREE, false, "already exists and is in use"},
	{"memif", "memif", LACK_NOTHING, false, NULL},
	{"memif_client", "memif_client", LACK_NOTHING, false, "start the memif server first"},
	{"memif_client", "memif_client", LACK_SOCKET_NAME, false, "needs --socket PATH"},
	{"memif_client", "memif_client", LACK_SOCKET_LISTENER, false, "no process listens"},
	{"memif_client", "memif_client", LACK_SOCKET_FREE, false, NULL},
	{"null", "null", LACK_NET_RAW, false, NULL},
	{"pcap", "pcap", LACK_NET_RAW, false, NULL},
	{"0000:03:00.0", "pci", LACK_NOTHING, false, NULL},
	{"0000:03:00.0", "pci", LACK_PCI, false, "no PCI device 0000:03:00.0; clockoo-nic list"},
	{"0000:03:00.0", "pci", LACK_PCI_BOUND, false, "clockoo-nic bind 0000:03:00.0"},
	{"0000:03:00.0", "pci", LACK_ROOT, false, "only root"},
	{"0000:03:00.0", "pci", LACK_ROOT_ONLY, false, NULL},
	{"0000:03:00.0", "pci", LACK_ROOT_AND_LOCK, false, "LimitMEMLOCK=infinity"},
	{"pci", "pci", LACK_NOTHING, false, "0000:03:00.0; clockoo-nic list"},
};

TEST(what_is_missing_is_named_and_nothing_else_is_refused)
{
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct config cfg = config_for(cases[i].port);
		struct host host = good;
		struct error err = {0};
		struct profile p;
		bool ok;

		load(&p, cases[i].profile);
		cfg.no_huge = cases[i].no_huge;
		take_away(cases[i].lack, &host, &cfg);
		ok = host_check(&host, &cfg, &p, 100 * MB, &err);
		if (ok != (cases[i].line == NULL))
			fail_msg("case %u: %s", i, ok ? "accepted" : err.text);
		if (!ok && strstr(err.text, cases[i].line) == NULL)
			fail_msg("case %u: %s", i, err.text);
	}
}

TEST(this_machine_has_a_cpu_and_a_loopback_and_no_such_interface)
{
	struct config cfg = config_for("0000:ff:1f.7");
	struct host host;

	strcpy(cfg.iface, "lo");
	host_probe(&host, &cfg);
	check(host.cpus.count >= 1);
	check(host.memory_free_bytes > 0);
	check(host.iface != PRESENCE_MISSING);
	check_eq(host.root, geteuid() == 0);
	check(!host.pci_exists && !host.pci_bound && !host.pci_ours);
	strcpy(cfg.iface, "no-such-iface");
	host_probe(&host, &cfg);
	check_eq(host.iface, PRESENCE_MISSING);
}

/* The check must not be taken for a peer: a listener would accept it. */
TEST(a_listener_is_distinguished_from_the_file_that_a_crash_left)
{
	static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET};
	struct config cfg = config_for("memif");
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct host host;

	snprintf(name.sun_path, sizeof name.sun_path, "test-host-%d.sock", getpid());
	strcpy(cfg.socket, name.sun_path);
	for (uint32_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		const int fd = socket(AF_UNIX, types[i] | SOCK_NONBLOCK, 0);

		host_probe(&host, &cfg);
		check_eq(host.socket, PRESENCE_MISSING);
		check_eq(bind(fd, (const struct sockaddr *)&name, sizeof name), 0);
		check_eq(listen(fd, 1), 0);
		host_probe(&host, &cfg);
		check_eq(host.socket, PRESENCE_READY);
		check_eq(accept(fd, NULL, NULL), -1);
		check_eq(errno, EAGAIN);
		close(fd);
		host_probe(&host, &cfg);
		check_eq(host.socket, PRESENCE_DOWN);
		check_eq(unlink(cfg.socket), 0);
	}
}

TEST(only_what_a_crash_left_is_removed)
{
	struct config cfg = config_for("vhost");
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	const struct profile server = {.needs = NEED_SOCKET_FREE};
	const struct profile client = {.needs = NEED_SOCKET_THERE};
	struct host host = {.socket = PRESENCE_READY};
	struct error err;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(name.sun_path, sizeof name.sun_path, "test-way-%d.sock", getpid());
	strcpy(cfg.socket, name.sun_path);
	check(!host_has_stale_socket(&host, &server));
	check_eq(bind(fd, (const struct sockaddr *)&name, sizeof name), 0);
	close(fd);
	host_probe(&host, &cfg);
	check(host_has_stale_socket(&host, &server));
	check(!host_has_stale_socket(&host, &client));
	check(host_remove_stale_socket(&cfg, &err));
	host_probe(&host, &cfg);
	check_eq(host.socket, PRESENCE_MISSING);
	check(!host_has_stale_socket(&host, &server));
	/* A file that is no socket stays. */
	fd = open(cfg.socket, O_CREAT | O_WRONLY, 0600);
	close(fd);
	host_probe(&host, &cfg);
	check_eq(host.socket, PRESENCE_OTHER);
	check(!host_has_stale_socket(&host, &server));
	check(!host_remove_stale_socket(&cfg, &err));
	check_ptr(strstr(err.text, "remove it"));
	check_eq(unlink(cfg.socket), 0);
}

static bool
has_word(const struct eal_args *args, const char *word)
{
	for (int i = 0; i < args->count; i++)
		if (strcmp(args->words[i], word) == 0)
			return true;
	return false;
}

TEST(eal_never_looks_at_pci_unless_a_pci_address_is_given)
{
	struct config cfg = config_for("tap");
	struct eal_args args;
	struct profile p;
	struct error err;

	check(lcores_parse(&cfg.lcores, "3@0,1@1", &err));
	load(&p, "tap");
	eal_args_make(&args, &cfg, &p, "net_tap0", 100);
	check(has_word(&args, "--no-pci"));
	check(has_word(&args, "net_tap0"));
	check(has_word(&args, "3@0,1@1"));
	check(has_word(&args, "--in-memory"));
	check(!has_word(&args, "--no-huge"));
	check_null(args.words[args.count]);

	cfg = config_for("0000:03:00.0");
	check(lcores_parse(&cfg.lcores, "0", &err));
	cfg.no_huge = true;
	load(&p, "pci");
	eal_args_make(&args, &cfg, &p, "0000:03:00.0", 100);
	check(!has_word(&args, "--no-pci"));
	check(has_word(&args, "--allow"));
	check(has_word(&args, "--no-huge"));
	check(!has_word(&args, "--in-memory")); /* EAL refuses both */
}

TEST(captured_stderr_is_searched_for_the_cause)
{
	struct stderr_capture capture;
	char line[64];

	stderr_capture_begin(&capture, false);
	fputs("EAL: Detected CPU lcores: 2\nfoo: no such device\nlater\n", stderr);
	stderr_capture_end(&capture, line, sizeof line);
	check_str(line, "foo: no such device");
	stderr_capture_begin(&capture, false);
	stderr_capture_end(&capture, line, sizeof line);
	check_str(line, "");
}
