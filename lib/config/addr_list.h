/*
 * addr_list.h - the appliance's addresses and routes as one checked list: --address, --address6,
 * --gateway and --gateway6 first, then --addresses and --routes, or the files that they name.
 *
 * An item of --addresses is "IP/LEN", which "vlan ID" may follow; an IP alone is one address. An
 * item of --routes is "NETWORK via GATEWAY", which "mtu N" and "vlan ID" may follow; "default" is
 * the network of all addresses. Commas or line ends separate items; # begins a comment that ends
 * with the line.
 *
 * Units:  prefix lengths: of the 128 bits of an ip_addr.h address.
 * Owner:  the caller frees the lists.
 * Thread: any; files are read, and the heap is used.
 * Errors: struct error names the option and for a file the line, and says what is wrong and what to
 *         write.
 * Bounds: CONFIG_ADDRS_MAX addresses, CONFIG_ROUTES_MAX routes, CONFIG_VLANS_MAX VLANs; files of
 *         NET_LIST_FILE_BYTES.
 */
#ifndef CLOCKOO_ADDR_LIST_H
#define CLOCKOO_ADDR_LIST_H

#include "config.h"

#define CONFIG_ADDRS_MAX  2048u
#define CONFIG_ROUTES_MAX 1024u
#define CONFIG_VLANS_MAX  64u

struct config_addr {
	struct ip_addr ip;
	uint32_t prefix_len;
	uint32_t vlan; /* 0: the VLAN of --vlan, if that is given */
};

struct config_route {
	struct config_net net;
	struct ip_addr gateway;
	uint32_t mtu;  /* 0: the MTU of the port */
	uint32_t vlan; /* VLAN of a link-local gateway; 0: as for addresses */
};

struct addr_list {
	struct config_addr *addr;
	struct config_route *route;
	uint32_t addr_count, route_count;
	uint32_t given; /* how many of the addresses come from --addresses */
};

/* Reads and checks all. False: the list is empty. */
bool addr_list_read(struct addr_list *list, const struct config *cfg, struct error *err);
void addr_list_free(struct addr_list *list);

/* Checks each item of a value that names no file, apart from the others. */
bool addr_list_check_addresses(const char *value, struct error *err);
bool addr_list_check_routes(const char *value, struct error *err);

#endif
