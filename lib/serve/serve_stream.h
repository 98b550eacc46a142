/*
 * serve_stream.h - replies of any length, as rows that are written when the connection has room for
 * them.
 *
 * Private to lib/serve and lib/admin. A stream is a few numbers in its session (struct stream): the
 * kind of its rows, and a position. Each step writes complete rows into a buffer of contiguous
 * room. A row that does not fit goes into the next buffer, if necessary in a later turn, when the
 * peer has read more.
 *
 * Owner:  a buffer is a reservation of the reply to which it belongs.
 * Thread: core-local.
 * Bounds: STREAM_BUFFERS_PER_PASS reservations of one connection in a pass; and the turn's work
 *         budget (serve_work.h), which all replies share. A step takes some microseconds, even if
 *         it writes nothing; it adds its estimated time to st->work.
 */
#ifndef CLOCKOO_SERVE_STREAM_H
#define CLOCKOO_SERVE_STREAM_H

#include "serve_internal.h"

#define STREAM_BUFFERS_PER_PASS 8u

struct out_buffer {
	uint8_t *at;
	uint8_t *end;
};

static inline uint32_t
out_room(const struct out_buffer *buffer)
{
	return (uint32_t)(buffer->end - buffer->at);
}

struct stream_kind {
	/* Makes one step, for which there is room of row_max bytes. False: there are no more
	 * rows. */
	bool (*step)(struct serve *sv, struct stream *st, struct out_buffer *buffer);
	uint32_t row_max;
	enum mc_reply end; /* in text, the last line; in binary an empty packet ends the stream */
};

enum stream_status {
	STREAM_DONE,
	STREAM_MORE,    /* the stream continues in a later pass */
	STREAM_BLOCKED, /* the stream continues when it has room, or work budget */
};

/* Begins a stream. On a connection no operation may follow in this pass. A reply to a datagram is
 * composed completely, at once. */
enum exec_status stream_start(struct serve *sv, struct op *op, const struct stream *st);
enum stream_status stream_resume(struct serve *sv, struct session *ss);

#endif
