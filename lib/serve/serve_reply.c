/*
 * serve_reply.c - the destination of a reply: a connection's queue, the frame of its request, or a
 * message. The code that composes a reply does not depend on it.
 */
#include "serve_access.h"
#include "serve_execute.h"
#include "serve_hot.h"
#include "serve_message.h"

#include "base/copy.h"

/* Returns room for the reply in the frame of its request; NULL if the reply may not fit. */
static inline uint8_t *
reply_room_in_place(struct serve *sv, struct op *op, uint32_t bytes)
{
	uint32_t room;
	uint8_t *at = udp_reply_buffer(sv->stack, op->datagram, &room);

	if (room > MC_UDP_PAYLOAD_MAX)
		room = MC_UDP_PAYLOAD_MAX;
	return bytes + MC_UDP_FRAME_BYTES <= room ? at + MC_UDP_FRAME_BYTES : NULL;
}

uint8_t *
reply_begin(struct serve *sv, struct op *op, uint32_t bytes)
{
	uint8_t *at;

	if (op->session != NULL) {
		at = conn_reserve(sv->stack, op->session->conn, bytes);
		ensure(at != NULL); /* ensured by conn_writable */
		return at;
	}
	if (op->in_place) {
		at = reply_room_in_place(sv, op, bytes);
		if (likely(at != NULL))
			return at;
		op->in_place = false;
	}
	return message_reserve(sv, op, bytes);
}

/* Commits a reply in the frame of its request. */
static inline void
datagram_end(struct serve *sv, struct op *op, uint8_t *begin, uint32_t bytes)
{
	if (unlikely(sv->rate_limited) &&
	    !udp_reply_allowed(sv, &op->datagram->from, op->raw.len, bytes))
		return;
	mc_udp_put(begin - MC_UDP_FRAME_BYTES, op->udp_id, 0, 1);
	udp_reply_in_place(sv->stack, op->datagram, MC_UDP_FRAME_BYTES + bytes);
}

void
reply_end(struct serve *sv, struct op *op, uint8_t *begin, const uint8_t *end)
{
	const uint32_t bytes = (uint32_t)(end - begin);

	if (op->session != NULL)
		conn_commit(sv->stack, op->session->conn, bytes);
	else if (op->in_place)
		datagram_end(sv, op, begin, bytes);
	else
		message_commit(sv, bytes);
}

/* Replies with a line in the rare cases: it needs a message, or may be refused. */
static __attribute__((noinline)) void
line_compose(struct serve *sv, struct op *op, struct view line)
{
	uint8_t *at = reply_begin(sv, op, line.len);

	reply_end(sv, op, at, mc_put_view(at, line));
}

/* Replies with a line to a request in a datagram. The rare path is a tail call, so that the other
 * one saves no registers. */
static NOT_FLAT void
datagram_line(struct serve *sv, struct op *op, struct view line)
{
	uint8_t *at = likely(op->in_place && line.len <= COPY_INLINE_MAX && !sv->rate_limited)
			      ? reply_room_in_place(sv, op, line.len)
			      : NULL;

	if (unlikely(at == NULL)) {
		line_compose(sv, op, line);
		return;
	}
	bytes_copy(at, line.data, line.len);
	mc_udp_put(at - MC_UDP_FRAME_BYTES, op->udp_id, 0, 1);
	udp_reply_in_place(sv->stack, op->datagram, MC_UDP_FRAME_BYTES + line.len);
}

void
reply_line(struct serve *sv, struct op *op, struct view line)
{
	if (op_noreply(op))
		return;
	if (op->session != NULL)
		conn_write(sv->stack, op->session->conn, line);
	else
		datagram_line(sv, op, line);
}

void
reply_status(struct serve *sv, struct op *op, enum mc_bin_status status)
{
	uint8_t *at = reply_begin(sv, op, MC_BIN_STATUS_MAX);

	reply_end(sv, op, at, mc_put_bin_status(at, mc_bin_echo(&op->req), status));
}

void
reply_error(struct serve *sv, struct op *op, enum mc_error error)
{
	serve_count(sv, REQ_BAD);
	/* The limit for errors applies to a reply that is only an error. An error after values ends
	 * their reply. */
	if (op->session == NULL && op->req.verb == MC_BAD && !sv->message_open &&
	    !udp_error_allowed(sv, &op->datagram->from))
		return;
	if (op->req.flags & MC_BINARY)
		reply_status(sv, op, (enum mc_bin_status)mc_error_status[error]);
	else
		reply_line(sv, op, mc_error_line[error]);
}

enum exec_status
reply_pinned(struct serve *sv, struct op *op, const struct item *it, enum value_tail tail)
{
	struct session *ss = op->session;
	uint8_t *at;

	value_seen(sv, item_key(it), op->hash, item_value_len(it));
	if (ss == NULL) {
		message_value(sv, op, it);
		if (tail == TAIL_NONE)
			return EXEC_DONE;
		at = reply_begin(sv, op, VALUE_TAIL_MAX);
		reply_end(sv, op, at, value_tail_put(at, tail));
		return EXEC_DONE;
	}
	store_pin(it);
	ss->value = (struct value_rest){
		.item = it, .tail = (uint8_t)tail, .arrival = ss->value.arrival};
	return value_resume(sv, ss) ? EXEC_DONE : EXEC_PARTIAL;
}
