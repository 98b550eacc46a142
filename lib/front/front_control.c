/*
 * front_control.c - advances the health of every server by a step, and publishes a state for the
 * cores.
 */
#include "front_control_core.h"

#include "base/check.h"
#include "base/time_units.h"
#include "front_names.h"
#include "front_servers.h"

#include <string.h>

#define ROOM_MORE 8u

/* ---- places ---- */

uint32_t
front_control_room(const struct front_config *config)
{
	const uint32_t n = config->servers.count + config->gutter.count,
		       most = FRONT_LANES_MAX / config->server_connections,
		       more = n > ROOM_MORE ? 2 * n : n + ROOM_MORE;

	return more < most ? more : most;
}

static bool
owes(const struct front_control *c, uint32_t place)
{
	return front_report_owes_mt(front_control_report(c, place));
}

void
front_place_take(struct front_control *c, struct front_state *draft, uint32_t place,
		 const struct front_host *host, bool stands_in)
{
	struct front_report *r = front_control_report(c, place);
	struct front_place *p = &c->place[place];

	p->health = FRONT_HEALTH_LIVE;
	p->stands_in = stands_in;
	p->failed = false;
	p->host = host;
	p->quiet_ns = 0;
	p->outdated = true; /* its content is unknown */
	p->departs = p->joins = p->lost = false;
	atomic_store_explicit(&r->failures, 0, memory_order_relaxed);
	atomic_store_explicit(&r->flush_done,
			      atomic_load_explicit(&r->flush_due, memory_order_relaxed),
			      memory_order_relaxed);
	draft->address[place] = (struct front_address){
		.ip = p->ip, .port = host->port, .by_kernel = host->by_kernel};
	memcpy(draft->host[place], host->host, sizeof draft->host[place]);
	if (draft->count <= place)
		draft->count = place + 1;
}

void
front_place_health(struct front_control *c, uint32_t place, enum front_health health)
{
	struct front_place *p = &c->place[place];
	enum front_failure why = FRONT_FAILURE_UNKNOWN;

	p->health = health;
	if (health != FRONT_HEALTH_DOWN || p->failed)
		why = atomic_load_explicit(&front_control_report(c, place)->why,
					   memory_order_relaxed);
	if (c->tell != NULL && !p->joins)
		c->tell(c->arg, p->host, health, why);
}

uint32_t
front_places_count(const struct front_control *c, enum front_health health)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->exchange->room; i++)
		n += c->place[i].health == health;
	return n;
}

/* ---- rings ---- */

void
front_membership_ring(const struct front_membership *members, struct front_ring *ring,
		      const bool *live)
{
	const struct front_fleet fleet = front_config_fleet(members->config);

	if (front_ring_build(ring, &fleet, live))
		front_ring_rename(ring, members->server);
}

/* Builds the ring of the gutter, with the fleet's hash. */
void
front_gutter_ring(const struct front_membership *members, struct front_ring *ring)
{
	struct front_fleet fleet = front_config_fleet(members->config);

	fleet.servers = members->config->gutter.server;
	fleet.nservers = members->config->gutter.count;
	if (front_ring_build(ring, &fleet, NULL))
		front_ring_rename(ring, members->gutter);
}

bool
front_control_has_gutter(const struct front_control *c)
{
	return front_control_config(c)->gutter.count != 0;
}

/* Builds the ring of stand-ins from the servers that are not away. */
static void
stand_ring(const struct front_control *c, struct front_state *draft)
{
	const struct front_membership *members = &c->membership[c->membership_now];
	bool live[FRONT_SERVERS_MAX];

	draft->stand->npoints = 0;
	if (front_places_count(c, FRONT_HEALTH_AWAY) == 0)
		return;
	for (uint32_t i = 0; i < members->config->servers.count; i++)
		live[i] = c->place[members->server[i]].health != FRONT_HEALTH_AWAY;
	front_membership_ring(members, draft->stand, live);
}

static bool
stand_ins_change(const struct front_control *c)
{
	return !front_control_has_gutter(c) &&
	       front_places_count(c, FRONT_HEALTH_LEAVING) +
			       front_places_count(c, FRONT_HEALTH_RETURNING) !=
		       0;
}

/* ---- one server ---- */

uint64_t
front_control_quiet_until(const struct front_control *c, uint64_t now_ns)
{
	return now_ns + front_control_config(c)->gutter_ttl_s * NS_PER_S + FRONT_TTL_SPARE_NS;
}

static void
probe(struct front_control *c, struct front_state *draft, uint32_t place, uint64_t pause_ns)
{
	draft->probe[place] = ++c->place[place].probe;
	draft->pause_ms[place] = (uint32_t)(pause_ns / NS_PER_MS);
}

