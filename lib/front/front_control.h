/*
 * front_control.h - what becomes of the servers of a fleet: which are down, which have left, which
 * come back, and how the fleet of a reload takes the place of the present one.
 *
 * Keys move from one server to another in two steps. First a state refuses them; when every core
 * has settled that, no request for them is open, and the next state gives them to their new server.
 *
 *   LIVE -> DOWN       failure_limit failures in a row, or a flush that failed: its keys fail at
 *                      once; a core probes it
 *   DOWN -> LIVE       the probe was answered, and it owes no flush
 *   LIVE -> LEAVING    with auto_eject_hosts: its keys fail
 *   LEAVING -> AWAY    all cores have settled that: its keys are those of a stand-in, a server of
 *                      the gutter or, without one, of the ring of those that are not away
 *   AWAY -> RETURNING  probed, and flushed but in shared mode: its keys fail
 *   RETURNING -> LIVE  all cores have settled that
 *   LIVE -> MOVING     its name has another address: its keys fail until all cores have settled
 * that
 *
 * Shape:  front_control_step() publishes one state at most. Values that stand-ins hold live for
 *         gutter_ttl: none is met later than that, so a server leaves again only when its former
 *         absence is longer ago, and stand-ins change only then; it is DOWN until then.
 * Units:  ns of any one clock; seconds of gutter_ttl.
 * Owner:  the caller: struct, exchange, and the configurations while they are in force.
 * Thread: one, which alone has drafts of the exchange.
 * Errors: front_control_reload: struct error; nothing has changed then.
 * Bounds: a step looks at every place, and builds two rings at most.
 *
 * Known limit: a write that a stand-in executes long after its core has given it up lives from then
 * on for gutter_ttl. A server that refuses flush_all does not come back.
 */
#ifndef CLOCKOO_FRONT_CONTROL_H
#define CLOCKOO_FRONT_CONTROL_H

#include "config/errors.h"
#include "front_fleet.h"

#define FRONT_PROBE_MS     100u          /* before a server that is down is probed first */
#define FRONT_TTL_SPARE_NS 2000000000ull /* memcached counts whole seconds */
#define FRONT_LOCATE_NS    5000000000ull /* after that a reload without an address is refused */

enum front_health {
	FRONT_HEALTH_VACANT,
	FRONT_HEALTH_LIVE,
	FRONT_HEALTH_DOWN,
	FRONT_HEALTH_LEAVING,
	FRONT_HEALTH_AWAY,
	FRONT_HEALTH_RETURNING,
	FRONT_HEALTH_MOVING,
};

struct front_place {
	enum front_health health;
	bool stands_in; /* a server of the gutter: it does not leave */
	bool failed;    /* why it is DOWN: it is to leave when it may */
	const struct front_host *host;
	struct ip_addr ip; /* as its name has it now */
	uint32_t probe;    /* its last one */
	uint64_t quiet_ns; /* until then it does not leave */
};

/* The places of a configuration's servers. */
struct front_seats {
	const struct front_config *config;
	uint16_t server[FRONT_SERVERS_MAX], gutter[FRONT_SERVERS_MAX];
};

struct front_control {
	struct front_exchange *exchange;
	uint32_t seats_now;       /* of seats[]: in force */
	bool reloading, refusing; /* to the other one; its keys are refused already */
	uint64_t locate_ns;       /* until then a reload waits for addresses of its new servers */
	uint64_t quiet_ns;        /* until then stand-ins do not change */
	/* Called when a server's health has changed. why: of its last failure, for one that is down
	 * or leaves; unknown where a flush is why. */
	void (*tell)(void *arg, const struct front_host *host, enum front_health health,
		     enum front_failure why);
	/* Called when a reload was given up since this server of it has no address. The present
	 * fleet stays. */
	void (*refused)(void *arg, const struct front_host *host);
	void *arg;
	struct front_seats seats[2];
	struct front_place place[FRONT_SERVERS_MAX];
};

/* Places for this configuration and for later ones. */
uint32_t front_control_room(const struct front_config *config);

/* Publishes the first state: all servers in use, with the addresses that stand as text. The caller
 * has zeroed *c, but for tell, refused and arg. */
void front_control_init(struct front_control *c, struct front_exchange *exchange,
			const struct front_config *config);

/* The name has this address now. */
void front_control_located(struct front_control *c, const char *host, const struct ip_addr *ip);

/* Servers and gutter of *config are to be the fleet, which keeps its placement otherwise. In force
 * when front_control_config() is it; the former one may go then. The caller keeps *config until
 * then or until refused() is called. */
bool front_control_reload(struct front_control *c, const struct front_config *config,
			  uint64_t now_ns, struct error *err);

/* Some times a second. */
void front_control_step(struct front_control *c, uint64_t now_ns);

static inline const struct front_config *
front_control_config(const struct front_control *c)
{
	return c->seats[c->seats_now].config;
}

#endif
