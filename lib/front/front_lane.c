/*
 * front_lane.c - a core's connection to a server: opens, probes, loses and reopens it.
 */
#include "front_core.h"

void
front_lane_create(struct front *f, struct front_lane *l, uint32_t server)
{
	l->front = f;
	l->counts = &f->counts[server];
	l->state = LANE_DOWN;
	l->server = server;
	l->report = &f->cfg.fleet->report[server];
	l->pause_ns = FRONT_REOPEN_NS;
	l->pause_max_ns = f->cfg.retry_timeout_ns;
	l->fence.ask_ns = FRONT_NEVER;
	list_init(&l->event_link);
	list_init(&l->look_link);
	list_init(&l->send_link);
	list_init(&l->queue);
	list_init(&l->batches);
}

void
front_lane_event(struct front_lane *l, enum front_event event)
{
	l->events |= event;
	if (list_empty(&l->event_link))
		list_push_back(&l->front->events, &l->event_link);
}

bool
front_lane_probes(const struct front_lane *l)
{
	const struct front *f = l->front;
	const uint32_t lane = (uint32_t)(l - f->lanes);

	return lane % f->cfg.connections == 0 && l->server % f->cfg.fleet->cores == f->cfg.core;
}

static void
due_at(struct front_lane *l, uint64_t ns)
{
	l->due_ns = ns;
	if (ns < l->front->due_ns)
		l->front->due_ns = ns;
}

/* Returns the time from which the timeout of the first batch's answer runs. */
static uint64_t
awaited_ns(const struct front_lane *l)
{
	const uint64_t sent_ns = front_lane_first(l)->sent_ns;

	return sent_ns > l->excused_ns ? sent_ns : l->excused_ns;
}

/* Returns when the lane is due. With open batches that is the deadline of the first one, or of the
 * fence if that is sooner. */
uint64_t
front_lane_due(const struct front_lane *l)
{
	const uint64_t timeout_ns = l->front->cfg.timeout_ns;
	uint64_t late_ns, slow_ns;

	if (l->state == LANE_DOWN || l->state == LANE_CONNECTING)
		return l->due_ns;
	if (list_empty(&l->batches))
		return l->fence.ask_ns;
	late_ns = awaited_ns(l);
	slow_ns = late_ns + (FRONT_SLOW_MAX + l->relay_parts - 1) * timeout_ns;
	if (l->moved_ns > late_ns)
		late_ns = l->moved_ns < slow_ns ? l->moved_ns : slow_ns;
	late_ns += timeout_ns;
	return l->fence.ask_ns < late_ns ? l->fence.ask_ns : late_ns;
}

/* Called where a lane's due time may come sooner. One that comes later is found at the earlier
 * time. */
void
front_lane_due_note(const struct front_lane *l)
{
	const uint64_t due_ns = front_lane_due(l);

	if (due_ns < l->front->due_ns)
		l->front->due_ns = due_ns;
}

/* True if the lane is reading this request's value, or that of the leader whose answer this request
 * will use. An unqueued request of the same key uses the leader's answer unless the leader has a
 * successor. */
static bool
is_read_now(const struct front_lane *l, const struct front_request *request)
{
	const struct front_request *read =
		l->reading == READING_LINE ? NULL : l->requests[l->reply.key];

	return read != NULL &&
	       (read == request || (!request->queued && request->hash == read->hash &&
				    read->coalesced.successor == NULL));
}

bool
front_request_is_coming(const struct front_request *request)
{
	const struct front_lane *l = request->lane;
	const struct front *f = l->front;
	const uint64_t timeout_ns = f->cfg.timeout_ns;

	if (l->state != LANE_UP || !is_read_now(l, request))
		return false;
	return l->reading == READING_BEGIN ||
	       (f->now_ns - l->moved_ns < timeout_ns &&
		(list_empty(&l->batches) ||
		 f->now_ns - awaited_ns(l) < FRONT_SLOW_MAX * timeout_ns));
}

/* ---- the end of a connection ---- */

static void
requests_fail(struct front *f, struct list *keys)
{
	while (!list_empty(keys))
		front_request_fail(f, container_of(keys->next, struct front_request, link));
}

static void
batches_fail(struct front_lane *l)
{
	while (!list_empty(&l->batches)) {
		struct front_batch *batch = front_lane_first(l);

		requests_fail(l->front, &batch->requests);
		front_batch_free(l->front, batch);
	}
	l->batch_count = 0;
	front_look_end(l);
}

static void
connection_end(struct front_lane *l)
{
	struct front *f = l->front;

	if (l->state == LANE_UP) {
		front_server_add(l->counts, FRONT_SERVER_ENDED);
		front_fence_down(l);
	}
	if (l->conn != NULL) {
		f->lane_of_slot[conn_slot(l->conn)] = 0;
		serve_link_abort(f->serve, l->conn);
	}
	l->conn = NULL;
	l->sending = NULL;
	l->events = 0;
	list_unlink(&l->event_link);
	list_unlink(&l->send_link);
	/* Before the requests fail: so the successor of one that fails is queued. */
	l->state = LANE_DOWN;
	batches_fail(l);
	front_fence_lost(l);
	l->line_len = 0;
	front_relay_lost(l);
}

