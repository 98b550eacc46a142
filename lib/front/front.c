/*
 * front.c - a backend (backend.h): finds the lane of each request, and does a turn's work.
 */
#include "front_handover.h"

#define OPENS_PER_TURN 64u /* lanes opened, or reset because they are late, in a turn */

const struct counter_name front_counter_names[FRONT_COUNTER_COUNT] = {FRONT_COUNTERS(COUNTER_NAME)};

/* ---- requests ---- */

/* Takes a free request for ask, and counts it. NULL: it is refused. */
static struct front_request *
request_take(struct front *f, struct front_lane *l, const struct backend_ask *ask)
{
	struct front_request *request =
		l == NULL || front_lane_refuses(l) ? NULL : front_request_take(f, l, ask);

	front_count(f, FRONT_ASKED);
	if (request == NULL) {
		front_request_failed(f, l != NULL ? l : &f->lanes[ask->lane]);
		front_count(f, FRONT_REFUSED);
		return NULL;
	}
	if (unlikely(l != &f->lanes[ask->lane]) && ask->key.len != 0) {
		front_request_use_more(request);
		front_query_stand_in(f, request);
	}
	return request;
}

/* Begins a server's part of a flush. If the server gets no request, it keeps items that the flush
 * should have removed, and owes a flush. The flush fails without it, unless the server is away. */
static void
flush_part(struct front *f, struct front_lane *l, struct front_request *whole,
	   const struct backend_ask *ask)
{
	const bool in_use = l->condition == FRONT_PLACE_IN_USE;
	struct front_request *part;

	if (l->condition == FRONT_PLACE_VACANT)
		return;
	part = in_use ? request_take(f, l, ask) : NULL;
	if (part == NULL) {
		if (!in_use || front_lane_refuses(l))
			front_report_owe_mt(l->report);
		whole->missed |= l->condition != FRONT_PLACE_AWAY;
		return;
	}
	part->whole = whole;
	part->wanted = false;
	whole->parts++;
	front_request_queue(f, part);
}

/* Begins the flush at every server, on the first of its lanes. */
static void
flush_parts(struct front *f, struct front_request *whole)
{
	const struct mc_req req = {.verb = whole->query.verb, .exptime = whole->query.exptime};
	const struct backend_ask ask = {.ticket = whole->ticket,
					.hash = whole->hash,
					.key = front_request_key(whole),
					.req = &req,
					.lane = whole->asked_lane};

	whole->parts = 1; /* this function's own */
	for (uint32_t i = 0; i < f->lane_count; i += f->cfg.connections)
		flush_part(f, &f->lanes[i], whole, &ask);
	f->by_slot[backend_ticket_slot(whole->ticket)] = whole;
	front_part_end(f, whole);
}

/* Flushes the store, once for all pending flushes. False: they wait, because adds of hand-overs are
 * in progress, or because the store's sweep must end before it can flush again. */
static bool
flush_store(struct front *f)
{
	return (likely(!f->state->special) || front_handover_flush(f)) &&
	       copies_flush(&f->copies, serve_now_s(f->serve));
}

/* Begins those of the waiting writes and flushes that may begin now. */
static void
waiting_look(struct front *f)
{
	bool asked = false, may_flush = false;
	struct list all;

	list_init(&all);
	list_move_front(&f->waiting, f->waiting.prev, &all);
	while (!list_empty(&all)) {
		struct front_request *request =
			container_of(list_pop_front(&all), struct front_request, link);

		if (!front_verb_flushes(request->query.verb)) {
			front_write_queue(f, request);
			continue;
		}
		may_flush = asked ? may_flush : flush_store(f);
		asked = true;
		if (may_flush)
			flush_parts(f, request);
		else
			list_push_back(&f->waiting, &request->link);
	}
}

static void
flush(struct front *f, const struct backend_ask *ask)
{
	struct front_request *whole = front_request_take(f, &f->lanes[ask->lane], ask);

	if (whole == NULL) {
		front_ticket_complete(f, ask->ticket, true);
		return;
	}
	front_cache_flush(f, whole);
	list_push_back(&f->waiting, &whole->link);
	waiting_look(f);
}

