/*
 * fleet.h - the servers behind a front while it runs: their states, which the cores use, a new list
 * of servers by a reload, and a thread that looks up their names.
 *
 * Shape:  fleet_begin publishes the servers that are given by address. The thread looks up names
 *         every FLEET_LOOKUP_S. It does so every FLEET_RETRY_S while a name has no address or a
 *         server is down, and at once when a server goes down. A name keeps its address if a lookup
 *         fails. fleet_tick publishes the changes.
 * Owner:  the process. The fleet is never freed, since a lookup may not have returned when the
 *         process ends. A replaced list is freed.
 * Thread: main begins; the control thread, or main before it, starts, ticks and reloads. A mutex
 *         guards the members that the lookup thread shares. Cores read front_exchange_turn_mt().
 * Errors: struct error. A line on stderr reports a name whose lookups begin to fail, succeed again
 *         or have another result; a server that goes down, leaves (with the reason) or returns; and
 *         a refused reload. A reload is refused if a new server has no address within
 *         FRONT_LOCATE_NS.
 * Bounds: four lists of FRONT_SERVERS_MAX servers. One lookup runs at a time.
 */
#ifndef CLOCKOO_FLEET_H
#define CLOCKOO_FLEET_H

#include "front/front_control.h"
#include "copies/copies.h"
#include "front/front_names.h"
#include "front/front_stats.h"
#include "fleet_spec.h"

#include <pthread.h>

#define FLEET_LOOKUP_S 30u
#define FLEET_RETRY_S  2u
#define FLEET_PAUSE_S  1u /* least time between two rounds of lookups */
#define FLEET_FIRST_S  5u /* time that a start waits for the first round of lookups */

struct fleet {
	struct fleet_spec *spec; /* the present configuration */
	struct fleet_spec *next; /* configuration of a reload in progress; NULL: none */
	/* Configuration of a refused reload; freed at the next tick; NULL: none. */
	struct fleet_spec *gone;
	struct front_exchange *exchange;
	struct copies_shared shared; /* the memory of the copies that all cores share */
	pthread_mutex_t lock;        /* guards the members from here to `hosts` */
	pthread_cond_t changed;
	struct front_control control;
	uint32_t list;              /* number of the list in `hosts`; each new list has another */
	uint32_t failed;            /* counts the servers that went down or left */
	uint32_t passes;            /* counts the completed rounds of lookups */
	struct front_servers hosts; /* whose names the thread looks up */
	struct front_stats stats;
	struct front_looker looker; /* used by the control thread only */
	/* Used by the lookup thread only. */
	uint32_t list_had;           /* `list` when `looked` was copied */
	struct front_servers looked; /* a copy of `hosts` */
	struct front_names names, names_before;
	bool failing[FRONT_SERVERS_MAX]; /* by server: the failure of its name was reported */
	bool ipv6;                       /* this machine can reach IPv6 addresses */
	bool runs;                       /* the lookup thread was started */
	bool by_kernel; /* some server is reached by the kernel, through sock_links */
};

/* Reads the fleet's configuration and publishes its first state. *fleet is NULL if cfg names no
 * servers. */
bool fleet_begin(struct fleet **fleet, const struct config *cfg, struct error *err);

/* Starts the lookup thread if a server is given by name. */
bool fleet_start(struct fleet *fleet, struct error *err);

/* Waits until every name was looked up once, but for this time at most; then publishes the
 * addresses. Called before any core runs. */
void fleet_wait(struct fleet *fleet, uint32_t seconds);

/* Calls fleet_begin, fleet_start and fleet_wait(FLEET_FIRST_S). *fleet is NULL if cfg names no
 * servers. */
bool fleet_prepare(struct fleet **fleet, const struct config *cfg, struct error *err);

/* Looks up every name once. True if each has an address. */
bool fleet_pass(struct fleet *fleet, front_lookup_fn *lookup, void *arg);

/* Publishes changes. Called at each tick; now_ns is always of the same clock. */
void fleet_tick(struct fleet *fleet, uint64_t now_ns);

/* Makes the servers and the gutter of *spec the next ones, and takes ownership of it. False:
 * refused, and nothing has changed. */
bool fleet_reload(struct fleet *fleet, struct fleet_spec *spec, uint64_t now_ns, struct error *err);

/* Gives all servers the login of *spec. True if that login is a new one. */
bool fleet_login(struct fleet *fleet, const struct fleet_spec *spec);

/* True if the servers and the gutter of *spec are the present ones, or those of the reload in
 * progress. */
bool fleet_has(const struct fleet *fleet, const struct fleet_spec *spec);

#endif