/* Lets the lane pause before it is opened. The next pause will be half as long again. */
static void
pause(struct front_lane *l)
{
	const uint64_t longer = l->pause_ns + l->pause_ns / 2;

	due_at(l, l->front->now_ns + l->pause_ns);
	l->pause_ns = longer < l->pause_max_ns ? longer : l->pause_max_ns;
}

/* Counts a failure of the lane's server. */
static void
count_failure(struct front_lane *l)
{
	const uint32_t all = front_report_failure_mt(l->report, l->opened_ns, l->front->now_ns);

	l->failures++;
	if (l->failures < all)
		l->failures = all;
}

static enum front_failure
failure_of(const struct front_lane *l, enum front_counter why)
{
	switch (why) {
	case FRONT_CONNECT_FAILED:
		return l->connect_failure;
	case FRONT_SERVER_LATE:
		return FRONT_FAILURE_LATE;
	case FRONT_SERVER_BROKEN:
		return FRONT_FAILURE_BROKEN;
	case FRONT_LOGIN_REFUSED:
		return l->logs_in ? FRONT_FAILURE_LOGIN : FRONT_FAILURE_NO_LOGIN;
	default:
		return FRONT_FAILURE_CLOSED;
	}
}

void
front_lane_failed(struct front_lane *l, enum front_counter why)
{
	struct front *f = l->front;

	front_count(f, why);
	front_server_add(l->counts, why == FRONT_SERVER_LATE     ? FRONT_SERVER_TIMEDOUT
				    : why == FRONT_SERVER_CLOSED ? FRONT_SERVER_EOF
								 : FRONT_SERVER_ERR);
	/* The control thread reads the reason when it sees the count. It may read the reason of an
	 * earlier failure, which does no harm. */
	atomic_store_explicit(&l->report->why, (uint8_t)failure_of(l, why), memory_order_relaxed);
	connection_end(l);
	if (l->condition == FRONT_PLACE_IN_USE)
		count_failure(l);
	if (l->condition == FRONT_PLACE_IN_USE && l->failures < f->cfg.failure_limit) {
		due_at(l, f->now_ns);
		return;
	}
	requests_fail(f, &l->queue);
	pause(l);
}

