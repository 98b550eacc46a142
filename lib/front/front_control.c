/*
 * front_control.c - advances every server's health by a step, and publishes the cores' state.
 */
#include "front_control.h"

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

static struct front_report *
report_of(const struct front_control *c, uint32_t place)
{
	return &c->exchange->report[place];
}

static bool
owes(const struct front_control *c, uint32_t place)
{
	return front_report_owes_mt(report_of(c, place));
}

static void
place_take(struct front_control *c, struct front_state *draft, uint32_t place,
	   const struct front_host *host, bool stands_in)
{
	struct front_report *r = report_of(c, place);
	struct front_place *p = &c->place[place];

	p->health = FRONT_HEALTH_LIVE;
	p->stands_in = stands_in;
	p->failed = false;
	p->host = host;
	p->quiet_ns = 0;
	atomic_store_explicit(&r->failures, 0, memory_order_relaxed);
	atomic_store_explicit(&r->flush_done,
			      atomic_load_explicit(&r->flush_due, memory_order_relaxed),
			      memory_order_relaxed);
	draft->address[place] = (struct front_address){.ip = p->ip, .port = host->port};
	if (draft->count <= place)
		draft->count = place + 1;
}

static void
health_set(struct front_control *c, uint32_t place, enum front_health health)
{
	struct front_place *p = &c->place[place];
	enum front_failure why = FRONT_FAILURE_UNKNOWN;

	p->health = health;
	if (health != FRONT_HEALTH_DOWN || p->failed)
		why = atomic_load_explicit(&report_of(c, place)->why, memory_order_relaxed);
	if (c->tell != NULL)
		c->tell(c->arg, p->host, health, why);
}

static uint32_t
count_of(const struct front_control *c, enum front_health health)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->exchange->room; i++)
		n += c->place[i].health == health;
	return n;
}

/* ---- rings ---- */

static void
ring_of(const struct front_membership *members, struct front_ring *ring, const bool *live)
{
	const struct front_fleet fleet = front_config_fleet(members->config);

	if (front_ring_build(ring, &fleet, live))
		front_ring_rename(ring, members->server);
}

/* Builds the gutter's ring, with the fleet's hash. */
static void
gutter_ring(const struct front_membership *members, struct front_ring *ring)
{
	struct front_fleet fleet = front_config_fleet(members->config);

	fleet.servers = members->config->gutter.server;
	fleet.nservers = members->config->gutter.count;
	if (front_ring_build(ring, &fleet, NULL))
		front_ring_rename(ring, members->gutter);
}

static bool
has_gutter(const struct front_control *c)
{
	return front_control_config(c)->gutter.count != 0;
}

/* Builds the ring of servers that stand in: those that are not away. */
static void
stand_ring(const struct front_control *c, struct front_state *draft)
{
	const struct front_membership *members = &c->membership[c->membership_now];
	bool live[FRONT_SERVERS_MAX];

	draft->stand->npoints = 0;
	if (count_of(c, FRONT_HEALTH_AWAY) == 0)
		return;
	for (uint32_t i = 0; i < members->config->servers.count; i++)
		live[i] = c->place[members->server[i]].health != FRONT_HEALTH_AWAY;
	ring_of(members, draft->stand, live);
}

static bool
stand_ins_change(const struct front_control *c)
{
	return !has_gutter(c) &&
	       count_of(c, FRONT_HEALTH_LEAVING) + count_of(c, FRONT_HEALTH_RETURNING) != 0;
}

/* ---- one server ---- */

static uint64_t
quiet_until(const struct front_control *c, uint64_t now_ns)
{
	return now_ns + front_control_config(c)->gutter_ttl_s * NS_PER_S + FRONT_TTL_SPARE_NS;
}

static void
probe(struct front_control *c, struct front_state *draft, uint32_t place, uint64_t pause_ns)
{
	draft->probe[place] = ++c->place[place].probe;
	draft->pause_ms[place] = (uint32_t)(pause_ns / NS_PER_MS);
}

