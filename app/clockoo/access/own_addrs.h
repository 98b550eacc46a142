/*
 * own_addrs.h - the appliance's addresses, VLANs and routes, read at start and at each reload. The
 * cores get them as one table (net/ADDRESSES.md).
 *
 * Owner:  the caller has a list until it calls own_addrs_change. Tables are on the heap. A replaced
 *         table is freed once every core uses the next one.
 * Thread: main calls own_addrs_begin before any core turns; the control thread calls the others.
 * Errors: struct error; the cores then keep the table that they have.
 */
#ifndef CLOCKOO_OWN_ADDRS_H
#define CLOCKOO_OWN_ADDRS_H

#include "config/addr_list.h"
#include "dpdk/device.h"
#include "net/local_addrs.h"
#include "serve/serve_policy.h"

struct neigh_table;
struct net_config;

#define OWN_ADDRS_WORDS_BYTES 128u

struct own_table {
	const struct local_addrs *table;
	void *memory;
};

struct own_addrs {
	/* The settings that no reload changes; without addresses and routes. */
	struct local_addrs_spec spec;
	struct own_table now;      /* the table that cores use */
	struct own_table last;     /* replaced by now; freed once no core uses it */
	struct addr_list next;     /* the list of which the next table is made */
	struct device_joins joins; /* multicast groups and VLANs of now */
	uint16_t vlans[2 * LINKS_MAX];
	bool pending;    /* next holds a list */
	bool going_over; /* some core may still use last */
};

/* Makes the first table, for a port with this MAC. net has the settings that no reload changes. */
bool own_addrs_begin(struct own_addrs *a, const struct addr_list *list, const uint8_t mac[6],
		     const struct net_config *net, struct error *err);
/* Makes the list the next one and takes ownership. False if the newest table has the same contents:
 * the list is then freed. */
bool own_addrs_change(struct own_addrs *a, struct addr_list *list);
/* Gives the next table to the cores once all of them use the present one. Called at each tick. True
 * once after each change, when all cores use the new table: then the former table was freed, and
 * the cores announce the addresses. */
bool own_addrs_apply(struct own_addrs *a, struct serve_shared *shared, struct neigh_table *neigh);
bool own_addrs_is_applied(const struct own_addrs *a);
/* Writes the summary, as "12 IPv4 and 3 IPv6 addresses, 1 route". */
void own_addrs_words(const struct addr_list *list, char words[OWN_ADDRS_WORDS_BYTES]);
/* Has the port, and the bond's other one, receive the groups and VLANs of the table in use. */
void own_addrs_join(struct own_addrs *a, struct device *device, struct device *other);
void own_addrs_end(struct own_addrs *a);

#endif
