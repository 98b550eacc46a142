/*
 * front_reload.c - replaces a fleet by another: new servers join; keys that move are refused; then
 * they have their new servers, and former servers hand them over for a time.
 */
#include "front_control_core.h"

#include "base/check.h"
#include "base/time_units.h"
#include "front_names.h"
#include "front_servers.h"

#include <string.h>

/* Returns the place of the departing server with this host; room: there is none. */
static uint32_t
departing_place(const struct front_control *c, const struct front_host *host)
{
	const uint32_t room = c->exchange->room;
	uint32_t i = 0;

	while (i < room &&
	       (c->place[i].health == FRONT_HEALTH_VACANT || !c->place[i].departs ||
		strcmp(c->departing[i].host, host->host) != 0 ||
		c->departing[i].port != host->port || c->departing[i].by_kernel != host->by_kernel))
		i++;
	return i;
}

/* Gives each server of *to a place: the one that it has in *from, the one of the same host that
 * departs, or a free one. False: there is no room. */
static bool
places_assign(const struct front_control *c, const struct front_servers *to, uint16_t *places,
	      const struct front_servers *from, const uint16_t *places_from, bool *taken)
{
	const uint32_t room = c->exchange->room;
	uint32_t next = 0;

	for (uint32_t i = 0; i < to->count; i++) {
		const uint32_t k = front_servers_find(from, &to->server[i], &to->host[i]);

		if (k < from->count) {
			places[i] = places_from[k];
			continue;
		}
		places[i] = (uint16_t)departing_place(c, &to->host[i]);
		if (places[i] < room)
			continue;
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

void
front_newcomers_expect(struct front_control *c, const struct front_servers *servers,
		       const uint16_t *places)
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
	if (!places_assign(c, &config->servers, next->server, &now->config->servers, now->server,
			   taken) ||
	    !places_assign(c, &config->gutter, next->gutter, &now->config->gutter, now->gutter,
			   taken))
		return error_set(err,
				 "--front-servers: more servers than there is room for, %u with "
				 "those of before; restart for so many",
				 room);
	front_newcomers_expect(c, &config->servers, next->server);
	front_newcomers_expect(c, &config->gutter, next->gutter);
	c->reloading = true;
	c->refusing = false;
	c->locate_ns = now_ns + FRONT_LOCATE_NS;
	return true;
}

/* Returns the host of a new server that has no address yet; NULL: all have one. */
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
	return front_places_count(c, FRONT_HEALTH_LEAVING) == 0 &&
	       front_places_count(c, FRONT_HEALTH_MOVING) == 0 &&
	       front_places_count(c, FRONT_HEALTH_RETURNING) == 0 && not_located(c) == NULL;
}

/* Gives the reload up, because a server of its fleet has no address. The present fleet stays. */
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

void
front_newcomers_take(struct front_control *c, struct front_state *draft,
		     const struct front_servers *servers, const uint16_t *places, bool stands_in)
{
	for (uint32_t i = 0; i < servers->count; i++) {
		draft->server[places[i]] = servers->server[i];
		c->place[places[i]].departs = false;
		if (c->place[places[i]].health == FRONT_HEALTH_VACANT)
			front_place_take(c, draft, places[i], &servers->host[i], stands_in);
	}
}

static void
vacate(struct front_control *c, struct front_state *draft, uint32_t place)
{
	c->place[place].health = FRONT_HEALTH_VACANT;
	c->place[place].host = NULL;
	draft->probe[place] = 0;
}

/* Ends hand-overs. False: an add is in progress; the cores' timeout ends it. */
static bool
warm_may_end(struct front_control *c)
{
	return !c->warming || front_warm_close(c->exchange->warm);
}

static void
warm_end(struct front_control *c, struct front_state *draft)
{
	draft->was->npoints = draft->before->npoints = 0;
	for (uint32_t i = 0; i < draft->count; i++)
		if (c->place[i].departs && c->place[i].health != FRONT_HEALTH_VACANT)
			vacate(c, draft, i);
	c->warming = false;
}

