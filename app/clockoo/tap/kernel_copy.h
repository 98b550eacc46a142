/*
 * kernel_copy.h - the kernel's interface of a NIC that keeps the cache's frames apart by itself
 * (network.kernel: nic), and copies of those of its frames that the cache needs too.
 *
 * The kernel answers for all addresses. The cache gets what it must learn from: ARP replies,
 * advertisements of neighbours and routers, redirects, and ICMP errors.
 *
 * Owner:  the descriptor belongs to the caller.
 * Thread: main.
 * Errors: struct error.
 */
#ifndef CLOCKOO_KERNEL_COPY_H
#define CLOCKOO_KERNEL_COPY_H

#include "config/config.h"
#include "topology/pci_nic.h"

/* True if the machine has the NIC. Other checks report one that is missing. */
bool kernel_copy_has_nic(const struct config *cfg);

/* Finds the kernel's interface of the NIC, which must be up. */
bool kernel_copy_find(char iface[TOPOLOGY_NAME_BYTES], const struct config *cfg, struct error *err);

/* Opens a socket that receives the copies. *fd does not block. */
bool kernel_copy_attach(int *fd, const struct config *cfg, struct error *err);

/* Has a socket pass only frames that the cache needs. */
bool kernel_copy_filter(int fd);

/* True if the kernel has the address, so that it answers for it. */
bool kernel_copy_answers(const struct ip_addr *ip);

#endif
