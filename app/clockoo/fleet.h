/*
 * fleet.h - the fleet behind a front while it runs: the states that cores use, the servers that are
 * down or away, a new list of servers by a reload, and a thread that looks their names up.
 *
 * Shape:  fleet_begin publishes the servers with the addresses that stand as text. The thread
 *         finds those of names: every FLEET_LOOKUP_S, every FLEET_RETRY_S while one has none or a
 *         server is down, and at once when a server goes down. A name that fails keeps the address
 *         it has. fleet_tick publishes what has changed.
 * Owner:  the process: nothing is given back, since a lookup may still wait when it ends; but of a
 *         list whose place another one has taken.
 * Thread: begin by main; start, tick and reload by the control thread, or before it runs. A mutex
 *         lets the thread say what it has found. Cores ask front_exchange_turn_mt().
 * Errors: struct error. A name that begins or ceases to fail, or moves, a server that goes down or
 *         leaves (with the reason) or comes back, and a refused reload is a line on stderr. One
 *         whose new server has no address within FRONT_LOCATE_NS is refused.
 * Bounds: memory of FRONT_SERVERS_MAX servers, some times; one lookup at a time.
 */
#ifndef CLOCKOO_FLEET_H
#define CLOCKOO_FLEET_H

#include "front/front_control.h"
#include "front/front_copy.h"
#include "front/front_names.h"
#include "front/front_stats.h"
#include "front_look.h"

#include <pthread.h>

#define FLEET_LOOKUP_S 30u
#define FLEET_RETRY_S  2u
#define FLEET_PAUSE_S  1u /* between two rounds of lookups, at least */
#define FLEET_FIRST_S  5u /* that a start waits for the first round */

struct fleet {
	struct front_look *look; /* in force */
	struct front_look *next; /* of a reload; NULL: none is under way */
	struct front_look *gone; /* of one that was refused, to be freed; NULL: none */
	struct front_exchange *exchange;
	struct front_shared shared; /* copies, of all cores */
	pthread_mutex_t lock;       /* of what follows, up to hosts */
	pthread_cond_t changed;
	struct front_control control;
	uint32_t list;   /* another number: hosts is another list */
	uint32_t failed; /* how often a server went down or left */
	uint32_t passes; /* rounds of lookups that ended */
	struct front_servers hosts;
	struct front_stats stats;
	struct front_looker looker; /* the control thread's */
	/* The thread's alone. */
	uint32_t list_had;
	struct front_servers looked;
	struct front_names names, names_before;
	bool failing[FRONT_SERVERS_MAX]; /* said so */
	bool ipv6;                       /* addresses of IPv6 can be reached */
	bool runs;                       /* the thread does */
};

/* *fleet: NULL if the configuration names none. */
bool fleet_begin(struct fleet **fleet, const struct config *cfg, struct error *err);

/* Starts the thread, if a server has a name. */
bool fleet_start(struct fleet *fleet, struct error *err);

/* Waits until each name was looked up once, for the given time at most, and publishes the
 * addresses. Before any core runs. */
void fleet_wait(struct fleet *fleet, uint32_t seconds);

/* Looks each name up once. True if all have an address. */
bool fleet_pass(struct fleet *fleet, front_lookup_fn *lookup, void *arg);

/* Some times a second, by any one clock. */
void fleet_tick(struct fleet *fleet, uint64_t now_ns);

/* Servers and gutter of *look are the fleet soon; it is the fleet's then. False: it is not, and
 * nothing has changed. */
bool fleet_reload(struct fleet *fleet, struct front_look *look, uint64_t now_ns, struct error *err);

/* True if *look names the servers and the gutter that are, or will soon be, in force. */
bool fleet_has(const struct fleet *fleet, const struct front_look *look);

#endif
