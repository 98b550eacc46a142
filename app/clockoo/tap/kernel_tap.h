/*
 * kernel_tap.h - the tap interface of network.kernel. Through it the kernel sends and receives on
 * the cache's NIC.
 *
 * The interface outlives the process: `clockoo-nic kernel` makes it for the service's user. While
 * no process is attached it has no carrier, but keeps its addresses and routes.
 *
 * Owner:  the caller has the descriptor.
 * Thread: main.
 * Errors: struct error.
 */
#ifndef CLOCKOO_KERNEL_TAP_H
#define CLOCKOO_KERNEL_TAP_H

#include "config/config.h"

/* True if a process may attach to the interface of network.kernel, or if none is configured. */
bool kernel_tap_check(const struct config *cfg, struct error *err);

/* Attaches to the interface and gives it the port's MAC. *fd is non-blocking. */
bool kernel_tap_attach(int *fd, const struct config *cfg, const uint8_t mac[6], struct error *err);

/* The interface's owner: the user of process.user (or this process's), another one, or none. */
enum kernel_tap_owner { TAP_OWNER_UNKNOWN, TAP_OWNER_SERVICE, TAP_OWNER_OTHER, TAP_OWNER_NOBODY };

struct kernel_tap_facts {
	enum kernel_tap_owner owner;
	bool is_up;
	bool has_mac;       /* mac was read */
	uint8_t mac[6];     /* of the interface */
	bool ports_overlap; /* the kernel may choose local ports that the cache uses */
};

void kernel_tap_facts(struct kernel_tap_facts *facts, const struct config *cfg);

#endif
