/*
 * front_route.c - applies the fleet's state to lanes once a turn, and finds the lane of a stand-in.
 */
#include "front_handover.h"

static void
lane_look(struct front *f, struct front_lane *l, const struct front_state *now)
{
	const struct front_address *is = &now->address[l->server];
	const struct front_address *was = &f->addresses[l->server];
	const uint32_t probe = now->probe[l->server];

	if (!ip_addr_equal(&is->ip, &was->ip) || is->port != was->port ||
	    is->by_kernel != was->by_kernel) {
		l->fence.moved |= !ip_addr_is_zero(&was->ip);
		front_lane_moved(l);
		front_fence_moved(l);
	}
	front_lane_condition(l, l->server < now->count ? now->condition[l->server]
						       : FRONT_PLACE_VACANT);
	if (probe != l->probe && front_lane_probes(l))
		front_lane_reprobe(l, probe, now->pause_ms[l->server] * 1000000ull);
}

static void
state_take(struct front *f, const struct front_state *now)
{
	ensure(now->count <= f->cfg.servers);
	f->generation = now->generation;
	f->settled = false;
	for (uint32_t i = 0; i < f->lane_count; i++)
		lane_look(f, &f->lanes[i], now);
	memcpy(f->addresses, now->address, f->cfg.servers * sizeof *f->addresses);
	copies_connection_opened(&f->copies);
}

void
front_fleet_look(struct front *f)
{
	const struct front_state *now = front_exchange_turn_mt(f->cfg.fleet);

	f->ring = now->ring;
	f->state = now;
	if (unlikely(now->generation != f->generation))
		state_take(f, now);
	if (likely(f->settled) || f->open[(f->generation - 1) & 1] != 0)
		return;
	front_exchange_settled_mt(f->cfg.fleet, f->cfg.core, now);
	f->settled = true;
}

static NOT_FLAT struct front_lane *
route_special(struct front *f, const struct backend_ask *ask)
{
	const struct front_state *s = f->state;
	struct front_lane *home = &f->lanes[ask->lane];
	uint32_t to;

	if (s->was->npoints != 0 && ask->kind == BACKEND_ASK_WRITE)
		front_handover_written(f, ask);
	if (s->condition[home->server] == FRONT_PLACE_IN_USE)
		return s->next->npoints == 0 || front_ring_server(s->next, ask->key) == home->server
			       ? home
			       : NULL;
	if (s->condition[home->server] != FRONT_PLACE_AWAY || s->stand->npoints == 0)
		return NULL;
	to = front_ring_server(s->stand, ask->key);
	if (s->condition[to] != FRONT_PLACE_IN_USE)
		return NULL;
	return home + ((ptrdiff_t)to - home->server) * f->cfg.connections;
}

struct front_lane *
front_route(struct front *f, const struct backend_ask *ask)
{
	return likely(!f->state->special) ? &f->lanes[ask->lane] : route_special(f, ask);
}

uint32_t
front_lane_of(void *arg, struct view key, uint64_t hash)
{
	const struct front *f = arg;
	const uint32_t server = front_ring_server(f->ring, key);

	return server * f->cfg.connections + (uint32_t)(hash >> 32) % f->cfg.connections;
}

/* True if a request may be sent behind the one of `ticket`: only if that one is in the queue of the
 * lane that the new one takes, which sends in order. A request that follows another is queued
 * later, and a key that moves changes its lane. */
bool
front_follows(void *arg, uint64_t ticket, struct view key, uint64_t hash)
{
	struct front *f = arg;
	const struct front_request *earlier = f->by_slot[backend_ticket_slot(ticket)];
	const struct backend_ask ask = {
		.hash = hash, .key = key, .lane = front_lane_of(f, key, hash)};

	if (earlier == NULL || earlier->ticket != ticket)
		/* The earlier request has failed; its client is answered in the next turn. */
		return true;
	return earlier->queued && earlier->lane == front_route(f, &ask);
}

void
front_query_stand_in(struct front *f, struct front_request *request)
{
	front_query_cut(&request->query, f->cfg.gutter_ttl_s, serve_unix_s(f->serve));
}
