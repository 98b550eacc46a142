/*
 * tls_handshakes.c - handshakes, one step of one of them a turn: they cost as much as thousands of
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
	tc->stepped = true;
	tc->step_ends_ns = 0;
	tc->step_requests = serve_tls_requests(tc->serve);
}

/* A place among those that shake hands, and a stream. */
static bool
stream_begin(struct tls_conns *tc, struct tls_conn *t)
{
	if (tc->handshake_count >= tc->cfg.handshakes_max)
		return false;
	t->stream = tls_stream_open(tc->context, &tc->io);
	if (t->stream == NULL) {
		tls_count(tc, TLS_NO_ROOM);
		tls_finish(tc, t);
		return false;
	}
	tc->handshake_count++;
	t->since_ns = tc->now_ns;
	list_unlink(&t->handshake);
	list_push_back(&tc->handshakes, &t->handshake);
	return true;
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
