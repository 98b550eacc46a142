/*
 * NIC profiles. Goal: every profile of drivers-config loads; a mistake in one is refused with a
 * line that names file and key; a device string is the template with its blanks filled. Method:
 * load them all; then damage a good one, one replacement at a time, and search the error for the
 * key.
 */
#include "support/test.h"
#include "profile/profile.h"
#include "profile/profile_find.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const names[] = {
	"af_packet",    "af_packet_jumbo",
	"af_xdp",       "bnxt",
	"ena",          "gve",
	"i40e",         "iavf",
	"ice",          "igb",
	"igbvf",        "ixgbe",
	"mana",         "memif",
	"memif_client", "mlx5",
	"netvsc",       "null",
	"pcap",         "pci",
	"ring",         "tap",
	"user",         "vhost",
	"virtio",       "virtio_user",
	"vmxnet3",
};

TEST(every_profile_of_ours_loads)
{
	for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char path[512];
		struct profile p;
		struct error err;

		snprintf(path, sizeof path, PROFILE_DIR "/%s.yaml", names[i]);
		if (!profile_load(&p, path, names[i], &err))
			fail_msg("%s", err.text);
		check_str(p.name, names[i]);
	}
}

static const char good[] = "name: x\n"
			   "summary: s\n"
			   "device: net_x0,iface={iface},q={queues}\n"
			   "drivers: [net_x]\n"
			   "pci_ids: [\"8086:10fb\", \"15b3:a2dc\"]\n"
			   "spread: peer\n"
			   "needs: [iface]\n"
			   "queues_max: 4\n"
			   "rx_ring: 512\n"
			   "tx_ring: 512\n"
			   "ring_max: 4096\n"
			   "burst: 64\n"
			   "mbuf_bytes: 2048\n"
			   "mtu_max: 1500\n"
			   "offloads: [rx_cksum]\n"
			   "udp_cksum_unknown: yes\n"
			   "rss_fields: [tcp4, udp6]\n"
			   "rss_queues_max: 16\n"
			   "rss_key_bytes: 40\n"
			   "reta_size: 128\n"
			   "rss_since: 2403\n"
			   "rss_key_by: update\n"
			   "reta_fixed: no\n"
			   "queues_power_of_two: yes\n"
			   "flow:\n"
			   "  ethertype_max: 8\n"
			   "  five_tuple_max: 128\n"
			   "  director_max: 2046\n"
			   "  one_mask: yes\n"
			   "  needs_proto: yes\n"
			   "  needs_mark: no\n"
			   "  masked_ports: yes\n"
			   "  ipv6: no\n"
			   "  isolate: no\n"
			   "promiscuous: no\n"
			   "another_mac: no\n"
			   "wait_link: yes\n"
			   "vector: []\n"
			   "xstats: []\n"
			   "quirks: []\n"
			   "sources:\n"
			   "  rings: a\n"
			   "  offloads: b\n"
			   "  rss: c\n"
			   "  flow: d\n";

/* Loads the good text with one piece replaced, from a file of its own. */
static bool
load_with(const char *piece, const char *instead, struct profile *p, struct error *err)
{
	char path[] = "profileXXXXXX";
	const char *at = strstr(good, piece);
	const int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");
	bool ok;

	check_ptr(at);
	check_ptr(file);
	fprintf(file, "%.*s%s%s", (int)(at - good), good, instead, at + strlen(piece));
	fclose(file);
	ok = profile_load(p, path, "x", err);
	if (!ok && strstr(err->text, path) == NULL)
		fail_msg("the file is not named: %s", err->text);
	unlink(path);
	return ok;
}

