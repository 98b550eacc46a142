/*
 * address_check.h - our addresses are asked for before they are used (network.probe).
 *
 * Thread: main, before any core turns: the ports are its own.
 * Errors: struct error: an address is taken, and whose it is.
 * Bounds: a port without a link, or that sends nothing, holds the start for PROBE_SEND_NS.
 */
#ifndef CLOCKOO_ADDRESS_CHECK_H
#define CLOCKOO_ADDRESS_CHECK_H

#include "net/net.h"
#include "nic.h"

/* True if a probe is wanted and another host could answer it. */
bool address_check_is_on(const struct config *cfg, const struct profile *profile);

/* False: an address is taken. What the port receives meanwhile is dropped. */
bool address_check(struct nic *nic, const struct config *cfg, const struct net_config *net,
		   struct error *err);

#endif