static void
go_down(struct front_control *c, struct front_state *draft, uint32_t place, bool failed)
{
	c->place[place].failed = failed;
	health_set(c, place, FRONT_HEALTH_DOWN);
	probe(c, draft, place, failed ? FRONT_PROBE_MS * NS_PER_MS : 0);
}

static bool
may_leave(const struct front_control *c, uint32_t place, uint64_t now_ns)
{
	const struct front_place *p = &c->place[place];
	const struct front_config *config = front_control_config(c);
	const uint32_t away = count_of(c, FRONT_HEALTH_AWAY) + count_of(c, FRONT_HEALTH_LEAVING);

	return config->auto_eject_hosts && !p->stands_in && !c->reloading &&
	       now_ns >= p->quiet_ns && now_ns >= c->quiet_ns &&
	       (has_gutter(c) || away + 1 < config->servers.count);
}

/* True if a server may return: this changes the stand-ins of other servers that are away. */
static bool
may_return(const struct front_control *c, uint64_t now_ns)
{
	return !c->reloading &&
	       (has_gutter(c) || count_of(c, FRONT_HEALTH_AWAY) == 1 || now_ns >= c->quiet_ns);
}

static bool
is_probed(const struct front_control *c, uint32_t place)
{
	return atomic_load_explicit(&report_of(c, place)->probed, memory_order_acquire) ==
	       c->place[place].probe;
}

static void
come_back(struct front_control *c, uint32_t place)
{
	atomic_store_explicit(&report_of(c, place)->failures, 0, memory_order_relaxed);
	health_set(c, place, FRONT_HEALTH_LIVE);
}

/* Takes a server with a new address into use. The host there may hold keys of an earlier time. */
static void
moved(struct front_control *c, struct front_state *draft, uint32_t place)
{
	c->place[place].health = FRONT_HEALTH_LIVE;
	if (!front_control_config(c)->reload_flushes)
		return;
	front_report_owe_mt(report_of(c, place));
	go_down(c, draft, place, false);
}

/* Handles a changed address. Any but a name's first is used only once no request is open. */
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
	const uint32_t failures =
		atomic_load_explicit(&report_of(c, place)->failures, memory_order_relaxed);

	if (owes(c, place))
		go_down(c, draft, place, false);
	else if (failures < front_control_config(c)->server_failure_limit)
		return false;
	else if (may_leave(c, place, now_ns))
		health_set(c, place, FRONT_HEALTH_LEAVING);
	else
		go_down(c, draft, place, true);
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
		health_set(c, place, FRONT_HEALTH_LEAVING);
	else
		return false;
	return true;
}

/* Lets a server leave. Its content is stale from now on, unless other clients still use it. */
static void
leave(struct front_control *c, struct front_state *draft, uint32_t place, uint64_t now_ns)
{
	if (!front_control_config(c)->shared)
		front_report_owe_mt(report_of(c, place));
	probe(c, draft, place, front_control_config(c)->server_retry_timeout_ns);
	health_set(c, place, FRONT_HEALTH_AWAY);
	if (!has_gutter(c))
		c->quiet_ns = quiet_until(c, now_ns);
}

static bool
away_step(struct front_control *c, struct front_state *draft, uint32_t place, uint64_t now_ns)
{
	if (!is_probed(c, place))
		return false;
	if (owes(c, place))
		probe(c, draft, place, 0);
	else if (may_return(c, now_ns))
		health_set(c, place, FRONT_HEALTH_RETURNING);
	else
		return false;
	return true;
}

static void
return_to_use(struct front_control *c, uint32_t place, uint64_t now_ns)
{
	come_back(c, place);
	c->place[place].quiet_ns = quiet_until(c, now_ns);
	if (!has_gutter(c))
		c->quiet_ns = quiet_until(c, now_ns);
}

/* Advances one server. True if cores must get a new state. */
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

static void
publish(struct front_control *c, struct front_state *draft)
{
	const bool refuses = stand_ins_change(c);

	draft->special = draft->next->npoints != 0;
	for (uint32_t i = 0; i < draft->count; i++) {
		draft->condition[i] = condition_of(&c->place[i], refuses);
		draft->special |= draft->condition[i] != FRONT_PLACE_IN_USE;
		if (draft->condition[i] == FRONT_PLACE_IN_USE)
			draft->probe[i] = 0;
	}
	if (!has_gutter(c))
		stand_ring(c, draft);
	front_exchange_publish(c->exchange);
}