static const struct {
	const char *piece, *instead;
	const char *key; /* must be in the error */
} damage[] = {
	{"name: x", "name: y", ":1: name: \"y\": expected \"x\", as the file is called"},
	{"burst: 64\n", "", "burst"},
	{"burst: 64\n", "burts: 64\n", "burts"},
	{"burst: 64\n", "burst: 64\nspeed: 10\n", "speed"},
	{"burst: 64", "burst: 65", "burst: 65: expected a number from 1 to 64"},
	{"burst: 64", "burst: many", "burst"},
	{"burst: 64", "burst: -1", "burst"},
	{"queues_max: 4", "queues_max: 0", "queues_max"},
	{"rx_ring: 512", "rx_ring: 63", "rx_ring"},
	{"rx_ring: 512", "rx_ring: 4294967808", "rx_ring"},
	{"tx_ring: 512", "tx_ring: 32769", "tx_ring"},
	{"mbuf_bytes: 2048", "mbuf_bytes: 1500", "mbuf_bytes"},
	{"mtu_max: 1500", "mtu_max: 9000", "too small for mtu_max 9000"},
	{"mtu_max: 1500", "mtu_max: 2031", "too small for mtu_max 2031"},
	{"spread: peer", "spread: magic", "spread"},
	{"needs: [iface]", "needs: [iface, luck]", "needs"},
	{"offloads: [rx_cksum]", "offloads: [rx_chksum]", "offloads"},
	{"promiscuous: no", "promiscuous: sometimes", "promiscuous"},
	{"quirks: []", "quirks: [{what: odd}]", ":40: quirks[0]: source is missing"},
	{"quirks: []", "quirks: [{what: a, source: b}, {source: c}]", "quirks[1]: what is missing"},
	{"quirks: []", "quirks: [{what: a, source: b, where: c}]", ":40: quirks[0].where"},
	{"quirks: []", "quirks: odd", "quirks: expected a list of entries"},
	{"vector: []\n", "", "vector: missing"},
	{"xstats: []\n", "", "xstats: missing"},
	{"rss_since: 2403", "rss_since: 24.03", "rss_since: 24.03: expected a number"},
	{"rss_key_by: update", "rss_key_by: luck", "expected one of configure, update, none"},
	{"rx_ring: 512", "rx_ring: 4097", ":9: rx_ring: 4097: expected at most ring_max, 4096"},
	{"burst: 64", "burst: [64]", ":12: burst: a list; expected one value"},
	{"burst: 64", "burst: {a: 1}", ":12: burst: a mapping; expected one value"},
	{"burst: 64", "bursst: 64", "bursst: unknown key; did you mean burst?"},
	{"needs: [iface]", "needs: iface", "needs: expected a list"},
	{"\"15b3:a2dc\"", "\"15b3:a2d\"", ":5: pci_ids: \"15b3:a2d\": expected vendor:device"},
	{"\"15b3:a2dc\"", "\"15b3:xyzw\"", "pci_ids"},
	{"drivers: [net_x]", "drivers: [a, b, c, d, e]", "drivers: more than 4 items"},
	{"  one_mask: yes", "  one_mask: true",
	 ":29: flow.one_mask: \"true\": expected one of no, yes"},
	{"  ipv6: no\n", "", "flow.ipv6: missing"},
	{"rss_fields: [tcp4, udp6]", "rss_fields: [tcp5]",
	 ":17: rss_fields: \"tcp5\": expected one of ip4"},
	{"rss_queues_max: 16", "rss_queues_max: 0", "rss_queues_max: 0"},
	{"  rss: c\n", "", "sources.rss: missing"},
	{"  flow: d\n", "", "sources.flow: missing"},
	{"  rings: a", "  rings: \"\"", "sources.rings: empty"},
	{"summary: s", "summary: s\nsummary: t", ":3: summary: duplicate key, also on line 2"},
};

/* A port is shared if other hosts may be on its network: then addresses are probed before use.
 * For the other ports a probe would only delay every start. */
TEST(others_can_be_there_but_for_ports_of_tests_and_sockets)
{
	static const char *const alone[] = {"memif", "memif_client", "null",       "ring",
					    "user",  "vhost",        "virtio_user"};
	uint32_t found = 0;

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct profile p;
		struct error err;
		char path[512];
		bool is_alone = false;

		snprintf(path, sizeof path, PROFILE_DIR "/%s.yaml", names[i]);
		check(profile_load(&p, path, names[i], &err));
		for (size_t n = 0; n < sizeof alone / sizeof alone[0]; n++)
			is_alone |= strcmp(alone[n], names[i]) == 0;
		found += is_alone;
		check_eq(profile_has_neighbours(&p), !is_alone);
	}
	check_eq(found, sizeof alone / sizeof alone[0]);
}

