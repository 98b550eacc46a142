/*
 * host.h - what the machine has, and whether it is enough.
 *
 * EAL and its drivers answer a missing hugepage, interface or right with a page of log, an abort or
 * nothing. So the machine is checked first: host_probe gathers facts, and host_check judges them,
 * which a test can do without the machine.
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
	bool root;
	bool net_raw;
	bool net_admin;
	bool tun;
	bool may_lock;        /* rings for every core, locked in memory */
	enum presence socket; /* down: a socket file without a listener; other: no socket */
	bool pci_exists;
	bool pci_bound; /* to a driver that user space can use */
	bool pci_ours;  /* on vfio-pci, and its group's file may be opened by us, root or not */
	/* For the hints in errors; filled by the caller, host_probe leaves them empty. */
	const char *nic_tool;       /* clockoo-nic, as the operator calls it */
	uint32_t reserve_node;      /* where to reserve hugepages, */
	const char *reserve_size;   /* of which size, */
	uint64_t reserve_pages_all; /* and how many there are to be then */
};

/* Memory that the kernel counts for this process, hugepages too; 0: it does not say. */
uint64_t host_resident_bytes(void);

void host_probe(struct host *host, const struct config *cfg);

/* Does the machine have what profile and configuration need, and memory_bytes of memory? */
bool host_check(const struct host *host, const struct config *cfg, const struct profile *profile,
		uint64_t memory_bytes, struct error *err);

/* Is there a socket of a crashed program where the port will make its own? It is removed right
 * before the port is opened, so that a service starts again by itself. */
bool host_has_stale_socket(const struct host *host, const struct profile *profile);
bool host_remove_stale_socket(const struct config *cfg, struct error *err);

#endif