static void
write_ask(struct front *f, const struct backend_ask *ask)
{
	struct fill own = ask->value != NULL ? *ask->value : (struct fill){0};
	struct front_request *request;

	if (front_verb_flushes(ask->req->verb)) {
		flush(f, ask);
		return;
	}
	request = request_take(f, front_route(f, ask), ask);
	if (request != NULL) {
		request->fill = own;
		request->writes = ask->value != NULL;
		if (!front_set_follow(f, request))
			front_write_queue(f, request);
		return;
	}
	front_ticket_complete(f, ask->ticket, true);
	if (ask->value == NULL)
		return;
	store_abandon(f->store, &own);
	backend_value_end(f->serve, ask->lane, own.value_len);
}

/* Begins a request. A get of a key that is being requested follows that request; all others are
 * queued. */
static FLAT void
ask(void *arg, const struct backend_ask *ask)
{
	struct front *f = arg;
	struct front_request *request;
	struct front_lane *l;

	if (ask->kind == BACKEND_ASK_WRITE) {
		write_ask(f, ask);
		return;
	}
	l = front_route(f, ask);
	if (copies_enabled(&f->copies) && l != NULL && !ask->behind && front_read_follow(f, l, ask))
		return;
	request = request_take(f, l, ask);
	if (request == NULL) {
		front_ticket_complete(f, ask->ticket, true);
		return;
	}
	front_cache_asked(f, request);
	front_request_queue(f, request);
}

/* Queues a delete of the key to its server, before this client's later requests on the same
 * lane. */
static void
drop(void *arg, struct view name, uint64_t hash)
{
	static const struct mc_req req = {.verb = MC_BIN_DELETE};
	struct front *f = arg;
	const struct backend_ask ask = {.ticket = FRONT_TICKET_NONE,
					.hash = hash,
					.key = name,
					.req = &req,
					.lane = front_lane_of(f, name, hash),
					.kind = BACKEND_ASK_WRITE};
	struct front_request *request = request_take(f, front_route(f, &ask), &ask);

	front_count(f, FRONT_DROPS);
	if (request == NULL) {
		front_count(f, FRONT_DROPS_FAILED);
		return;
	}
	request->wanted = false;
	coalesce_close(&f->coalesce, &request->coalesced.key);
	front_write_queue(f, request);
}

/* Sends queued requests. A lane that cannot send all of its requests now stays in the list, at the
 * end. */
static void
send(void *arg)
{
	struct front *f = arg;
	struct list later;

	list_init(&later);
	while (!list_empty(&f->unsent)) {
		struct front_lane *l = container_of(f->unsent.next, struct front_lane, send_link);

		front_lane_send(l);
		if (list_empty(&l->send_link))
			continue;
		list_unlink(&l->send_link);
		list_push_back(&later, &l->send_link);
	}
	while (!list_empty(&later))
		list_push_back(&f->unsent, list_pop_front(&later));
}

static void
forget(void *arg, uint64_t ticket)
{
	struct front *f = arg;
	struct front_request *request = f->by_slot[backend_ticket_slot(ticket)];

	if (request == NULL || request->ticket != ticket)
		return;
	request->wanted = false;
	f->by_slot[backend_ticket_slot(ticket)] = NULL;
	/* The request must stay while it is sent and not answered, while it has parts, and while
	 * others follow it. */
	if (!request->sent && request->parts == 0 && list_empty(&request->coalesced.followers))
		front_request_free(f, request);
}

static bool
is_coming(void *arg, uint64_t ticket)
{
	const struct front *f = arg;
	const struct front_request *request = f->by_slot[backend_ticket_slot(ticket)];

	return request != NULL && request->ticket == ticket && front_request_is_coming(request);
}

static FLAT void
release(void *arg, uint64_t ticket, const struct item *item)
{
	struct front *f = arg;
	struct front_request *request = f->by_slot[backend_ticket_slot(ticket)];

	ensure(request != NULL && request->ticket == ticket);
	ensure((request->used_more && request->owner != NULL ? request->owner : request)->answer ==
	       item);
	front_request_release(f, request);
}