TEST(a_damaged_profile_is_refused_by_file_and_key)
{
	struct profile p;
	struct error err;

	if (!load_with("summary", "summary", &p, &err))
		fail_msg("%s", err.text);
	check(load_with("mtu_max: 1500", "mtu_max: 2030", &p, &err));
	for (uint32_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
		if (load_with(damage[i].piece, damage[i].instead, &p, &err))
			fail_msg("accepted: %s", damage[i].instead);
		if (strstr(err.text, damage[i].key) == NULL)
			fail_msg("\"%s\" is not in: %s", damage[i].key, err.text);
	}
}

TEST(a_profile_says_what_its_file_says)
{
	struct profile p;
	struct error err;

	if (!load_with("summary", "summary", &p, &err))
		fail_msg("%s", err.text);
	check_str(p.drivers[0], "net_x");
	check_eq(p.pci_id_count, 2);
	check_eq(p.pci_ids[0].vendor, 0x8086);
	check_eq(p.pci_ids[1].device, 0xa2dc);
	check_eq(p.rss_fields, RSS_KIND_TCP4 | RSS_KIND_UDP6);
	check_eq(p.rss_queues_max, 16);
	check_eq(p.reta_size, 128);
	check_eq(p.rss_since, 2403);
	check_eq(p.rss_key_by, RSS_KEY_BY_UPDATE);
	check(!p.reta_fixed && p.queues_power_of_two);
	check_eq(p.flow.five_tuple_max, 128);
	check_eq(p.flow.director_max, 2046);
	check(p.udp_cksum_unknown && p.flow.one_mask && p.flow.needs_proto && p.flow.masked_ports);
	check(!p.flow.needs_mark && !p.flow.ipv6 && !p.promiscuous && p.wait_link);
	check_eq(p.spread, SPREAD_PEER);
	check_eq(p.needs, NEED_IFACE);
}

TEST(a_release_before_the_drivers_rss_has_none)
{
	struct profile p;
	struct error err;

	check(load_with("spread: peer", "spread: rss", &p, &err));
	profile_apply_release(&p, 2403);
	check_eq(p.spread, SPREAD_RSS);
	check_eq(p.reta_size, 128);
	profile_apply_release(&p, 2311);
	check_eq(p.spread, SPREAD_NONE);
	check_eq(p.rss_fields | p.rss_queues_max | p.rss_key_bytes | p.reta_size, 0);
}

/* Settings that the operator may state of the port without --port. */
static const struct {
	const char *option, *value;
	const char *line; /* NULL: the value is accepted */
} overrides[] = {
	{"rx-ring", "96", NULL},
	{"tx-ring", "4096", NULL},
	{"burst", "8", NULL},
	{"mtu", "1500", NULL},
	{"offloads", "none", NULL},
	{"offloads", "tx_udp_cksum", NULL},
	{"rx-ring", "4097", "--rx-ring: 4097: port x takes at most 4096"},
	{"tx-ring", "8192", "--tx-ring: 8192: port x takes at most 4096"},
	{"mtu", "1501", "--mtu: 1501: port x takes at most 1500"},
	{"offloads", "tx_loans", "--offloads: tx_loans: port x takes none"},
};

TEST(the_operators_word_goes_before_the_profiles_as_far_as_the_nic_can)
{
	for (uint32_t i = 0; i < sizeof overrides / sizeof overrides[0]; i++) {
		struct profile p;
		struct config cfg;
		struct error err = {0};

		check(load_with("summary", "summary", &p, &err));
		config_defaults(&cfg);
		check(config_set(&cfg, overrides[i].option, overrides[i].value, &err));
		check_eq(profile_apply(&p, &cfg, &err), overrides[i].line == NULL);
		check_str(err.text, overrides[i].line != NULL ? overrides[i].line : "");
		if (overrides[i].line != NULL)
			continue;
		check_eq(p.rx_ring, cfg.rx_ring != 0 ? cfg.rx_ring : 512);
		check_eq(p.tx_ring, cfg.tx_ring != 0 ? cfg.tx_ring : 512);
		check_eq(p.burst, cfg.burst != 0 ? cfg.burst : 64);
		check_eq(p.offloads,
			 cfg.offloads != CONFIG_PROFILE_OFFLOADS ? cfg.offloads : OFFLOAD_RX_CKSUM);
	}
}