/* True if the server may have old values of keys that it is given. */
static bool
is_outdated(const struct front_control *c, uint32_t place)
{
	return c->place[place].outdated ||
	       atomic_exchange_explicit(&front_control_report(c, place)->outdated, false,
					memory_order_relaxed);
}

/* Makes a server flush its items before it is used. */
static void
flush_place(struct front_control *c, struct front_state *draft, uint32_t place)
{
	c->place[place].outdated = false;
	front_report_owe_mt(front_control_report(c, place));
	if (c->place[place].health == FRONT_HEALTH_LIVE)
		front_place_down(c, draft, place, false);
}

static void
join_place(struct front_control *c, struct front_state *draft, uint32_t place, bool flushes)
{
	c->place[place].joins = true;
	if (flushes)
		flush_place(c, draft, place);
	else
		front_place_down(c, draft, place, false);
}

/* Takes new servers into use without keys, so that they are connected, and flushed, before they get
 * keys. */
static void
join(struct front_control *c, struct front_state *draft, uint64_t now_ns)
{
	const struct front_membership *next = &c->membership[!c->membership_now];
	bool taken[FRONT_SERVERS_MAX] = {false};

	for (uint32_t i = 0; i < c->exchange->room; i++)
		taken[i] = c->place[i].health != FRONT_HEALTH_VACANT;
	front_newcomers_take(c, draft, &next->config->servers, next->server, false);
	front_newcomers_take(c, draft, &next->config->gutter, next->gutter, true);
	for (uint32_t i = 0; i < draft->count; i++)
		if (!taken[i] && c->place[i].health == FRONT_HEALTH_LIVE)
			join_place(c, draft, i, next->config->reload_flushes);
	c->joined = true;
	c->join_ns = now_ns + FRONT_LOCATE_NS;
}

static bool
all_joined(const struct front_control *c)
{
	for (uint32_t i = 0; i < c->exchange->room; i++)
		if (c->place[i].joins && c->place[i].health == FRONT_HEALTH_DOWN)
			return false;
	return true;
}

/* True if all new servers are ready for keys, or have had the time for it. */
static bool
may_refuse(const struct front_control *c, uint64_t now_ns)
{
	return c->exchange->warm == NULL || (c->joined && (now_ns >= c->join_ns || all_joined(c)));
}

/* Begins the reload's first step. A server that is away counts as down from now on, since its keys
 * may get another stand-in; it may leave again later. */
