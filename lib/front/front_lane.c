/*
 * front_lane.c - a core's connection to a server: opened, probed, lost, and opened again.
 */
#include "front_core.h"

void
front_lane_create(struct front *f, struct front_lane *l, uint32_t server)
{
	l->front = f;
	l->state = LANE_DOWN;
	l->server = server;
	l->pause_ns = FRONT_REOPEN_NS;
	list_init(&l->event_link);
	list_init(&l->look_link);
	list_init(&l->send_link);
	list_init(&l->queue);
	list_init(&l->requests);
}

void
front_lane_event(struct front_lane *l, enum front_event event)
{
	l->events |= event;
	if (list_empty(&l->event_link))
		list_push_back(&l->front->events, &l->event_link);
}

bool
front_lane_refuses(const struct front_lane *l)
{
	return l->state != LANE_UP && l->failures >= l->front->cfg.failure_limit;
}

static void
due_at(struct front_lane *l, uint64_t ns)
{
	l->due_ns = ns;
	if (ns < l->front->due_ns)
		l->front->due_ns = ns;
}

/* Of a lane that is up, or is probed: the answer that it owes longest. */
uint64_t
front_lane_due(const struct front_lane *l)
{
	if (l->state == LANE_DOWN || l->state == LANE_CONNECTING)
		return l->due_ns;
	if (list_empty(&l->requests))
		return FRONT_NEVER;
	return front_lane_first(l)->sent_ns + l->front->cfg.timeout_ns;
}

/* ---- the end of a connection ---- */

static void
keys_fail(struct front *f, struct list *keys)
{
	while (!list_empty(keys))
		front_key_fail(f, container_of(keys->next, struct front_key, link));
}

static void
requests_fail(struct front_lane *l)
{
	while (!list_empty(&l->requests)) {
		struct front_request *r = front_lane_first(l);

		keys_fail(l->front, &r->keys);
		front_request_free(l->front, r);
	}
	l->request_count = 0;
	front_look_end(l);
}

static void
connection_end(struct front_lane *l)
{
	struct front *f = l->front;

	if (l->conn != NULL) {
		f->lane_of_slot[conn_slot(l->conn)] = 0;
		serve_link_abort(f->serve, l->conn);
	}
	l->conn = NULL;
	l->sending = NULL;
	l->events = 0;
	list_unlink(&l->event_link);
	list_unlink(&l->send_link);
	l->state = LANE_DOWN; /* before: what waits for a flight is queued when that has failed */
	requests_fail(l);
	l->line_len = 0;
}

static uint64_t
pause_next(const struct front_lane *l)
{
	const uint64_t longer = l->pause_ns + l->pause_ns / 2,
		       most = l->front->cfg.retry_timeout_ns;

	return longer < most ? longer : most;
}

void
front_lane_failed(struct front_lane *l, enum front_counter why)
{
	struct front *f = l->front;

	front_count(f, why);
	connection_end(l);
	l->failures++;
	if (l->failures < f->cfg.failure_limit) {
		due_at(l, f->now_ns);
		return;
	}
	keys_fail(f, &l->queue);
	due_at(l, f->now_ns + l->pause_ns);
	l->pause_ns = pause_next(l);
}

/* It ended while nothing was asked, as servers end what is idle. */
static void
closed_idle(struct front_lane *l)
{
	struct front *f = l->front;

	if (f->now_ns - l->up_ns < FRONT_STABLE_NS) {
		front_lane_failed(l, FRONT_SERVER_CLOSED);
		return;
	}
	front_count(f, FRONT_SERVER_CLOSED);
	connection_end(l);
	due_at(l, f->now_ns);
}

void
front_lane_moved(struct front_lane *l)
{
	connection_end(l);
	front_lane_good(l);
	due_at(l, l->front->now_ns);
}

/* ---- its begin ---- */

static void
open_connection(struct front_lane *l)
{
	struct front *f = l->front;
	const struct front_address *server = &f->addresses[l->server];
	const struct conn_target to = {.ip = server->ip, .port = server->port};

	if (!ip_addr_is_zero(&server->ip))
		l->conn = serve_link_open(f->serve, &to);
	if (l->conn == NULL) {
		front_lane_failed(l, FRONT_CONNECT_FAILED);
		return;
	}
	f->lane_of_slot[conn_slot(l->conn)] = (uint32_t)(l - f->lanes) + 1;
	l->state = LANE_CONNECTING;
	due_at(l, f->now_ns + f->cfg.connect_timeout_ns);
}

static void
opened(struct front_lane *l)
{
	front_count(l->front, FRONT_CONNECTED);
	/* Replies are read in the turn in which they come, however many requests wait. */
	conn_expect(l->conn, UINT64_MAX);
	l->written = 0;
	l->state = LANE_PROBING;
	front_lane_probe(l);
}

void
front_lane_probed(struct front_lane *l, bool meta)
{
	l->state = LANE_UP;
	l->meta = meta;
	l->up_ns = l->front->now_ns;
	if (!list_empty(&l->queue))
		list_push_back(&l->front->unsent, &l->send_link);
	front_lane_send(l);
}

/* ---- events and times ---- */

void
front_lane_events(struct front_lane *l)
{
	const uint32_t events = l->events;

	l->events = 0;
	list_unlink(&l->event_link);
	if (events & EVENT_LOST)
		front_lane_failed(l, l->state == LANE_CONNECTING ? FRONT_CONNECT_FAILED
								 : FRONT_SERVER_CLOSED);
	else if (events & EVENT_OPENED)
		opened(l);
	else if (l->state == LANE_UP && list_empty(&l->requests) && conn_peek(l->conn).len != 0)
		front_lane_failed(l, FRONT_SERVER_BROKEN);
	else if (l->state == LANE_UP && list_empty(&l->requests) && conn_eof(l->conn))
		closed_idle(l);
}

void
front_lane_on_time(struct front_lane *l)
{
	switch (l->state) {
	case LANE_DOWN:
		open_connection(l);
		break;
	case LANE_CONNECTING:
		front_lane_failed(l, FRONT_CONNECT_FAILED);
		break;
	default:
		front_lane_failed(l, FRONT_SERVER_LATE);
	}
}