TEST(the_profile_of_a_missing_nic_refuses_nothing)
{
	for (uint32_t i = 0; i < sizeof overrides / sizeof overrides[0]; i++) {
		struct profile p;
		struct config cfg;
		struct error err = {0};

		check(load_with("summary", "summary", &p, &err));
		config_defaults(&cfg);
		check(config_set(&cfg, overrides[i].option, overrides[i].value, &err));
		strcpy(cfg.kernel, CONFIG_KERNEL_NIC);
		check(!profile_apply(&p, &cfg, &err));
		if (strstr(overrides[i].value, "loans") != NULL)
			continue; /* a PCI NIC may take loans, independent of its profile */
		profile_suppose(&p, &cfg);
		check(profile_apply(&p, &cfg, &err));
	}
}

static const struct {
	uint16_t vendor, device;
	const char *name;
} known_ids[] = {
	{0x8086, 0x10fb, "ixgbe"},  {0x8086, 0x1528, "ixgbe"},   {0x8086, 0x1572, "i40e"},
	{0x8086, 0x1592, "ice"},    {0x15b3, 0x1017, "mlx5"},    {0x1af4, 0x1000, "virtio"},
	{0x1af4, 0x1041, "virtio"}, {0x15ad, 0x07b0, "vmxnet3"}, {0x1d0f, 0xec20, "ena"},
	{0x1ae0, 0x0042, "gve"},    {0x1414, 0x00ba, "mana"},    {0x8086, 0x1889, "iavf"},
	{0x14e4, 0x16dc, "bnxt"},   {0x8086, 0x10c9, "igb"},     {0x8086, 0x10ca, "igbvf"},
	{0x8086, 0x10d3, "pci"}, /* e1000e */
	{0x1234, 0x10fb, "pci"}, /* another vendor's device with the 82599's number */
};

static const struct {
	const char *driver, *name;
} known_drivers[] = {
	{"net_ixgbe", "ixgbe"}, {"net_i40e", "i40e"},     {"net_ice", "ice"},
	{"mlx5_pci", "mlx5"},   {"net_virtio", "virtio"}, {"net_vmxnet3", "vmxnet3"},
	{"net_ena", "ena"},     {"net_e1000_em", "pci"},
};

TEST(a_nic_is_known_by_its_pci_id_and_by_its_driver)
{
	char name[CONFIG_NAME_BYTES];
	struct error err;

	for (uint32_t i = 0; i < sizeof known_ids / sizeof known_ids[0]; i++) {
		check(profile_find_pci(name, PROFILE_DIR, known_ids[i].vendor, known_ids[i].device,
				       &err));
		check_str(name, known_ids[i].name);
	}
	for (uint32_t i = 0; i < sizeof known_drivers / sizeof known_drivers[0]; i++) {
		check(profile_find_driver(name, PROFILE_DIR, known_drivers[i].driver, &err));
		check_str(name, known_drivers[i].name);
	}
	check(!profile_find_pci(name, "no/such/folder", 0x8086, 0x10fb, &err));
	check_ptr(strstr(err.text, "--data-dir: cannot read no/such/folder"));
}

static bool
claims(const struct profile *p, struct pci_id id)
{
	for (uint32_t i = 0; i < p->pci_id_count; i++)
		if (p->pci_ids[i].vendor == id.vendor && p->pci_ids[i].device == id.device)
			return true;
	return false;
}