/* ---- reload ---- */

/* Assigns places to the servers of *to: that of the same server in *from, or a free one. */
static bool
places_assign(const struct front_servers *to, uint16_t *places, const struct front_servers *from,
	      const uint16_t *places_from, bool *taken, uint32_t room)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < to->count; i++) {
		const uint32_t k = front_servers_find(from, &to->server[i], &to->host[i]);

		if (k < from->count) {
			places[i] = places_from[k];
			continue;
		}
		while (next < room && taken[next])
			next++;
		if (next == room)
			return false;
		taken[next] = true;
		places[i] = (uint16_t)next;
	}
	return true;
}

static const struct ip_addr *
known_address(const struct front_control *c, const char *host)
{
	for (uint32_t i = 0; i < c->exchange->room; i++)
		if (c->place[i].health != FRONT_HEALTH_VACANT &&
		    strcmp(c->place[i].host->host, host) == 0)
			return &c->place[i].ip;
	return NULL;
}

/* Prepares the places of new servers; no state changes yet. */
static void
expect(struct front_control *c, const struct front_servers *servers, const uint16_t *places)
{
	for (uint32_t i = 0; i < servers->count; i++) {
		struct front_place *p = &c->place[places[i]];
		const struct ip_addr *known;

		if (p->health != FRONT_HEALTH_VACANT)
			continue;
		p->host = &servers->host[i];
		p->ip = (struct ip_addr){0};
		known = known_address(c, p->host->host);
		if (!front_host_address(p->host->host, &p->ip) && known != NULL)
			p->ip = *known;
	}
}

bool
front_control_reload(struct front_control *c, const struct front_config *config, uint64_t now_ns,
		     struct error *err)
{
	const struct front_membership *now = &c->membership[c->membership_now];
	struct front_membership *next = &c->membership[!c->membership_now];
	bool taken[FRONT_SERVERS_MAX] = {false};
	const uint32_t room = c->exchange->room;

	if (c->reloading)
		return error_set(err, "--front-servers: the last change is still under way; once "
				      "more, later");
	for (uint32_t i = 0; i < room; i++)
		taken[i] = c->place[i].health != FRONT_HEALTH_VACANT;
	next->config = config;
	if (!places_assign(&config->servers, next->server, &now->config->servers, now->server,
			   taken, room) ||
	    !places_assign(&config->gutter, next->gutter, &now->config->gutter, now->gutter, taken,
			   room))
		return error_set(err,
				 "--front-servers: more servers than there is room for, %u with "
				 "those of before; restart for so many",
				 room);
	expect(c, &config->servers, next->server);
	expect(c, &config->gutter, next->gutter);
	c->reloading = true;
	c->refusing = false;
	c->locate_ns = now_ns + FRONT_LOCATE_NS;
	return true;
}

/* Returns a new server whose name has no address yet; NULL: there is none. */
static const struct front_host *
not_located(const struct front_control *c)
{
	for (uint32_t i = 0; i < c->exchange->room; i++)
		if (c->place[i].health == FRONT_HEALTH_VACANT && c->place[i].host != NULL &&
		    ip_addr_is_zero(&c->place[i].ip))
			return c->place[i].host;
	return NULL;
}

static bool
may_begin(const struct front_control *c)
{
	return count_of(c, FRONT_HEALTH_LEAVING) == 0 && count_of(c, FRONT_HEALTH_MOVING) == 0 &&
	       count_of(c, FRONT_HEALTH_RETURNING) == 0 && not_located(c) == NULL;
}

/* Gives the reload up: its fleet would lack a server, and the present one has them all. */
static void
reload_refuse(struct front_control *c)
{
	c->reloading = false;
	if (c->refused != NULL)
		c->refused(c->arg, not_located(c));
	for (uint32_t i = 0; i < c->exchange->room; i++)
		if (c->place[i].health == FRONT_HEALTH_VACANT)
			c->place[i].host = NULL;
}

