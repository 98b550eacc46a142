/*
 * fleet.h - the fleet behind a front while it runs: the states that cores use, the servers that are
 * down or away, a new list of servers by a reload, and a thread that looks their names up.
 *
 * Shape:  fleet_begin publishes the servers whose addresses are given as text. The thread looks
 *         up the names: every FLEET_LOOKUP_S, every FLEET_RETRY_S while one has none or a server
 *         is down, and at once when a server goes down. A name that fails keeps the address it
 *         has. fleet_tick publishes what has changed.
 * Owner:  the process: the memory is never freed, since a lookup may still wait at its end. A
 *         list that was replaced is freed.
 * Thread: begin by main; start, tick and reload by the control thread, or before it runs. A
 *         mutex guards the thread's findings. Cores ask front_exchange_turn_mt().
 * Errors: struct error. A line on stderr reports a name whose lookups begin to fail, succeed again
 *         or find another address, a server that goes down, leaves (with the reason) or returns,
 *         and a refused reload. A reload is refused if a new server has no address within
 *         FRONT_LOCATE_NS.
 * Bounds: four lists of FRONT_SERVERS_MAX servers; one lookup at a time.
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
#define FLEET_PAUSE_S  1u /* the least time between two rounds of lookups */
#define FLEET_FIRST_S  5u /* the time that a start waits for the first round */

struct fleet {
	struct fleet_spec *spec; /* in force */
	struct fleet_spec *next; /* of a reload in progress; NULL: none */
	struct fleet_spec *gone; /* of a refused reload, to be freed; NULL: none */
	struct front_exchange *exchange;
	struct copies_shared shared; /* copies of all cores */
	pthread_mutex_t lock;        /* guards the members from here to hosts */
	pthread_cond_t changed;
	struct front_control control;
	uint32_t list;   /* changes when hosts becomes another list */
	uint32_t failed; /* number of times that a server went down or left */
	uint32_t passes; /* completed rounds of lookups */
	struct front_servers hosts;
	struct front_stats stats;
	struct front_looker looker; /* used by the control thread */
	/* Used by the lookup thread only. */
	uint32_t list_had;
	struct front_servers looked;
	struct front_names names, names_before;
	bool failing[FRONT_SERVERS_MAX]; /* its failure was reported */
	bool ipv6;                       /* IPv6 addresses can be reached */
	bool runs;                       /* the lookup thread runs */
	bool by_kernel; /* cores have a layer for servers that the kernel reaches */
};

/* Reads the fleet and publishes its first state. *fleet is NULL if the configuration names none. */
bool fleet_begin(struct fleet **fleet, const struct config *cfg, struct error *err);

/* Starts the lookup thread, if a server has a name. */
bool fleet_start(struct fleet *fleet, struct error *err);

/* Waits until each name was looked up once, at most for the given time, and publishes the
 * addresses. Called before any core runs. */
void fleet_wait(struct fleet *fleet, uint32_t seconds);

/* Begins, starts and waits FLEET_FIRST_S for the names. *fleet is NULL if the configuration names
 * none. */
bool fleet_prepare(struct fleet **fleet, const struct config *cfg, struct error *err);

/* Looks each name up once. True if all have an address. */
bool fleet_pass(struct fleet *fleet, front_lookup_fn *lookup, void *arg);

/* Publishes changes. Called several times a second; now_ns is always of the same clock. */
void fleet_tick(struct fleet *fleet, uint64_t now_ns);

/* Makes the servers and gutter of *spec the next fleet, and takes ownership of it. False: refused,
 * and nothing has changed. */
bool fleet_reload(struct fleet *fleet, struct fleet_spec *spec, uint64_t now_ns, struct error *err);

/* Makes the login of *spec that of all servers. True if it differs from the former one. */
bool fleet_login(struct fleet *fleet, const struct fleet_spec *spec);

/* True if *spec names the servers and the gutter that are in force or will soon be. */
bool fleet_has(const struct fleet *fleet, const struct fleet_spec *spec);

#endif
