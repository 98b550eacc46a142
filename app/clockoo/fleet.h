/*
 * fleet.h - the fleet behind a front while it runs: what cores see of it, and a thread that looks
 * its names up.
 *
 * Shape:  fleet_begin publishes the servers with the addresses that stand as text; the thread adds
 *         those of names, looks them up again every FLEET_LOOKUP_S, and every FLEET_RETRY_S while
 *         one has none. A name that fails keeps the address it has.
 * Owner:  the process: nothing is given back, since a lookup may still wait when it ends.
 * Thread: begin by main. The thread alone publishes afterwards; cores ask
 *         front_exchange_turn_mt().
 * Errors: struct error. A name that begins or ceases to fail, or moves, is a line on stderr.
 * Bounds: memory of FRONT_SERVERS_MAX servers, twice; one lookup at a time.
 */
#ifndef CLOCKOO_FLEET_H
#define CLOCKOO_FLEET_H

#include "front/front_copy.h"
#include "front/front_fleet.h"
#include "front/front_names.h"
#include "front_look.h"

#define FLEET_LOOKUP_S 30u
#define FLEET_RETRY_S  2u

struct fleet {
	struct front_look *look;
	struct front_exchange *exchange;
	struct front_shared shared; /* copies, of all cores */
	struct front_names names;
	bool failing[FRONT_SERVERS_MAX]; /* said so */
	bool ipv6;                       /* addresses of IPv6 can be reached */
};

/* *fleet: NULL if the configuration names none. */
bool fleet_begin(struct fleet **fleet, const struct config *cfg, struct error *err);

/* Starts the thread, if a server has a name. */
bool fleet_start(struct fleet *fleet, struct error *err);

/* One lookup of each name, and one publication if an address has changed. True: all have one. */
bool fleet_pass(struct fleet *fleet, front_lookup_fn *lookup, void *arg);

#endif