static void
newcomers_take(struct front_control *c, struct front_state *draft,
	       const struct front_servers *servers, const uint16_t *places, bool stands_in)
{
	for (uint32_t i = 0; i < servers->count; i++) {
		draft->server[places[i]] = servers->server[i];
		if (c->place[places[i]].health == FRONT_HEALTH_VACANT)
			place_take(c, draft, places[i], &servers->host[i], stands_in);
	}
}

/* Begins the reload. Keys of a server that is away may get another stand-in, so the server counts
 * as down until it leaves again. */
static void
reload_begin(struct front_control *c, struct front_state *draft)
{
	const struct front_membership *next = &c->membership[!c->membership_now];

	for (uint32_t i = 0; i < draft->count; i++)
		if (c->place[i].health == FRONT_HEALTH_AWAY) {
			c->place[i].failed = true;
			health_set(c, i, FRONT_HEALTH_DOWN);
		}
	newcomers_take(c, draft, &next->config->servers, next->server, false);
	newcomers_take(c, draft, &next->config->gutter, next->gutter, true);
	ring_of(next, draft->next, NULL);
	c->refusing = true;
}

static void
stay(struct front_control *c, const struct front_servers *servers, const uint16_t *places,
     bool *stays)
{
	for (uint32_t i = 0; i < servers->count; i++) {
		stays[places[i]] = true;
		c->place[places[i]].host = &servers->host[i];
	}
}

/* Has all servers flushed that gain keys, since they may hold those keys from an earlier time. */
static void
flush_gainers(struct front_control *c, struct front_state *draft)
{
	bool gain[FRONT_SERVERS_MAX] = {false};

	front_ring_gains(draft->ring, draft->next, gain);
	for (uint32_t i = 0; i < draft->count; i++) {
		if (!gain[i] || c->place[i].health == FRONT_HEALTH_VACANT)
			continue;
		front_report_owe_mt(report_of(c, i));
		if (c->place[i].health == FRONT_HEALTH_LIVE)
			go_down(c, draft, i, false);
	}
}

static void
reload_end(struct front_control *c, struct front_state *draft, uint64_t now_ns)
{
	const struct front_membership *next = &c->membership[!c->membership_now];
	bool stays[FRONT_SERVERS_MAX] = {false};

	if (next->config->reload_flushes)
		flush_gainers(c, draft);
	ring_of(next, draft->ring, NULL);
	draft->next->npoints = draft->stand->npoints = 0;
	stay(c, &next->config->servers, next->server, stays);
	stay(c, &next->config->gutter, next->gutter, stays);
	for (uint32_t i = 0; i < draft->count; i++)
		if (!stays[i]) {
			c->place[i].health = FRONT_HEALTH_VACANT;
			c->place[i].host = NULL;
			draft->probe[i] = 0;
		}
	c->membership_now = !c->membership_now;
	c->quiet_ns = quiet_until(c, now_ns);
	c->reloading = c->refusing = false;
	if (has_gutter(c))
		gutter_ring(&c->membership[c->membership_now], draft->stand);
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
	expect(c, &config->servers, members->server);
	expect(c, &config->gutter, members->gutter);
	newcomers_take(c, draft, &config->servers, members->server, false);
	newcomers_take(c, draft, &config->gutter, members->gutter, true);
	ring_of(members, draft->ring, NULL);
	if (has_gutter(c))
		gutter_ring(members, draft->stand);
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
	bool changed = draft != NULL && front_control_login_step(c, draft);

	if (draft == NULL)
		return;
	if (c->refusing) {
		reload_end(c, draft, now_ns);
		changed = true;
	} else if (c->reloading && may_begin(c)) {
		reload_begin(c, draft);
		changed = true;
	} else if (c->reloading && now_ns >= c->locate_ns && not_located(c) != NULL) {
		reload_refuse(c);
	}
	if (!changed)
		for (uint32_t i = 0; i < draft->count; i++)
			changed |= address_step(c, draft, i) || place_step(c, draft, i, now_ns);
	if (changed)
		publish(c, draft);
}
