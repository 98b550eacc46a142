/*
 * host.h - checks that the machine has what the program needs.
 *
 * EAL and its drivers react to a missing hugepage, interface or privilege with a page of log, an
 * abort or silence. So the machine is checked before they start: host_probe gathers facts, and
 * host_check judges them, which a test can do without the machine.
 *
 * Shape:  plain data.
 * Thread: one, at start.
 * Errors: struct error: what is missing and how to get it.
 */
#ifndef CLOCKOO_HOST_H
#define CLOCKOO_HOST_H

#include "config/config.h"
#include "profile/profile.h"

enum presence { PRESENCE_MISSING, PRESENCE_DOWN, PRESENCE_READY, PRESENCE_OTHER };

struct host {
	struct cpu_list cpus;
	uint64_t huge_free_bytes;
	uint64_t memory_free_bytes;
	enum presence iface;
	uint32_t iface_mtu; /* bytes; 0: unknown */
	bool root;
	bool net_raw;
	bool net_admin;
	bool tun;
	bool may_lock;        /* rings for every core can be locked in memory */
	enum presence socket; /* DOWN: a socket file without a listener; OTHER: not a socket */
	bool pci_exists;
	bool pci_bound; /* bound to a driver that user space can use */
	/* On vfio-pci, and this process may open its group's file, as root or not. */
	bool pci_ours;
	/* Hints for the texts of errors. The caller sets them; host_probe leaves them empty. */
	const char *nic_tool;       /* clockoo-nic, in the form in which the operator calls it */
	uint32_t reserve_node;      /* node on which to reserve hugepages */
	const char *reserve_size;   /* size of these hugepages */
	uint64_t reserve_pages_all; /* how many hugepages must then be reserved in all */
};

/* Returns how much memory the kernel counts for this process, hugepages included; 0: it does not
 * say. */
uint64_t host_resident_bytes(void);

void host_probe(struct host *host, const struct config *cfg);

/* True if the machine has what profile and configuration need, and memory_bytes of memory. */
bool host_check(const struct host *host, const struct config *cfg, const struct profile *profile,
		uint64_t memory_bytes, struct error *err);

/* True if a crashed program left a socket at the path of the port's own. host_remove_stale_socket
 * removes it just before the port is opened, so that a service restarts by itself. */
bool host_has_stale_socket(const struct host *host, const struct profile *profile);
bool host_remove_stale_socket(const struct config *cfg, struct error *err);

#endif
