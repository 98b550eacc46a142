/*
 * address_check.h - finds out whether another host uses one of our addresses, before the start
 * takes them (network.probe).
 *
 * Thread: main, before any core turns: no other thread uses the ports.
 * Errors: struct error: an address is in use; it names the MAC of the other host.
 * Bounds: PROBE_SEND_NS for a port without a link, or one that sends nothing.
 */
#ifndef CLOCKOO_ADDRESS_CHECK_H
#define CLOCKOO_ADDRESS_CHECK_H

#include "net/net.h"
#include "nic.h"

/* True if the configuration asks for probes, and the port leads to other hosts. */
bool address_check_is_on(const struct config *cfg, const struct profile *profile);

/* Probes the addresses. False if another host uses one. Drops all other frames that the port
 * receives in this time. */
bool address_check(struct nic *nic, const struct config *cfg, const struct local_addrs *addrs,
		   struct error *err);

#endif
