/*
 * front_control.h - controls the servers of a fleet: which are down, leave and return, and how the
 * fleet of a reload replaces the present one.
 *
 * Keys move from one server to another in two steps. The first state makes cores refuse these keys.
 * A core settles that state once no request under an earlier state is open. When every core has
 * settled it, no request for the keys is open, and the next state gives them to their new server.
 *
 *   LIVE -> DOWN       failure_limit consecutive failures, or a flush that failed: its keys fail at
 *                      once; a core probes it
 *   DOWN -> LIVE       the probe was answered, and so was any flush that it has to make up for
 *   LIVE -> LEAVING    with auto_eject_hosts: its keys fail
 *   LEAVING -> AWAY    all cores have settled that: its keys use a stand-in, which is a server of
 *                      the gutter or, without a gutter, one of the servers that are not away
 *   AWAY -> RETURNING  it was probed and, except in shared mode, flushed: its keys fail
 *   RETURNING -> LIVE  all cores have settled that
 *   LIVE -> MOVING     its name has another address: its keys fail
 *   MOVING -> LIVE     all cores have settled that
 *
 * Shape:  front_control_step() publishes at most one state. A value at a stand-in lives for
 *         gutter_ttl, and must not be found after its server was back in between. So a server
 *         leaves again only if its last absence ended longer ago than that; until then it is DOWN.
 *         Stand-ins change no sooner, either.
 * Units:  ns of any one clock; seconds of gutter_ttl.
 * Owner:  the caller: the struct, the exchange, and the configurations while they are in force.
 * Thread: one thread; only it uses drafts of the exchange.
 * Errors: front_control_reload: struct error, and nothing has changed.
 * Bounds: a step visits every place, and builds at most two rings.
 *
 * Known limits: a stand-in may execute a write long after its core has given the write up; the
 * value then lives for gutter_ttl from that time on. A server that refuses flush_all never returns.
 */
#ifndef CLOCKOO_FRONT_CONTROL_H
#define CLOCKOO_FRONT_CONTROL_H

#include "config/errors.h"
#include "front_fleet.h"

#define FRONT_PROBE_MS 100u /* pause before the first probe of a server that is down */
/* Added to gutter_ttl, since memcached counts whole seconds. */
#define FRONT_TTL_SPARE_NS 2000000000ull
/* A reload whose new servers have no address by then is refused. */
#define FRONT_LOCATE_NS 5000000000ull

enum front_health {
	FRONT_HEALTH_VACANT,
	FRONT_HEALTH_LIVE,
	FRONT_HEALTH_DOWN,
	FRONT_HEALTH_LEAVING,
	FRONT_HEALTH_AWAY,
	FRONT_HEALTH_RETURNING,
	FRONT_HEALTH_MOVING,
};

/* A place of the fleet, and the server that has it. */
struct front_place {
	enum front_health health;
	bool stands_in; /* it is a server of the gutter, and never leaves */
	bool failed;    /* it is DOWN because of failures, and leaves once it may */
	const struct front_host *host;
	struct ip_addr ip; /* the name's present address */
	uint32_t probe;    /* number of its last probe */
	uint64_t quiet_ns; /* time before which it does not leave again */
	bool outdated;     /* it may have old values of keys that other servers have now */
	/* keys have moved away from it by the last reload: writes delete them there */
	bool lost;
	bool joins;   /* a reload adds it; it has no keys yet */
	bool departs; /* a reload has removed it; it hands its keys over */
};

/* The places of a configuration's servers. */
struct front_membership {
	const struct front_config *config;
	/* Entry i is the place of server i of the configuration, or of its gutter. */
	uint16_t server[FRONT_SERVERS_MAX], gutter[FRONT_SERVERS_MAX];
};

struct front_control {
	struct front_exchange *exchange;
	uint32_t membership_now;  /* index of the membership in force */
	bool reloading;           /* a reload to the other membership is in progress */
	bool refusing;            /* of it: cores have a state that refuses the keys that move */
	bool joined;              /* of it: its new servers are in use, without keys */
	bool warming;             /* keys that the last reload moved are handed over */
	bool stayed;              /* the last reload removed no server */
	bool chains;              /* the reload in progress is chained to the last one */
	uint64_t join_ns;         /* new servers are waited for until this */
	uint64_t warm_ns;         /* keys are handed over until this */
	uint64_t locate_ns;       /* addresses of new servers are waited for until this */
	uint64_t quiet_ns;        /* stand-ins do not change before this */
	struct front_login login; /* for the next state, if login_is_new */
	bool login_is_new;
	/* Called when a server's health has changed. why: the last failure, if the server is down
	 * or leaves; unknown if it is a flush that failed. */
	void (*tell)(void *arg, const struct front_host *host, enum front_health health,
		     enum front_failure why);
	/* Called when a reload was given up because this new server has no address. The present
	 * fleet stays. */
	void (*refused)(void *arg, const struct front_host *host);
	void *arg;
	struct front_membership membership[2];
	struct front_place place[FRONT_SERVERS_MAX];
	/* By place: the host of a server that departs. */
	struct front_host departing[FRONT_SERVERS_MAX];
};

/* Returns the number of places for this configuration and for servers of later ones. */
uint32_t front_control_room(const struct front_config *config);

/* Publishes the first state: all servers are in use; addresses that are given as text are known.
 * The caller has zeroed *c, except for its callbacks and their arg. */
void front_control_init(struct front_control *c, struct front_exchange *exchange,
			const struct front_config *config);

/* Records the present address of a name. */
void front_control_located(struct front_control *c, const char *host, const struct ip_addr *ip);

/* Begins a reload to the servers and gutter of *config; the placement rules stay as they are. The
 * caller keeps *config until refused() is called or it is replaced. When front_control_config()
 * returns *config, the new fleet is in force, and the former configuration may be freed. */
bool front_control_reload(struct front_control *c, const struct front_config *config,
			  uint64_t now_ns, struct error *err);

/* Sets the login of connections that are opened from now on. Servers that are down are tried at
 * once. */
void front_control_login(struct front_control *c, const struct front_login *login);
/* Puts a new login into the draft. False: there is none. */
bool front_control_login_step(struct front_control *c, struct front_state *draft);

/* Advances the control by at most one state. Called some times a second. */
void front_control_step(struct front_control *c, uint64_t now_ns);

/* True while a reload refuses keys: the caller should take the next step soon. */
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