/* ---- a turn ---- */

static void
stats_look(struct front *f)
{
	const uint32_t resets = atomic_load_explicit(&f->stats->resets, memory_order_relaxed);

	if (likely(resets == f->resets))
		return;
	f->resets = resets;
	front_counts_reset(f->counts, &f->peer_counts, f->cfg.servers);
}

/* Handles all events. Each lane is in the list at most once. */
static void
events_look(struct front *f)
{
	while (!list_empty(&f->events))
		front_lane_events(container_of(f->events.next, struct front_lane, event_link));
}

/* Handles lanes that are due, a limited number in a turn, and computes when the next one is due. */
static void
due_look(struct front *f)
{
	uint32_t acts = 0;

	f->due_ns = FRONT_NEVER;
	for (uint32_t i = 0; i < f->lane_count; i++) {
		struct front_lane *l = &f->lanes[(f->opening + i) % f->lane_count];

		if (front_lane_due(l) <= f->now_ns && acts++ < OPENS_PER_TURN)
			front_lane_on_time(l);
		front_lane_due_note(l);
	}
	f->opening = (f->opening + OPENS_PER_TURN) % f->lane_count;
}

static void
replies_look(struct front *f)
{
	const uint32_t looks = f->look_count < FRONT_LOOKS ? f->look_count : FRONT_LOOKS;
	uint32_t left = FRONT_READ_TURN;

	f->more = f->look_count > looks;
	for (uint32_t i = 0; i < looks && !list_empty(&f->looks); i++) {
		struct front_lane *l = container_of(f->looks.next, struct front_lane, look_link);
		const uint32_t visit = left < FRONT_READ_VISIT ? left : FRONT_READ_VISIT;
		uint32_t bytes = visit;

		if (left == 0 || !front_may_answer(f)) {
			f->more = true;
			return;
		}
		list_unlink(&l->look_link);
		list_push_back(&f->looks, &l->look_link);
		front_lane_read(l, &bytes);
		left -= visit - bytes;
	}
}

static inline void
landed_look(struct front *f)
{
	if (!list_empty(&f->landed))
		front_followers_complete(f);
}

static void
poll(void *arg, uint64_t turn_ns)
{
	struct front *f = arg;
	const uint64_t now_ns =
		f->cfg.clock_ns != NULL ? f->cfg.clock_ns(f->cfg.clock_arg) : turn_ns;

	f->now_ns = now_ns;
	f->answers = 0;
	front_fleet_look(f);
	stats_look(f);
	if (unlikely(!list_empty(&f->events)))
		events_look(f);
	front_cache_turn(f);
	if (unlikely(!list_empty(&f->waiting)))
		waiting_look(f);
	if (unlikely(f->completed_head != f->completed_tail))
		front_complete(f);
	landed_look(f);
	f->more = false;
	if (f->look_count != 0)
		replies_look(f);
	landed_look(f);
	if (unlikely(now_ns >= f->due_ns))
		due_look(f);
	if (unlikely(!list_empty(&f->unsent)))
		send(f);
	if (unlikely(f->peers != NULL))
		peers_send(f->peers, now_ns);
}

static uint64_t
next_ns(void *arg)
{
	const struct front *f = arg;
	const bool now = f->more || !list_empty(&f->events) || !list_empty(&f->landed) ||
			 !list_empty(&f->waiting) || f->completed_head != f->completed_tail;

	const uint64_t peers_ns = peers_next_ns(f->peers, f->now_ns);

	return now ? 0 : peers_ns < f->due_ns ? peers_ns : f->due_ns;
}

static bool
row(void *arg, uint32_t n, struct serve_row *row)
{
	struct front *f = arg;

	f->shown.names = f->state;
	f->shown.fence = f->copies.unfenced_until_s != 0;
	return front_stats_row(f->stats, &f->shown, n, row);
}

static void
reset(void *arg)
{
	const struct front *f = arg;

	front_stats_reset_mt(f->stats);
}

/* ---- creation ---- */

static uint32_t
lanes_of(const struct front_settings *settings)
{
	return settings->servers * settings->connections;
}