void
front_place_down(struct front_control *c, struct front_state *draft, uint32_t place, bool failed)
{
	c->place[place].failed = failed;
	front_place_health(c, place, FRONT_HEALTH_DOWN);
	probe(c, draft, place, failed ? FRONT_PROBE_MS * NS_PER_MS : 0);
}

static bool
may_leave(const struct front_control *c, uint32_t place, uint64_t now_ns)
{
	const struct front_place *p = &c->place[place];
	const struct front_config *config = front_control_config(c);
	const uint32_t away = front_places_count(c, FRONT_HEALTH_AWAY) +
			      front_places_count(c, FRONT_HEALTH_LEAVING);

	return config->auto_eject_hosts && !p->stands_in && !p->departs && !c->reloading &&
	       now_ns >= p->quiet_ns && now_ns >= c->quiet_ns &&
	       (front_control_has_gutter(c) || away + 1 < config->servers.count);
}

/* True if a server may return now. Without a gutter, its return changes the stand-ins of other
 * servers that are away. */
static bool
may_return(const struct front_control *c, uint64_t now_ns)
{
	return !c->reloading &&
	       (front_control_has_gutter(c) || front_places_count(c, FRONT_HEALTH_AWAY) == 1 ||
		now_ns >= c->quiet_ns);
}

static bool
is_probed(const struct front_control *c, uint32_t place)
{
	return atomic_load_explicit(&front_control_report(c, place)->probed,
				    memory_order_acquire) == c->place[place].probe;
}

static void
come_back(struct front_control *c, uint32_t place)
{
	atomic_store_explicit(&front_control_report(c, place)->failures, 0, memory_order_relaxed);
	front_place_health(c, place, FRONT_HEALTH_LIVE);
}

/* Uses a server at its new address. The host there may have old values. */
static void
moved(struct front_control *c, struct front_state *draft, uint32_t place)
{
	c->place[place].health = FRONT_HEALTH_LIVE;
	if (!front_control_config(c)->reload_flushes)
		return;
	front_report_owe_mt(front_control_report(c, place));
	front_place_down(c, draft, place, false);
}

/* Handles a changed address. A server's first address is used at once; a later one only once no
 * request to it is open. */
static bool
address_step(struct front_control *c, struct front_state *draft, uint32_t place)
{
	struct front_place *p = &c->place[place];
	struct ip_addr *at = &draft->address[place].ip;

	if (p->health == FRONT_HEALTH_VACANT ||
	    (ip_addr_equal(at, &p->ip) && p->health != FRONT_HEALTH_MOVING))
		return false;
	if (p->health == FRONT_HEALTH_LIVE && !ip_addr_is_zero(at)) {
		p->health = FRONT_HEALTH_MOVING;
		return true;
	}
	*at = p->ip;
	if (p->health == FRONT_HEALTH_MOVING)
		moved(c, draft, place);
	else if (p->health == FRONT_HEALTH_DOWN || p->health == FRONT_HEALTH_AWAY)
		probe(c, draft, place, 0);
	return true;
}

static bool
live_step(struct front_control *c, struct front_state *draft, uint32_t place, uint64_t now_ns)
{
	const uint32_t failures = atomic_load_explicit(&front_control_report(c, place)->failures,
						       memory_order_relaxed);

	if (owes(c, place))
		front_place_down(c, draft, place, false);
	else if (failures < front_control_config(c)->server_failure_limit)
		return false;
	else if (may_leave(c, place, now_ns))
		front_place_health(c, place, FRONT_HEALTH_LEAVING);
	else
		front_place_down(c, draft, place, true);
	return true;
}

static bool
down_step(struct front_control *c, struct front_state *draft, uint32_t place, uint64_t now_ns)
{
	if (is_probed(c, place) && !owes(c, place))
		come_back(c, place);
	else if (is_probed(c, place))
		probe(c, draft, place, 0);
	else if (c->place[place].failed && may_leave(c, place, now_ns))
		front_place_health(c, place, FRONT_HEALTH_LEAVING);
	else
		return false;
	return true;
}

/* Makes a server leave. Its content becomes stale, except in shared mode. The content of its
 * stand-ins becomes stale when it returns. */
static void
leave(struct front_control *c, struct front_state *draft, uint32_t place, uint64_t now_ns)
{
	for (uint32_t i = 0; i < draft->count; i++)
		c->place[i].outdated = true;
	if (!front_control_config(c)->shared)
		front_report_owe_mt(front_control_report(c, place));
	probe(c, draft, place, front_control_config(c)->server_retry_timeout_ns);
	front_place_health(c, place, FRONT_HEALTH_AWAY);
	if (!front_control_has_gutter(c))
		c->quiet_ns = front_control_quiet_until(c, now_ns);
}

static bool
away_step(struct front_control *c, struct front_state *draft, uint32_t place, uint64_t now_ns)
{
	if (!is_probed(c, place))
		return false;
	if (owes(c, place))
		probe(c, draft, place, 0);
	else if (may_return(c, now_ns))
		front_place_health(c, place, FRONT_HEALTH_RETURNING);
	else
		return false;
	return true;
}

