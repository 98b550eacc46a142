/*
 * front_control.h - controls the servers of a fleet: which are down, which have left, which
 * return, and how a reload's fleet replaces the present one.
 *
 * Keys move from one server to another in two steps. First a state refuses them; when every core
 * has settled that state, no request for them is open, and the next state gives them to their new
 * server.
 *
 *   LIVE -> DOWN       failure_limit consecutive failures, or a flush that failed: its keys fail at
 *                      once; a core probes it
 *   DOWN -> LIVE       the probe was answered, and it owes no flush
 *   LIVE -> LEAVING    with auto_eject_hosts: its keys fail
 *   LEAVING -> AWAY    all cores have settled that: its keys go to a stand-in, a server of
 *                      the gutter or, without one, of the ring of those that are not away
 *   AWAY -> RETURNING  probed, and flushed except in shared mode: its keys fail
 *   RETURNING -> LIVE  all cores have settled that
 *   LIVE -> MOVING     its name has another address: its keys fail until all cores have settled
 * that
 *
 * Shape:  front_control_step() publishes at most one state. Values at stand-ins live for
 *         gutter_ttl and are never found later. So a server leaves again only when its last
 *         absence ended longer ago than that, and stand-ins change only then; until then it is
 *         DOWN.
 * Units:  ns of any one clock; seconds of gutter_ttl.
 * Owner:  the caller: the struct, the exchange, and the configurations while they are in force.
 * Thread: one thread, which alone uses drafts of the exchange.
 * Errors: front_control_reload: struct error; nothing has changed then.
 * Bounds: a step visits every place, and builds at most two rings.
 *
 * Known limit: a write that a stand-in executes long after its core has given it up lives from
 * then on for gutter_ttl. A server that refuses flush_all does not return.
 */
#ifndef CLOCKOO_FRONT_CONTROL_H
#define CLOCKOO_FRONT_CONTROL_H

#include "config/errors.h"
#include "front_fleet.h"

#define FRONT_PROBE_MS     100u          /* until a server that is down is first probed */
#define FRONT_TTL_SPARE_NS 2000000000ull /* memcached counts whole seconds */
#define FRONT_LOCATE_NS    5000000000ull /* a reload without an address is refused after this */

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
	bool stands_in; /* a server of the gutter, which never leaves */
	bool failed;    /* it is DOWN because of failures, and leaves when it may */
	const struct front_host *host;
	struct ip_addr ip; /* the name's present address */
	uint32_t probe;    /* its last probe */
	uint64_t quiet_ns; /* it does not leave before this */
	bool outdated;     /* it may have old values of keys that others have now */
	bool lost;         /* it has lost keys by the last reload, and gets deletes of these */
	bool joins;        /* it is new, and has no keys yet */
	bool departs;      /* it is not in the fleet any more, and hands its keys over */
};

/* Which places the servers of a configuration have. */
struct front_membership {
	const struct front_config *config;
	uint16_t server[FRONT_SERVERS_MAX], gutter[FRONT_SERVERS_MAX];
};

struct front_control {
	struct front_exchange *exchange;
	uint32_t membership_now;   /* index of the membership in force */
	bool reloading, refusing;  /* a reload to the other one is in progress; its keys are
				      already refused */
	bool joined;               /* its new servers are connected and flushed, without keys */
	bool warming;              /* keys of the last reload are handed over */
	bool stayed;               /* no server has left by the last reload */
	bool chains;               /* the reload in progress is chained to the last one */
	uint64_t join_ns, warm_ns; /* the ends of both */
	uint64_t locate_ns;        /* a reload waits for addresses of its new servers until this */
	uint64_t quiet_ns;         /* stand-ins do not change before this */
	struct front_login login;  /* the next state's, if it is new */
	bool login_is_new;
	/* Called when a server's health has changed. why: the last failure of a server that is
	 * down or leaves; unknown if a flush is the reason. */
	void (*tell)(void *arg, const struct front_host *host, enum front_health health,
		     enum front_failure why);
	/* Called when a reload was given up because this new server has no address. The present
	 * fleet stays. */
	void (*refused)(void *arg, const struct front_host *host);
	void *arg;
	struct front_membership membership[2];
	struct front_place place[FRONT_SERVERS_MAX];
	struct front_host departing[FRONT_SERVERS_MAX]; /* of places that depart */
};

/* Returns the places for this configuration and for later ones. */
uint32_t front_control_room(const struct front_config *config);

/* Publishes the first state: all servers in use, with the addresses given as text. The caller has
 * zeroed *c, except for its callbacks and their arg. */
void front_control_init(struct front_control *c, struct front_exchange *exchange,
			const struct front_config *config);

/* Records a name's present address. */
void front_control_located(struct front_control *c, const char *host, const struct ip_addr *ip);

/* Begins a reload to the servers and gutter of *config; the placement rules stay. The new fleet
 * is in force when front_control_config() returns *config; the former configuration may then be
 * freed. The caller keeps *config until then, or until refused() is called. */
bool front_control_reload(struct front_control *c, const struct front_config *config,
			  uint64_t now_ns, struct error *err);

/* Makes connections that are opened later begin with this login. Servers that are down are tried at
 * once. */
void front_control_login(struct front_control *c, const struct front_login *login);
/* Puts a new login into the draft. True if there is one. */
bool front_control_login_step(struct front_control *c, struct front_state *draft);

/* Advances the control; called some times a second. */
void front_control_step(struct front_control *c, uint64_t now_ns);

/* True while a reload refuses keys, so that the next step should be soon. */
static inline bool
front_control_refuses(const struct front_control *c)
{
	return c->refusing;
}

static inline const struct front_config *
front_control_config(const struct front_control *c)
{
	return c->membership[c->membership_now].config;
}

#endif