TEST(no_two_profiles_claim_one_nic)
{
	static struct profile all[sizeof names / sizeof names[0]];
	const uint32_t count = sizeof names / sizeof names[0];
	struct error err;

	for (uint32_t i = 0; i < count; i++) {
		char path[512];

		snprintf(path, sizeof path, PROFILE_DIR "/%s.yaml", names[i]);
		check(profile_load(&all[i], path, names[i], &err));
	}
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t j = 0; j < i; j++) {
			for (uint32_t k = 0; k < all[j].pci_id_count; k++)
				check(!claims(&all[i], all[j].pci_ids[k]));
			for (uint32_t k = 0; k < PROFILE_DRIVERS_MAX; k++)
				check(all[j].drivers[k][0] == '\0' ||
				      !profile_knows_driver(&all[i], all[j].drivers[k]));
		}
	}
}

/* The list of names above has every profile of the directory. */
TEST(the_list_of_profiles_is_whole)
{
	DIR *dir = opendir(PROFILE_DIR);
	uint32_t count = 0;

	check_ptr(dir);
	for (struct dirent *e; (e = readdir(dir)) != NULL;)
		count += strstr(e->d_name, ".yaml") != NULL;
	closedir(dir);
	check_eq(count, sizeof names / sizeof names[0]);
}

TEST(a_missing_profile_is_refused_by_name)
{
	struct profile p;
	struct error err;

	check(!profile_load(&p, "no/such.yaml", "such", &err));
	check_ptr(strstr(err.text, "no profile \"such\""));
}

static const struct {
	const char *template;
	const char *iface, *more;
	const char *device; /* or the error, if it has a colon and a space */
} devices[] = {
	{"net_x0", "", "", "net_x0"},
	{"a={iface},b={queues}", "v0", "", "a=v0,b=3"},
	{"{iface}{iface}", "v0", "", "v0v0"},
	{"a={iface}", "v0", "c=d", "a=v0,c=d"},
	{"a={iface}", "", "", "--port x: needs --iface NAME, the kernel interface to use"},
	{"a={face}", "v0", "", "profile x: device: {face} is no placeholder"},
	{"a={iface", "v0", "", "profile x: device: {iface is no placeholder"},
	{"{pci}", "", "", "--port x: needs the NIC's PCI address: --port 0000:03:00.0"},
};

TEST(a_device_is_the_template_with_its_placeholders_filled)
{
	for (uint32_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
		struct profile p = {.name = "x"};
		struct config cfg;
		char device[DEVICE_BYTES];
		struct error err;
		bool ok;

		config_defaults(&cfg);
		strcpy(p.device, devices[i].template);
		strcpy(cfg.iface, devices[i].iface);
		strcpy(cfg.vdev_args, devices[i].more);
		ok = profile_device(&p, &cfg, 3, device, &err);
		check_eq(ok, strstr(devices[i].device, ": ") == NULL);
		if (strcmp(ok ? device : err.text, devices[i].device) != 0)
			fail_msg("%s: %s", devices[i].template, ok ? device : err.text);
	}
}

TEST(the_kernels_rings_are_as_large_as_the_device_says)
{
	static const struct {
		const char *device;
		uint64_t bytes;
	} rows[] = {
		{"net_null0", 0},
		{"eth_x,framesz=2048,framecnt=8192,qpairs=1", 32u << 20},
		{"eth_x,framesz=2048,framecnt=8192,qpairs=3,framecnt=512", 6u << 20},
		{"eth_x,framesz=2048,framecnt=,qpairs=1", 0},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char device[DEVICE_BYTES];

		strcpy(device, rows[i].device);
		check_eq(profile_kernel_ring_bytes(device), rows[i].bytes);
	}
}

TEST(a_device_too_long_for_eal_is_refused)
{
	struct profile p = {.name = "x"};
	struct config cfg;
	char device[DEVICE_BYTES];
	struct error err;

	config_defaults(&cfg);
	memset(p.device, 'a', sizeof p.device - 1);
	check(profile_device(&p, &cfg, 1, device, &err));
	strcpy(cfg.vdev_args, "b");
	check(!profile_device(&p, &cfg, 1, device, &err));
}