static void
return_to_use(struct front_control *c, uint32_t place, uint64_t now_ns)
{
	come_back(c, place);
	c->place[place].quiet_ns = front_control_quiet_until(c, now_ns);
	if (!front_control_has_gutter(c))
		c->quiet_ns = front_control_quiet_until(c, now_ns);
}

/* Advances one server's health. True if the draft must be published. */
static bool
place_step(struct front_control *c, struct front_state *draft, uint32_t place, uint64_t now_ns)
{
	switch (c->place[place].health) {
	case FRONT_HEALTH_LIVE:
		return live_step(c, draft, place, now_ns);
	case FRONT_HEALTH_DOWN:
		return down_step(c, draft, place, now_ns);
	case FRONT_HEALTH_LEAVING:
		leave(c, draft, place, now_ns);
		return true;
	case FRONT_HEALTH_AWAY:
		return away_step(c, draft, place, now_ns);
	case FRONT_HEALTH_RETURNING:
		return_to_use(c, place, now_ns);
		return true;
	default:
		return false;
	}
}

/* ---- a state ---- */

static enum front_condition
condition_of(const struct front_place *p, bool refuses)
{
	switch (p->health) {
	case FRONT_HEALTH_VACANT:
		return FRONT_PLACE_VACANT;
	case FRONT_HEALTH_LIVE:
		return FRONT_PLACE_IN_USE;
	case FRONT_HEALTH_AWAY:
		return refuses ? FRONT_PLACE_REFUSED : FRONT_PLACE_AWAY;
	default:
		return FRONT_PLACE_REFUSED;
	}
}

static enum front_role
role_of(const struct front_place *p)
{
	if (p->departs && p->health != FRONT_HEALTH_VACANT)
		return FRONT_ROLE_DRAINING;
	if (p->joins)
		return FRONT_ROLE_JOINING;
	return p->stands_in ? FRONT_ROLE_GUTTER : FRONT_ROLE_SERVER;
}

static void
publish(struct front_control *c, struct front_state *draft)
{
	const bool refuses = stand_ins_change(c);

	draft->special = draft->next->npoints != 0 || draft->was->npoints != 0;
	for (uint32_t i = 0; i < draft->count; i++) {
		draft->condition[i] = condition_of(&c->place[i], refuses);
		draft->role[i] = role_of(&c->place[i]);
		draft->special |= draft->condition[i] != FRONT_PLACE_IN_USE;
		if (draft->condition[i] == FRONT_PLACE_IN_USE)
			draft->probe[i] = 0;
	}
	if (!front_control_has_gutter(c))
		stand_ring(c, draft);
	front_exchange_publish(c->exchange);
}

/* ---- interface ---- */

void
front_control_init(struct front_control *c, struct front_exchange *exchange,
		   const struct front_config *config)
{
	struct front_state *draft = front_exchange_draft(exchange);
	struct front_membership *members = &c->membership[0];
	uint32_t n = 0;

	ensure(config->servers.count + config->gutter.count <= exchange->room);
	c->exchange = exchange;
	draft->login = config->login;
	members->config = config;
	for (uint32_t i = 0; i < config->servers.count; i++)
		members->server[i] = (uint16_t)n++;
	for (uint32_t i = 0; i < config->gutter.count; i++)
		members->gutter[i] = (uint16_t)n++;
	front_newcomers_expect(c, &config->servers, members->server);
	front_newcomers_expect(c, &config->gutter, members->gutter);
	front_newcomers_take(c, draft, &config->servers, members->server, false);
	front_newcomers_take(c, draft, &config->gutter, members->gutter, true);
	front_membership_ring(members, draft->ring, NULL);
	if (front_control_has_gutter(c))
		front_gutter_ring(members, draft->stand);
	for (uint32_t i = 0; i < n; i++)
		c->place[i].outdated = exchange->warm == NULL;
	publish(c, draft);
}

void
front_control_located(struct front_control *c, const char *host, const struct ip_addr *ip)
{
	for (uint32_t i = 0; i < c->exchange->room; i++)
		if (c->place[i].host != NULL && strcmp(c->place[i].host->host, host) == 0)
			c->place[i].ip = *ip;
}

void
front_control_step(struct front_control *c, uint64_t now_ns)
{
	struct front_state *draft = front_exchange_draft(c->exchange);
	bool changed;

	if (draft == NULL)
		return;
	changed = front_control_login_step(c, draft);
	changed |= front_reload_step(c, draft, now_ns);
	if (!changed)
		for (uint32_t i = 0; i < draft->count; i++)
			changed |= address_step(c, draft, i) || place_step(c, draft, i, now_ns);
	if (changed)
		publish(c, draft);
}
