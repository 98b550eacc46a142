/*
 * tls_handshakes.c - handshakes, one step of one of them a turn: they cost as much as thousands of
 * requests.
 */
#include "base/check.h"
#include "tls_inside.h"

#define PLACE_LOOKS_MAX 64u

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
	tc->stepped = true;
	tc->step_ends_ns = 0;
	tc->step_requests = serve_tls_requests(tc->serve);
}

/* Returns the first in the list whose source has more than its share of the places, NULL if none
 * has. */
static struct tls_conn *
line_over(const struct tls_conns *tc, const struct list *line)
{
	const struct list *at = line->next;

	for (uint32_t i = 0; i < PLACE_LOOKS_MAX && at != line; i++, at = at->next) {
		struct tls_conn *t = container_of(at, struct tls_conn, handshake);

		if (budget_source_is_over(&tc->places, &t->place))
			return t;
	}
	return NULL;
}

/* Returns the handshake that yields its place: one not answered yet, else one whose source has more
 * than its share, else the one without progress for longest, if that is at least TLS_STALLED_NS.
 * NULL if none does. */
static struct tls_conn *
place_loser(const struct tls_conns *tc)
{
	struct tls_conn *t = line_over(tc, &tc->unproven);

	if (t != NULL)
		return t;
	if (!list_empty(&tc->unproven))
		return container_of(tc->unproven.next, struct tls_conn, handshake);
	t = line_over(tc, &tc->handshakes);
	if (t != NULL)
		return t;
	t = container_of(tc->handshakes.next, struct tls_conn, handshake);
	return tc->now_ns - t->progress_ns >= TLS_STALLED_NS ? t : NULL;
}

/* True if a place is free or a handshake would yield its own. */
static bool
place_free(struct tls_conns *tc)
{
	struct tls_conn *t;

	if (tc->places.left > 0)
		return true;
	t = place_loser(tc);
	if (t == NULL)
		return false;
	tls_count(tc, TLS_HANDSHAKE_YIELDED);
	tls_handshake_failed(tc, t);
	return true;
}

bool
tls_place_is_to_be_had(const struct tls_conns *tc)
{
	return tc->places.left > 0 || place_loser(tc) != NULL;
}

static void
place_take(struct tls_conns *tc, struct tls_conn *t)
{
	struct ip_addr ip;
	uint16_t port;

	conn_peer(t->wire, &ip, &port);
	budget_take(&tc->places, 1);
	budget_join(&tc->places, &t->place, &ip);
	t->since_ns = tc->now_ns;
	list_unlink(&t->handshake);
	list_push_back(&tc->unproven, &t->handshake);
}

/* Takes a place among the handshakes, and opens a stream. */
static bool
stream_begin(struct tls_conns *tc, struct tls_conn *t)
{
	if (!place_free(tc))
		return false;
	t->stream = tls_stream_open(tc->context, &tc->io);
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
	list_unlink(&t->handshake);
	list_push_back(&tc->handshakes, &t->handshake);
	t->progress_ns = tc->now_ns;
}

static enum tls_status
handshake_step(struct tls_conns *tc, struct tls_conn *t, bool *resumed)
{
	enum tls_status status = TLS_WAITS;

	*resumed = false;
	for (uint32_t i = 0; i < PIECES_READ_MAX && status == TLS_WAITS; i++) {
		const struct view in = conn_peek(t->wire);
		uint32_t credits, used, written;

		if (tls_io_begin(tc, t->wire, &credits) == 0)
			return TLS_WAITS;
		tc->io.in = in.data;
		tc->io.in_len = in.len;
		status = tls_handshake(t->stream, resumed);
		used = in.len - tc->io.in_len;
		written = tc->io.out_len;
		conn_advance(tc->stack, t->wire, used);
		tls_io_flush(tc, t->wire, credits);
		if (written > 0)
			handshake_progressed(tc, t);
		if (used == 0 && written == 0)
			break;
	}
	return status;
}

bool
tls_handshake_go_on(struct tls_conns *tc, struct tls_conn *t)
{
	enum tls_status status;
	bool resumed;

	if (!tls_step_is_allowed(tc) || (t->stream == NULL && !stream_begin(tc, t))) {
		if (t->wire == NULL || list_empty(&t->handshake))
			return false;
		if (!t->deferred)
			tls_count(tc, TLS_DEFERRED);
		t->deferred = true;
		list_push_back(t->stream != NULL ? &tc->steps : &tc->begins, &t->due);
		return true;
	}
	t->deferred = false;
	step_begins(tc);
	status = handshake_step(tc, t, &resumed);
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
