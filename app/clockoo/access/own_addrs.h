/*
 * own_addrs.h - the appliance's addresses, VLANs and routes: read at start and by a reload, and
 * given to the cores as one table (net/ADDRESSES.md).
 *
 * Owner:  lists are the caller's until own_addrs_change; tables lie on the heap, two of them while
 *         cores change from one to the next.
 * Thread: own_addrs_begin by main, before any core turns; the others by the control thread.
 * Errors: struct error; what the cores use is then unchanged.
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
	struct local_addrs_spec spec; /* what no reload changes; no list */
	struct own_table now, last;   /* in use; in use until all cores have changed */
	struct addr_list next;        /* to be made a table of */
	struct device_joins joins;    /* of the table in use */
	uint16_t vlans[2 * LINKS_MAX];
	bool pending;    /* next is waiting */
	bool going_over; /* some core may still use last */
};

/* Makes the first table, for a port with that MAC. net: the rest of its configuration. */
bool own_addrs_begin(struct own_addrs *a, const struct addr_list *list, const uint8_t mac[6],
		     const struct net_config *net, struct error *err);
/* Takes the list. False if it makes the table in use; it is then freed. */
bool own_addrs_change(struct own_addrs *a, struct addr_list *list);
/* Gives the pending table to the cores if they are ready for it. Once all have changed, frees the
 * one before and has the addresses announced. True: that is now the case. */
bool own_addrs_apply(struct own_addrs *a, struct serve_shared *shared, struct neigh_table *neigh);
bool own_addrs_is_applied(const struct own_addrs *a);
/* "12 IPv4 and 3 IPv6 addresses, 1 route" */
void own_addrs_words(const struct addr_list *list, char words[OWN_ADDRS_WORDS_BYTES]);
/* Has the port receive the groups and VLANs of the table in use. */
void own_addrs_join(struct own_addrs *a, struct device *device, struct device *other);
void own_addrs_end(struct own_addrs *a);

#endif
