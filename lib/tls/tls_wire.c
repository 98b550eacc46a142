/*
 * tls_wire.c - moves bytes between a wire, its stream and its pipe.
 */
#include "tls_wire.h"

/* Prepares io for the next call. Returns how many bytes the call may write. 0: the wire is visited
 * again when it has room. */
static uint32_t
io_begin(struct tls_wire_io *w, struct conn *wire, uint32_t *credits)
{
	*credits = conn_credit_take(w->stack, wire, OUT_PIECES);
	w->io = (struct tls_io){.out = w->out, .out_max = *credits * CONN_RESERVE_MAX};
	return w->io.out_max;
}

/* Queues the bytes that the call wrote. */
static void
io_flush(struct tls_wire_io *w, struct conn *wire, uint32_t credits)
{
	for (uint32_t at = 0; at < w->io.out_len; credits--) {
		const uint32_t left = w->io.out_len - at;
		const uint32_t n = left < CONN_RESERVE_MAX ? left : CONN_RESERVE_MAX;
		uint8_t *to = conn_reserve(w->stack, wire, n);

		ensure(to != NULL && credits > 0);
		memcpy(to, w->out + at, n);
		conn_commit(w->stack, wire, n);
		at += n;
	}
	conn_credit_return(w->stack, credits);
	w->io.out_len = 0;
}

enum tls_status
tls_wire_handshake(struct tls_wire_io *w, struct tls_stream *stream, struct conn *wire,
		   bool *resumed, bool *answered)
{
	enum tls_status status = TLS_WAITS;

	*resumed = *answered = false;
	for (uint32_t i = 0; i < PIECES_READ_MAX && status == TLS_WAITS; i++) {
		const struct view in = conn_peek(wire);
		uint32_t credits, used, written;

		if (io_begin(w, wire, &credits) == 0)
			return TLS_WAITS;
		w->io.in = in.data;
		w->io.in_len = in.len;
		status = tls_handshake(stream, resumed);
		used = in.len - w->io.in_len;
		written = w->io.out_len;
		conn_advance(w->stack, wire, used);
		io_flush(w, wire, credits);
		*answered |= written > 0 && status != TLS_FAILED;
		if (used == 0 && written == 0)
			break;
	}
	return status;
}

enum tls_status
tls_wire_read(struct tls_wire_io *w, struct tls_stream *stream, struct conn *wire, uint8_t *to,
	      uint32_t room, uint32_t *bytes)
{
	const struct view in = conn_peek(wire);
	enum tls_status status;
	uint32_t credits;

	*bytes = 0;
	if (io_begin(w, wire, &credits) == 0)
		return TLS_WAITS;
	w->io.in = in.data;
	w->io.in_len = in.len;
	status = tls_read(stream, to, room, bytes);
	conn_advance(w->stack, wire, in.len - w->io.in_len);
	io_flush(w, wire, credits);
	return status;
}

enum tls_status
tls_wire_send(struct tls_wire_io *w, struct tls_stream *stream, struct conn *wire,
	      struct conn *pipe, const struct serve_link_user *by, uint32_t *bytes)
{
	enum tls_status status = TLS_DONE;
	uint32_t credits, n = 0;
	const uint32_t room = io_begin(w, wire, &credits);

	*bytes = 0;
	if (room == 0)
		return TLS_WAITS;
	if (room > TLS_RECORD_MORE)
		n = room - TLS_RECORD_MORE < TLS_STEP_MAX ? room - TLS_RECORD_MORE : TLS_STEP_MAX;
	if (n > 0 && by != NULL && conn_unacknowledged(pipe) > 0)
		n = by->piece(by->arg, pipe, n);
	n = conn_pipe_take(w->stack, pipe, w->plain, n);
	if (n == 0 && conn_pipe_is_done(pipe))
		tls_end(stream);
	if (n > 0)
		status = tls_write(stream, w->plain, n);
	io_flush(w, wire, credits);
	*bytes = n;
	return status;
}

bool
tls_wire_has_input(const struct tls_stream *stream, const struct conn *wire)
{
	return conn_peek(wire).len > 0 || tls_has_read_ahead(stream);
}
