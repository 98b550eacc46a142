/*
 * address_check.h - probes whether another host uses our addresses before the start takes them
 * (network.probe).
 *
 * Thread: main, before any core turns: the ports are its own.
 * Errors: struct error: an address is taken, with the MAC of its owner.
 * Bounds: a port without a link, or that sends nothing, holds the start for PROBE_SEND_NS.
 */
#ifndef CLOCKOO_ADDRESS_CHECK_H
#define CLOCKOO_ADDRESS_CHECK_H

#include "net/net.h"
#include "nic.h"

/* True if a probe is wanted and another host could answer it. */
bool address_check_is_on(const struct config *cfg, const struct profile *profile);

/* Probes the addresses. False if one is taken. Other frames that the port receives meanwhile are
 * dropped. */
bool address_check(struct nic *nic, const struct config *cfg, const struct local_addrs *addrs,
		   struct error *err);

#endif
