/*
 * --addresses and --routes. Goal: a list or a file becomes addresses and routes in order, and each
 * mistake is one line that names the option, the place and what to write. Method: configurations by
 * hand, and the errors of a table of wrong ones.
 */
#include "support/test.h"
#include "config/addr_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct config
config_with(const char *addresses, const char *routes)
{
	struct config cfg;

	config_defaults(&cfg);
	snprintf(cfg.addresses, sizeof cfg.addresses, "%s", addresses);
	snprintf(cfg.routes, sizeof cfg.routes, "%s", routes);
	return cfg;
}

TEST(a_list_is_read_in_order_after_the_first_addresses)
{
	struct config cfg = config_with("192.0.2.5, 10.1.0.2/24 vlan 7,2001:db8::5/64",
					"default via 10.99.0.254,10.2.0.0/16 via 10.1.0.9 mtu 1400,"
					"default via fe80::9 vlan 7");
	struct addr_list list;
	struct error err;

	check(addr_list_read(&list, &cfg, &err));
	check_eq(list.addr_count, 4);
	check_eq(list.given, 3);
	check_eq(ip_addr_v4_get(&list.addr[0].ip), 0x0a630001);
	check_eq(list.addr[1].prefix_len, 128);
	check_eq(list.addr[2].prefix_len, 96 + 24);
	check_eq(list.addr[2].vlan, 7);
	check_eq(list.addr[3].prefix_len, 64);
	check_eq(list.route_count, 3);
	check_eq(list.route[0].net.prefix_len, 96);
	check_eq(list.route[1].mtu, 1400);
	check_eq(list.route[2].net.prefix_len, 0);
	check_eq(list.route[2].vlan, 7);
	addr_list_free(&list);
}

TEST(without_an_ipv4_address_ipv6_is_all)
{
	struct config cfg = config_with("2001:db8::5/64", "default via 2001:db8::1");
	struct addr_list list;
	struct error err;

	check(config_set(&cfg, "address", "none", &err));
	check(config_finish(&cfg, &err));
	check(config_has_ipv6(&cfg));
	check(addr_list_read(&list, &cfg, &err));
	check_eq(list.addr_count, 1);
	addr_list_free(&list);
}

