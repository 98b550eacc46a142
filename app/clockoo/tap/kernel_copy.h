/*
 * kernel_copy.h - network.kernel: nic. The NIC separates the cache's frames from the kernel's. This
 * finds the kernel's interface, and copies those of its frames that the cache needs too.
 *
 * The kernel answers for all addresses. The cache gets copies of ARP replies, advertisements of
 * neighbours and routers, redirects, and ICMP errors.
 *
 * Owner:  the caller has the descriptor.
 * Thread: main.
 * Errors: struct error.
 */
#ifndef CLOCKOO_KERNEL_COPY_H
#define CLOCKOO_KERNEL_COPY_H

#include "config/config.h"
#include "topology/pci_nic.h"

/* True if the machine has the NIC. Another check reports a NIC that is missing. */
bool kernel_copy_has_nic(const struct config *cfg);

/* Finds the kernel's interface of the NIC. Fails if it is down. */
bool kernel_copy_find(char iface[TOPOLOGY_NAME_BYTES], const struct config *cfg, struct error *err);

/* Opens a socket that receives the copies. *fd is non-blocking. */
bool kernel_copy_attach(int *fd, const struct config *cfg, struct error *err);

/* Sets the socket's filter, which passes only frames that the cache needs. */
bool kernel_copy_filter(int fd);

/* True if the kernel has the address, and so answers for it. */
bool kernel_copy_answers(const struct ip_addr *ip);

#endif