size_t
front_bytes(const struct front_settings *settings)
{
	return sizeof(struct front) + lanes_of(settings) * sizeof(struct front_lane) +
	       settings->conns_max * sizeof(uint32_t) +
	       settings->servers *
		       (sizeof(struct front_address) + sizeof(struct front_server_counts)) +
	       peers_bytes(&settings->peers) + backend_bytes() + 6 * CACHE_LINE_BYTES;
}

static void
pools_create(struct front *f)
{
	for (uint32_t i = FRONT_REQUESTS; i-- > 0;) {
		list_init(&f->request_pool[i].link);
		list_init(&f->request_pool[i].coalesced.followers);
		f->requests_free[f->requests_left++] = &f->request_pool[i];
	}
	for (uint32_t i = FRONT_BATCHES; i-- > 0;) {
		list_init(&f->batch_pool[i].link);
		f->batches_free[f->batches_left++] = &f->batch_pool[i];
	}
}

static void
attach(struct front *f, struct region *region)
{
	struct backend backend = {
		.arg = f,
		.mode = BACKEND_WRITES,
		.misses_on_failure = f->cfg.misses_on_failure,
		.lanes = f->lane_count,
		.timeout_ns = f->cfg.timeout_ns,
		.ask = ask,
		.send = send,
		.poll = poll,
		.forget = forget,
		.release = release,
		.lane = front_lane_of,
		.is_coming = is_coming,
		.follows = front_follows,
		.next_ns = next_ns,
		.copies.drop = drop,
	};
	const struct serve_rows rows = {
		.arg = f, .mode = BACKEND_WRITES, .row = row, .reset = reset};

	front_cache_attach(f, &backend.copies);
	backend_attach(region, f->serve, &backend);
	serve_rows_attach(f->serve, &rows);
	front_links_attach(f, region);
}

struct front *
front_create(struct region *region, const struct front_settings *settings, struct serve *sv,
	     struct stack *stack, struct store_core *store)
{
	struct front *f = region_take(region, sizeof *f, CACHE_LINE_BYTES);

	ensure(settings->servers > 0 && settings->connections > 0 &&
	       lanes_of(settings) <= BACKEND_LANES_MAX && settings->failure_limit > 0);
	f->cfg = *settings;
	f->serve = sv;
	f->stack = stack;
	f->store = store;
	front_cache_begin(f);
	f->lane_count = lanes_of(settings);
	list_init(&f->events);
	list_init(&f->looks);
	list_init(&f->unsent);
	list_init(&f->landed);
	list_init(&f->waiting);
	pools_create(f);
	f->lanes = region_take(region, f->lane_count * sizeof *f->lanes, CACHE_LINE_BYTES);
	f->addresses =
		region_take(region, settings->servers * sizeof *f->addresses, CACHE_LINE_BYTES);
	f->lane_of_slot =
		region_take(region, settings->conns_max * sizeof(uint32_t), CACHE_LINE_BYTES);
	f->counts = region_take(region, settings->servers * sizeof *f->counts, CACHE_LINE_BYTES);
	f->stats = settings->stats != NULL ? settings->stats : &f->own_stats;
	front_stats_attach(f->stats, f->counts, &f->peer_counts, settings->servers);
	f->shown.exchange = settings->fleet;
	f->shown.links = settings->connections;
	f->shown.copies = copies_enabled(&f->copies);
	f->shown.copy_ns = settings->copy_ns;
	for (uint32_t i = 0; i < f->lane_count; i++)
		front_lane_create(f, &f->lanes[i], i / settings->connections);
	attach(f, region);
	return f;
}

/* ---- telemetry ---- */

struct front_lane_info
front_lane_info(const struct front *f, uint32_t lane)
{
	const struct front_lane *l = &f->lanes[lane];

	return (struct front_lane_info){.state = l->state,
					.meta = l->meta,
					.requests = l->request_count,
					.batches = l->batch_count,
					.failures = l->failures};
}

uint32_t
front_requests_open(const struct front *f)
{
	return FRONT_REQUESTS - f->requests_left;
}

const struct counter *
front_counters(const struct front *f)
{
	return f->counters;
}