static const struct {
	const char *addresses, *routes, *error;
} wrong[] = {
	{"192.0.2.5,192.0.2.5", "", "--addresses: \"192.0.2.5\": is given twice: 192.0.2.5"},
	{"10.99.0.1/24", "", "--addresses: \"10.99.0.1/24\": is given twice: 10.99.0.1"},
	{"10.99.0.9/24 vlan 7", "",
	 "--addresses: \"10.99.0.9/24 vlan 7\": has a network that overlaps one of another VLAN: "
	 "10.99.0.1"},
	{"10.99.0.9 vlan 7", "",
	 "--addresses: \"10.99.0.9 vlan 7\": has a network that overlaps one of another VLAN: "
	 "10.99.0.1"},
	{"127.0.0.1", "",
	 "--addresses: \"127.0.0.1\": expected a unicast address, not a multicast, loopback or "
	 "unspecified one"},
	{"fe80::1", "",
	 "--addresses: \"fe80::1\": the link-local address (fe80::) is derived from the MAC; give "
	 "one of another network"},
	{"10.1.0.0/24", "",
	 "--addresses: \"10.1.0.0/24\": that is the network or broadcast address; give the address "
	 "of one, or /32"},
	{"10.1.0.1/24 vlan", "",
	 "--addresses: \"10.1.0.1/24 vlan\": expected \"vlan ID\" at the end, or nothing"},
	{"10.1.0.1/24 vlan 0", "",
	 "--addresses: \"10.1.0.1/24 vlan 0\": expected a VLAN of 1 to 4094"},
	{"10.1.0.1/24 mtu 900", "",
	 "--addresses: \"10.1.0.1/24 mtu 900\": expected \"vlan ID\" at the end, or nothing"},
	{"", "default via 10.98.0.1",
	 "--routes: \"default via 10.98.0.1\": the gateway is on the network of none of our "
	 "addresses"},
	{"", "default via 10.99.0.1",
	 "--routes: \"default via 10.99.0.1\": the gateway is our own address"},
	{"", "default via fe80::1",
	 "--routes: \"default via fe80::1\": an IPv6 route, and IPv6 is "
	 "off"},
	{"2001:db8::5", "default via fe80::1 vlan 9",
	 "--routes: \"default via fe80::1 vlan 9\": no address is in that VLAN"},
	{"", "default via 10.99.0.2 vlan 9",
	 "--routes: \"default via 10.99.0.2 vlan 9\": a VLAN is given for a link-local gateway "
	 "(fe80::) only: the network of another tells it"},
	{"", "10.0.0.0/8 via 10.99.0.2 mtu 9000",
	 "--routes: \"10.0.0.0/8 via 10.99.0.2 mtu 9000\": an MTU above --mtu"},
	{"", "10.0.0.0/8 via 10.99.0.2 mtu 100",
	 "--routes: \"10.0.0.0/8 via 10.99.0.2 mtu 100\": expected an MTU of 576 at least, or 1280 "
	 "for IPv6"},
	{"", "10.0.0.0/8 via 2001:db8::1",
	 "--routes: \"10.0.0.0/8 via 2001:db8::1\": network and gateway are of two families"},
	{"", "10.0.0.0/8 10.99.0.2",
	 "--routes: \"10.0.0.0/8 10.99.0.2\": expected a route such as 198.51.100.0/24 via "
	 "192.0.2.1, or default via fe80::1"},
	{"", "10.0.0.0/8 via 10.99.0.2,10.0.0.0/8 via 10.99.0.3",
	 "--routes: \"10.0.0.0/8 via 10.99.0.3\": there is a route to that network already "
	 "(--gateway and --gateway6 are routes to all)"},
};

TEST(each_mistake_is_one_line)
{
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct config cfg = config_with(wrong[i].addresses, wrong[i].routes);
		struct addr_list list;
		struct error err = {.text = ""};

		check(!addr_list_read(&list, &cfg, &err));
		if (strcmp(err.text, wrong[i].error) != 0)
			fail_msg("%s", err.text);
	}
}

/* Writes a file of that many addresses, each on a line of its own. */
static void
write_file(char path[64], uint32_t count, bool vlans)
{
	FILE *f;
	int fd;

	snprintf(path, 64, "/tmp/addr_list.XXXXXX");
	fd = mkstemp(path);
	check(fd >= 0);
	f = fdopen(fd, "w");
	fprintf(f, "# service addresses\n");
	for (uint32_t i = 0; i < count; i++)
		if (vlans)
			fprintf(f, "10.%u.0.1/24 vlan %u # one a VLAN\n", 100 + i, 10 + i);
		else
			fprintf(f, "192.%u.%u.7\n", i / 200, i % 200);
	fclose(f);
}

TEST(a_file_has_as_many_as_are_allowed)
{
	static const struct {
		uint32_t count;
		bool vlans;
		const char *error;
	} files[] = {
		{2047, false, NULL},
		{2048, false, "line 2049: \"192.10.47.7\": more than 2048 addresses in all"},
		{63, true, NULL},
		{64, true, "line 65: \"10.163.0.1/24 vlan 73\": more than 64 VLANs in all"},
	};

	for (uint32_t i = 0; i < 4; i++) {
		struct config cfg = config_with("", "");
		struct addr_list list;
		struct error err = {.text = ""};
		bool ok;

		write_file(cfg.addresses, files[i].count, files[i].vlans);
		ok = addr_list_read(&list, &cfg, &err);
		unlink(cfg.addresses);
		if (ok != (files[i].error == NULL) ||
		    (!ok && strstr(err.text, files[i].error) == NULL))
			fail_msg("%s", err.text);
		if (ok)
			check_eq(list.given, files[i].count);
		addr_list_free(&list);
	}
}
