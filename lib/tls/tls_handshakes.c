/*
 * tls_handshakes.c - makes handshakes, one step a turn, since each costs as much as thousands of
 * requests.
 */
#include "base/check.h"
#include "tls_inside.h"

bool
tls_step_is_allowed(const struct tls_conns *tc)
{
	if (tc->stepped)
		return false;
	return tc->step_requests == serve_tls_requests(tc->serve) ||
	       tc->now_ns >= tc->step_ends_ns + tc->step_ns;
}

static void
step_begins(struct tls_conns *tc)
{
	tls_count(tc, TLS_STEPS);
	tc->stepped = true;
	tc->step_ends_ns = 0;
	tc->step_requests = serve_tls_requests(tc->serve);
}

/* True if a handshake that was answered may lose its place now. */
static bool
answered_may_yield(const struct tls_conns *tc)
{
	const struct tls_conn *oldest =
		container_of(tc->handshakes.next, struct tls_conn, handshake);

	return tc->now_ns >= tc->taken_ns + TLS_PLACE_NS / tc->cfg.handshakes_max ||
	       tc->now_ns >= oldest->answered_ns + TLS_PLACE_NS;
}

bool
tls_place_is_available(const struct tls_conns *tc)
{
	return tc->places.left > 0 || !list_empty(&tc->unproven) || answered_may_yield(tc);
}

static uint32_t
begin_rank(void *arg, struct list *link)
{
	const struct tls_conns *tc = arg;

	return budget_source_is_over(&tc->places, &container_of(link, struct tls_conn, due)->place);
}

struct list *
tls_begin_next(struct tls_conns *tc)
{
	const struct tls_conn *oldest = container_of(tc->begins.prev, struct tls_conn, due);

	if (tc->now_ns < oldest->deferred_ns + TLS_IN_ORDER_NS)
		return tc->begins.prev;
	return budget_loser(&tc->begins, begin_rank, tc);
}

/* Ranks a connection for losing its place: first those whose source has more than its part, last
 * those that wait for a step of ours. */
static uint32_t
place_rank(void *arg, struct list *link)
{
	const struct tls_conns *tc = arg;
	const struct tls_conn *t = container_of(link, struct tls_conn, handshake);

	if (t->deferred)
		return 2;
	return !budget_source_is_over(&tc->places, &t->place);
}

/* Frees the stream. The connection stays until its peer sends something, or TLS_HANDSHAKE_NS pass:
 * a peer whose connection is closed at once would return, and cost another handshake. */
static void
place_yield(struct tls_conns *tc, struct tls_conn *t)
{
	tls_count(tc, TLS_HANDSHAKE_YIELDED);
	if (conn_unread(t->wire) > 0 || conn_has_ended(t->wire)) {
		tls_handshake_failed(tc, t);
		return;
	}
	tls_handshake_leave(tc, t);
	tls_stream_free(t->stream);
	t->stream = NULL;
	t->yielded = true;
	t->since_ns = tc->now_ns;
	list_push_back(&tc->waiting, &t->handshake);
}

/* Takes a place from a connection that has not been answered; if there is none, from the one that
 * was answered longest ago. */
static void
place_free(struct tls_conns *tc)
{
	struct list *link;

	if (tc->places.left > 0)
		return;
	link = budget_loser(&tc->unproven, place_rank, tc);
	if (link == NULL)
		link = budget_loser(&tc->handshakes, place_rank, tc);
	place_yield(tc, container_of(link, struct tls_conn, handshake));
}

static void
place_take(struct tls_conns *tc, struct tls_conn *t)
{
	budget_take(&tc->places, 1);
	tc->taken_ns = tc->now_ns;
	t->since_ns = tc->now_ns;
	list_unlink(&t->handshake);
	list_push_back(&tc->unproven, &t->handshake);
}

/* Takes a place among the handshakes, and opens a stream. */
static bool
stream_begin(struct tls_conns *tc, struct tls_conn *t)
{
	place_free(tc);
	t->stream = tls_stream_open(tc->context, &tc->io.io);
	if (t->stream == NULL) {
		tls_count(tc, TLS_NO_ROOM);
		tls_finish(tc, t);
		return false;
	}
	place_take(tc, t);
	return true;
}

/* Notes that the peer was answered and can continue its handshake. */
static void
handshake_progressed(struct tls_conns *tc, struct tls_conn *t)
{
	if (t->answered_ns == 0)
		tls_count(tc, TLS_HELLOS);
	t->answered_ns = tc->now_ns;
	list_unlink(&t->handshake);
	list_push_back(&tc->handshakes, &t->handshake);
}

/* Queues the connection for a step. If many wait, the newest begins first: in a flood the oldest
 * have given up, or never intended to continue. */
static void
step_wait(struct tls_conns *tc, struct tls_conn *t)
{
	if (!t->deferred) {
		tls_count(tc, TLS_DEFERRED);
		t->deferred_ns = tc->now_ns;
	}
	t->deferred = true;
	if (t->stream != NULL)
		list_push_back(&tc->steps, &t->due);
	else
		list_push_front(&tc->begins, &t->due);
}

/* Counts the connection for its source. Called once its hello is complete. */
static void
source_join(struct tls_conns *tc, struct tls_conn *t)
{
	struct ip_addr ip;
	uint16_t port;

	conn_peer(t->wire, &ip, &port);
	budget_join(&tc->places, &t->place, &ip);
}

bool
tls_handshake_go_on(struct tls_conns *tc, struct tls_conn *t)
{
	enum tls_status status;
	bool resumed, answered;

	source_join(tc, t);
	if (!tls_step_is_allowed(tc) || (t->stream == NULL && !tls_place_is_available(tc))) {
		step_wait(tc, t);
		return true;
	}
	if (t->stream == NULL && !stream_begin(tc, t))
		return false;
	t->deferred = false;
	step_begins(tc);
	status = tls_wire_handshake(&tc->io, t->stream, t->wire, &resumed, &answered);
	if (answered)
		handshake_progressed(tc, t);
	if (status == TLS_FAILED || (status == TLS_WAITS && conn_eof(t->wire))) {
		tls_handshake_failed(tc, t);
		return false;
	}
	if (status == TLS_WAITS)
		return true;
	tls_handshake_leave(tc, t);
	t->pipe = serve_tls_open(tc->serve, t->wire);
	if (t->pipe == NULL) {
		tls_count(tc, TLS_NO_ROOM);
		tls_finish(tc, t);
		return false;
	}
	tc->wire_of[conn_slot(t->pipe)] = conn_slot(t->wire) + 1;
	tls_count(tc, TLS_HANDSHAKES);
	if (resumed)
		tls_count(tc, TLS_RESUMED);
	return true;
}
