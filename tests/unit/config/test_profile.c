/*
 * NIC profiles. Goal: every profile of drivers-config loads; a mistake in one is refused with a
 * line that names file and key; a device is the template with its blanks filled. Method: load all
 * eight; then damage a good one, one replacement at a time, and look for the key in the error.
 */
#include "support/test.h"
#include "config/profile.h"

#include <stdlib.h>
#include <unistd.h>

static const char *const names[] = {
	"af_packet", "af_xdp", "ena", "i40e", "ice", "ixgbe", "memif", "mlx5", "null",
	"pci", "ring", "tap", "vhost", "virtio", "virtio_user", "vmxnet3",
};

static void
every_profile_of_ours_loads(void **state)
{
	for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char path[512];
		struct profile p;
		struct fault f;

		snprintf(path, sizeof path, PROFILE_DIR "/%s.yaml", names[i]);
		if (!profile_load(&p, path, names[i], &f))
			fail_msg("%s", f.text);
		check_str(p.name, names[i]);
	}
}

static const char good[] = "name: x\n"
			   "summary: s\n"
			   "device: net_x0,iface={iface},q={queues}\n"
			   "spread: peer\n"
			   "needs: [iface]\n"
			   "queues_max: 4\n"
			   "rx_ring: 512\n"
			   "tx_ring: 512\n"
			   "burst: 64\n"
			   "mbuf_bytes: 2048\n"
			   "mtu_max: 1500\n"
			   "offloads: [rx_cksum]\n"
			   "promiscuous: no\n"
			   "another_mac: no\n"
			   "wait_link: yes\n"
			   "quirks: []\n";

/* The good text with one piece replaced, in a file of its own. */
static bool
load_with(const char *piece, const char *instead, struct profile *p, struct fault *f)
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
	ok = profile_load(p, path, "x", f);
	if (!ok && strstr(f->text, path) == NULL)
		fail_msg("the file is not named: %s", f->text);
	unlink(path);
	return ok;
}

static const struct {
	const char *piece, *instead;
	const char *key; /* must be in the error */
} damage[] = {
	{"name: x", "name: y", "name"},
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
	{"quirks: []", "quirks: [{what: odd}]", "source"},
};

static void
a_damaged_profile_is_refused_by_file_and_key(void **state)
{
	struct profile p;
	struct fault f;

	if (!load_with("summary", "summary", &p, &f))
		fail_msg("%s", f.text);
	check(load_with("mtu_max: 1500", "mtu_max: 2030", &p, &f));
	for (uint32_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
		if (load_with(damage[i].piece, damage[i].instead, &p, &f))
			fail_msg("accepted: %s", damage[i].instead);
		if (strstr(f.text, damage[i].key) == NULL)
			fail_msg("\"%s\" is not in: %s", damage[i].key, f.text);
	}
}

static void
a_missing_profile_is_refused_by_name(void **state)
{
	struct profile p;
	struct fault f;

	check(!profile_load(&p, "no/such.yaml", "such", &f));
	check_ptr(strstr(f.text, "no profile \"such\""));
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

static void
a_device_is_the_template_with_its_blanks_filled(void **state)
{
	for (uint32_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
		struct profile p = {.name = "x"};
		struct config cfg;
		char device[DEVICE_BYTES];
		struct fault f;
		bool ok;

		config_defaults(&cfg);
		strcpy(p.device, devices[i].template);
		strcpy(cfg.iface, devices[i].iface);
		strcpy(cfg.vdev_args, devices[i].more);
		ok = profile_device(&p, &cfg, 3, device, &f);
		check_eq(ok, strstr(devices[i].device, ": ") == NULL);
		if (strcmp(ok ? device : f.text, devices[i].device) != 0)
			fail_msg("%s: %s", devices[i].template, ok ? device : f.text);
	}
}

static void
a_device_too_long_for_eal_is_refused(void **state)
{
	struct profile p = {.name = "x"};
	struct config cfg;
	char device[DEVICE_BYTES];
	struct fault f;

	config_defaults(&cfg);
	memset(p.device, 'a', sizeof p.device - 1);
	check(profile_device(&p, &cfg, 1, device, &f));
	strcpy(cfg.vdev_args, "b");
	check(!profile_device(&p, &cfg, 1, device, &f));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_profile_of_ours_loads),
		cmocka_unit_test(a_damaged_profile_is_refused_by_file_and_key),
		cmocka_unit_test(a_missing_profile_is_refused_by_name),
		cmocka_unit_test(a_device_is_the_template_with_its_blanks_filled),
		cmocka_unit_test(a_device_too_long_for_eal_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
