/*
 * front_relay.c - relays a long value: it leaves to its client while it arrives, if no other client
 * waits for it and no copy is made. Its memory is taken as for any value, so a slow client does not
 * hold up the lane.
 */
#include "front_cache.h"

struct backend_answer
front_answer_of(const struct front_reply *r)
{
	return (struct backend_answer){
		.cas = r->cas,
		.won = (r->meta & FRONT_META_WIN) != 0,
		.stale = (r->meta & FRONT_META_STALE) != 0,
		.sent = (r->meta & FRONT_META_WON) != 0,
		.fetched = r->hit != 0,
		.idle_s = r->last_access_s,
		.ttl_s = (r->meta & FRONT_META_TTL) != 0 ? r->ttl_s : -1,
		.size = r->size,
		.client_flags = r->client_flags,
		.number = r->number,
	};
}

/* Returns the number by which backend.h names this lane's arrival: a lane has one at a time. */
static uint32_t
number_of(const struct front_lane *l)
{
	return (uint32_t)(l - l->front->lanes) + 1;
}

/* True if only the request's client will have the value, and will have it next. */
static bool
may_relay(const struct front_lane *l, const struct front_request *request)
{
	return request->wanted && request->fill.item != NULL &&
	       request->fill.value_len >= FRONT_RELAY_MIN && request->lease == 0 &&
	       request->coalesced.successor == NULL && list_empty(&request->coalesced.followers) &&
	       backend_is_next(l->front->serve, request->ticket);
}

/* Answers the request with an item that is not complete. The lane counts as a user of the answer
 * until the value has arrived. */
static void
relay_begin(struct front_lane *l, struct front_request *request)
{
	struct front *f = l->front;
	struct backend_answer answer = front_answer_of(&l->reply);

	request->answer = request->fill.item;
	answer.item = request->answer;
	answer.arrival = number_of(l);
	front_cache_value(l, request);
	backend_arrival_begin(f->serve, number_of(l), request->ticket);
	front_request_answer(f, request, &answer);
	request->users++;
	front_count(f, FRONT_RELAYED);
	l->relayed = request;
	l->relay_bytes = 0;
	l->relay_parts += request->fill.value_len / FRONT_MOVES_BYTES;
}

void
front_relay(struct front_lane *l)
{
	struct front_request *request = l->requests[l->reply.key];
	uint32_t here;

	if (l->relayed == NULL && !may_relay(l, request))
		return;
	if (l->relayed == NULL)
		relay_begin(l, request);
	/* The last byte may leave only once the line end behind it has arrived. */
	here = request->fill.filled < request->fill.value_len ? request->fill.filled
							      : request->fill.value_len - 1;
	if (here - l->relay_bytes < FRONT_RELAY_STEP)
		return;
	l->relay_bytes = here;
	backend_arrival_goes_on(l->front->serve, number_of(l), here);
}

static void
relay_over(struct front_lane *l)
{
	struct front_request *request = l->relayed;

	l->relayed = NULL;
	front_request_unuse(l->front, request);
}

void
front_relay_end(struct front_lane *l)
{
	backend_arrival_end(l->front->serve, number_of(l));
	relay_over(l);
}

void
front_relay_lost(struct front_lane *l)
{
	if (l->relayed == NULL)
		return;
	front_count(l->front, FRONT_RELAYS_LOST);
	backend_arrival_lost(l->front->serve, number_of(l));
	relay_over(l);
}
