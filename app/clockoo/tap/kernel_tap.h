/*
 * kernel_tap.h - the tap interface of network.kernel, through which the kernel sends and receives
 * on the NIC of the cache.
 *
 * The interface outlives the process: `clockoo-nic kernel` makes it, and gives it to the user of
 * the service. While no process is attached it has no carrier, and keeps its addresses and routes.
 *
 * Owner:  the descriptor belongs to the caller.
 * Thread: main.
 * Errors: struct error.
 */
#ifndef CLOCKOO_KERNEL_TAP_H
#define CLOCKOO_KERNEL_TAP_H

#include "config/config.h"

/* True if the interface of network.kernel is a tap that a process may attach to; true if no
 * interface is configured. */
bool kernel_tap_check(const struct config *cfg, struct error *err);

/* Attaches to the interface and gives it the MAC of the port. *fd does not block. */
bool kernel_tap_attach(int *fd, const struct config *cfg, const uint8_t mac[6], struct error *err);

/* The owner of the interface, compared with process.user or the caller. */
enum kernel_tap_owner { TAP_OWNER_UNKNOWN, TAP_OWNER_SERVICE, TAP_OWNER_OTHER, TAP_OWNER_NOBODY };

struct kernel_tap_facts {
	enum kernel_tap_owner owner;
	bool is_up;
	bool has_mac;       /* the MAC is known */
	uint8_t mac[6];     /* of the interface */
	bool ports_overlap; /* the kernel may take local ports of the cache */
};

void kernel_tap_facts(struct kernel_tap_facts *facts, const struct config *cfg);

#endif