/* Handles the end of a connection without open requests: servers close idle ones. */
static void
closed_idle(struct front_lane *l)
{
	struct front *f = l->front;

	if (f->now_ns - l->up_ns < FRONT_STABLE_NS) {
		front_lane_failed(l, FRONT_SERVER_CLOSED);
		return;
	}
	front_count(f, FRONT_SERVER_CLOSED);
	front_server_add(l->counts, FRONT_SERVER_EOF);
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

/* Counts that the server has left. One lane of all cores does so. */
static void
count_ejection(struct front_lane *l)
{
	if (!front_lane_probes(l))
		return;
	front_server_add(l->counts, FRONT_SERVER_EJECTED);
	atomic_store_explicit(&l->counts->count[FRONT_SERVER_LEFT_AT_S].value,
			      (uint64_t)serve_unix_s(l->front->serve), memory_order_relaxed);
}

void
front_lane_condition(struct front_lane *l, enum front_condition condition)
{
	if (l->condition == condition)
		return;
	l->condition = (uint8_t)condition;
	requests_fail(l->front, &l->queue);
	if (condition == FRONT_PLACE_AWAY)
		count_ejection(l);
	if (condition == FRONT_PLACE_VACANT)
		connection_end(l);
	if (condition != FRONT_PLACE_IN_USE)
		return;
	l->failures = 0;
	l->pause_ns = FRONT_REOPEN_NS;
	l->pause_max_ns = l->front->cfg.retry_timeout_ns;
	if (l->state == LANE_DOWN)
		due_at(l, l->front->now_ns);
}

void
front_lane_reprobe(struct front_lane *l, uint32_t probe, uint64_t pause_ns)
{
	const uint64_t retry_ns = l->front->cfg.retry_timeout_ns;

	l->probe = probe;
	if (probe == 0)
		return;
	connection_end(l);
	l->pause_ns = pause_ns > FRONT_REOPEN_NS ? pause_ns : FRONT_REOPEN_NS;
	l->pause_max_ns = pause_ns < retry_ns || retry_ns > FRONT_PROBE_MAX_NS ? retry_ns
									       : FRONT_PROBE_MAX_NS;
	due_at(l, l->front->now_ns + pause_ns);
	l->pause_ns += l->pause_ns / 2;
}

/* ---- opening ---- */

static bool
may_open(const struct front_lane *l)
{
	return front_lane_has_address(l) && (l->condition == FRONT_PLACE_IN_USE || l->probe != 0);
}

static void
open_connection(struct front_lane *l)
{
	struct front *f = l->front;

	l->opened_ns = f->now_ns;
	l->connect_failure = FRONT_FAILURE_SILENT;
	l->conn = front_link_open(l);
	if (l->conn == NULL) {
		l->connect_failure = FRONT_FAILURE_NO_CONN;
		front_lane_failed(l, FRONT_CONNECT_FAILED);
		return;
	}
	f->lane_of_slot[conn_slot(l->conn)] = (uint32_t)(l - f->lanes) + 1;
	l->state = LANE_CONNECTING;
	l->connect_end_ns = f->now_ns + f->cfg.connect_timeout_ns;
	due_at(l, front_link_look_ns(l));
}

/* Handles a connecting lane that has no reply yet: the reply may still arrive, may have reached
 * another core, or will not come in time. */
static void
connecting(struct front_lane *l)
{
	struct front *f = l->front;
	const bool lost = front_link_is_lost(l);

	if (!lost && f->now_ns < l->connect_end_ns) {
		due_at(l, front_link_look_ns(l));
	} else if (!lost || ++l->lost_tries >= FRONT_PORT_TRIES) {
		l->lost_tries = 0;
		if (serve_link_is_answered(f->serve, l->conn))
			l->connect_failure = FRONT_FAILURE_TLS_SILENT;
		front_lane_failed(l, FRONT_CONNECT_FAILED);
	} else {
		connection_end(l);
		due_at(l, f->now_ns);
	}
}

static void
opened(struct front_lane *l)
{
	front_count(l->front, FRONT_CONNECTED);
	front_link_opened(l);
	l->lost_tries = 0;
	/* Replies are read in the turn in which they arrive, however many requests are open: so
	 * the stack gives them frames. */
	conn_expect(l->conn, UINT64_MAX);
	l->written = 0;
	l->state = LANE_PROBING;
	front_lane_probe(l);
}

static void
up(struct front_lane *l)
{
	l->state = LANE_UP;
	copies_connection_opened(&l->front->copies);
	front_server_add(l->counts, FRONT_SERVER_OPENED);
	l->up_ns = l->front->now_ns;
	front_fence_up(l);
	/* Release: pairs with the acquire in the control; a flush that was due is done by now. */
	if (l->probe != 0)
		atomic_store_explicit(&l->report->probed, l->probe, memory_order_release);
	if (!list_empty(&l->queue))
		list_push_back(&l->front->unsent, &l->send_link);
	front_lane_send(l);
}

void
front_lane_probed(struct front_lane *l, bool meta)
{
	l->meta = meta;
	if (!front_report_owes_mt(l->report)) {
		up(l);
		return;
	}
	l->flush = atomic_load_explicit(&l->report->flush_due, memory_order_acquire);
	front_lane_flush(l);
}

/* Handles the answer to the lane's flush. If another core has requested a flush since, that one is
 * made as well; at worst the server is flushed once too often. */
void
front_lane_flushed(struct front_lane *l)
{
	atomic_store_explicit(&l->report->flush_done, l->flush, memory_order_release);
	up(l);
}

/* ---- events and times ---- */

/* True if the connection that has ended was never of use. A server of TLS 1.3 refuses our
 * certificate only after the handshake. */
static bool
is_refused(const struct front_lane *l)
{
	return l->state == LANE_CONNECTING || l->connect_failure == FRONT_FAILURE_CERT_OWN;
}

void
front_lane_events(struct front_lane *l)
{
	const uint32_t events = l->events;

	l->events = 0;
	list_unlink(&l->event_link);
	if (events & EVENT_LOST)
		front_lane_failed(l, is_refused(l) ? FRONT_CONNECT_FAILED : FRONT_SERVER_CLOSED);
	else if (events & EVENT_OPENED)
		opened(l);
	else if (l->state == LANE_UP && list_empty(&l->batches) && conn_peek(l->conn).len != 0)
		front_lane_failed(l, FRONT_SERVER_BROKEN);
	else if (l->state == LANE_UP && list_empty(&l->batches) && conn_eof(l->conn))
		closed_idle(l);
}

void
front_lane_on_time(struct front_lane *l)
{
	switch (l->state) {
	case LANE_DOWN:
		if (may_open(l))
			open_connection(l);
		else
			l->due_ns = FRONT_NEVER;
		break;
	case LANE_CONNECTING:
		connecting(l);
		break;
	default:
		if (l->fence.ask_ns <= l->front->now_ns)
			front_fence_ask(l);
		else if (l->reading == READING_BEGIN) /* the value waits for memory */
			l->excused_ns = l->front->now_ns;
		else
			front_lane_failed(l, FRONT_SERVER_LATE);
	}
}