static void
reload_begin(struct front_control *c, struct front_state *draft)
{
	const struct front_membership *next = &c->membership[!c->membership_now];

	for (uint32_t i = 0; i < draft->count; i++)
		if (c->place[i].health == FRONT_HEALTH_AWAY) {
			c->place[i].failed = true;
			front_place_health(c, i, FRONT_HEALTH_DOWN);
		}
	front_newcomers_take(c, draft, &next->config->servers, next->server, false);
	front_newcomers_take(c, draft, &next->config->gutter, next->gutter, true);
	front_membership_ring(next, draft->next, NULL);
	/* Keys that this reload does not refuse may be settled while it is in progress. */
	c->chains = c->warming && c->stayed && front_warm_may_chain(c->exchange->warm);
	if (c->warming && !c->chains)
		warm_end(c, draft);
	if (c->exchange->warm != NULL)
		front_warm_prepare(c->exchange->warm);
	for (uint32_t i = 0; i < draft->count; i++)
		c->place[i].joins = false;
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

/* Makes those servers flush their items that gain keys and may have old values of them. */
static void
flush_gainers(struct front_control *c, struct front_state *draft)
{
	bool gain[FRONT_SERVERS_MAX] = {false};

	front_ring_gains(draft->ring, draft->next, gain);
	for (uint32_t i = 0; i < draft->count; i++)
		if (gain[i] && c->place[i].health != FRONT_HEALTH_VACANT && is_outdated(c, i))
			flush_place(c, draft, i);
}

/* Marks the servers that have lost keys: others write these keys from now on. */
static void
losers_mark(struct front_control *c, const struct front_ring *was, const struct front_ring *is)
{
	bool lost[FRONT_SERVERS_MAX] = {false};

	front_ring_gains(is, was, lost);
	for (uint32_t i = 0; i < c->exchange->room; i++)
		c->place[i].lost = lost[i];
}

/* Ends the time in which writes delete keys at servers that have lost them. */
static void
losers_end(struct front_control *c)
{
	for (uint32_t i = 0; i < c->exchange->room; i++) {
		c->place[i].outdated |= c->place[i].lost;
		c->place[i].lost = false;
	}
}

/* Begins to hand keys over. Servers that have left the fleet hand over theirs, too. */
static void
warm_begin(struct front_control *c, struct front_state *draft, uint64_t now_ns)
{
	front_warm_open(c->exchange->warm, c->chains);
	draft->before->npoints = 0;
	if (c->chains)
		front_exchange_ring_copy(draft->before, draft->was);
	front_exchange_ring_copy(draft->was, draft->ring);
	c->warm_ns = now_ns + front_control_config(c)->warm_ns;
	c->warming = true;
}

/* Keeps a server that leaves the fleet, until it has handed its keys over. Its host is copied, as
 * the former configuration may be freed sooner. */
static void
depart(struct front_control *c, uint32_t place)
{
	struct front_place *p = &c->place[place];

	c->departing[place] = *p->host;
	p->host = &c->departing[place];
	p->departs = true;
}

static void
reload_end(struct front_control *c, struct front_state *draft, uint64_t now_ns)
{
	const struct front_membership *next = &c->membership[!c->membership_now];
	bool stays[FRONT_SERVERS_MAX] = {false};

	if (next->config->reload_flushes)
		flush_gainers(c, draft);
	losers_end(c);
	losers_mark(c, draft->ring, draft->next);
	if (c->exchange->warm != NULL)
		warm_begin(c, draft, now_ns);
	else
		losers_end(c);
	front_membership_ring(next, draft->ring, NULL);
	draft->next->npoints = draft->stand->npoints = 0;
	stay(c, &next->config->servers, next->server, stays);
	stay(c, &next->config->gutter, next->gutter, stays);
	c->stayed = true;
	for (uint32_t i = 0; i < draft->count; i++) {
		c->stayed &= stays[i] || c->place[i].health == FRONT_HEALTH_VACANT;
		if (!stays[i] && c->warming && c->place[i].health == FRONT_HEALTH_LIVE)
			depart(c, i);
		else if (!stays[i])
			vacate(c, draft, i);
	}
	c->membership_now = !c->membership_now;
	c->quiet_ns = front_control_quiet_until(c, now_ns);
	c->reloading = c->refusing = c->joined = false;
	if (front_control_has_gutter(c))
		front_gutter_ring(&c->membership[c->membership_now], draft->stand);
}

bool
front_reload_step(struct front_control *c, struct front_state *draft, uint64_t now_ns)
{
	if (c->refusing) {
		reload_end(c, draft, now_ns);
		return true;
	}
	if (c->reloading && may_begin(c)) {
		if (c->exchange->warm != NULL && !c->joined) {
			join(c, draft, now_ns);
			return true;
		}
		if (!may_refuse(c, now_ns) || !warm_may_end(c))
			return false;
		reload_begin(c, draft);
		return true;
	}
	if (c->reloading && now_ns >= c->locate_ns && not_located(c) != NULL)
		reload_refuse(c);
	if (!c->warming || c->reloading || now_ns < c->warm_ns || !warm_may_end(c))
		return false;
	warm_end(c, draft);
	losers_end(c);
	return true;
}
