/*
 * serve_stream.c - replies of any length: runs the steps of a stream while there is room and work
 * budget.
 */
#include "serve_stream.h"

static void
stream_end(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	static const struct view none;

	store_walk_end(sv->store, &st->cursor);
	if (st->binary)
		buffer->at = mc_put_bin_stat(buffer->at, st->echo, none, none);
	else
		buffer->at = mc_put_view(buffer->at, mc_reply_line[st->kind->end]);
	st->kind = NULL;
}

/* Makes one step. Each byte written counts as a nanosecond of work. */
static void
step(struct serve *sv, struct session *ss, struct stream *st, struct out_buffer *buffer)
{
	const uint32_t room = out_room(buffer);

	st->work = WORK_STEP;
	st->rows_done = !st->kind->step(sv, st, buffer);
	work_use(sv, ss, st->work + room - out_room(buffer));
}

/* Writes rows while there is room and work budget. ss NULL: work is not limited. When the stream
 * has ended, its kind is NULL. */
static void
stream_fill(struct serve *sv, struct session *ss, struct stream *st, struct out_buffer *buffer)
{
	while (out_room(buffer) >= st->kind->row_max) {
		if (st->rows_done) {
			stream_end(sv, st, buffer);
			return;
		}
		if (ss != NULL && (st->later || !work_may_continue(sv, ss)))
			return;
		step(sv, ss, st, buffer);
	}
}

enum stream_status
stream_resume(struct serve *sv, struct session *ss)
{
	struct stream *st = &ss->stream;

	for (uint32_t i = 0; i < STREAM_BUFFERS_PER_PASS; i++) {
		struct out_buffer buffer;
		uint8_t *begin;

		if (st->later) {
			st->later = false;
			work_wait_behind(sv, ss);
			return STREAM_BLOCKED;
		}
		if (!(i == 0 ? work_may_begin(sv, ss) : work_may_continue(sv, ss))) {
			work_wait(sv, ss);
			return STREAM_BLOCKED;
		}
		if (!ss->has_credit && !conn_writable(sv->stack, ss->conn, 1))
			return STREAM_BLOCKED;
		ss->has_credit = false;
		begin = conn_reserve(sv->stack, ss->conn, CONN_RESERVE_MAX);
		ensure(begin != NULL);
		buffer = (struct out_buffer){begin, begin + CONN_RESERVE_MAX};
		stream_fill(sv, ss, st, &buffer);
		conn_commit(sv->stack, ss->conn, (uint32_t)(buffer.at - begin));
		if (st->kind == NULL)
			return STREAM_DONE;
	}
	return STREAM_MORE;
}

/* Composes the whole reply to a datagram at once. The streams permitted over UDP are bounded. */
static void
stream_write_all(struct serve *sv, struct op *op, struct stream *st)
{
	while (st->kind != NULL) {
		uint8_t *begin = reply_begin(sv, op, CONN_RESERVE_MAX);
		struct out_buffer buffer = {begin, begin + CONN_RESERVE_MAX};

		stream_fill(sv, NULL, st, &buffer);
		reply_end(sv, op, begin, buffer.at);
	}
}

enum exec_status
stream_start(struct serve *sv, struct op *op, const struct stream *st)
{
	struct session *ss = op->session;
	struct stream copy = *st;

	if (ss == NULL) {
		if (work_may_begin(sv, NULL))
			stream_write_all(sv, op, &copy);
		else
			serve_count(sv, UDP_DROP_NO_MEMORY);
		return EXEC_DONE;
	}
	/* No operation follows in this pass (serve_parse.c), so this operation's credit is not used
	 * yet. */
	ss->stream = copy;
	ss->has_credit = true;
	(void)stream_resume(sv, ss);
	return EXEC_DONE;
}
