/*
 * serve_stream.h - replies of any length: rows, written as the connection has room for them.
 *
 * Private to lib/serve and lib/admin. A stream is a few numbers in its session (struct stream):
 * which rows, and where it stands. Each step writes whole rows into a buffer of contiguous room;
 * what does not fit is written into the next one, in a later turn if need be, while the peer reads.
 *
 * Owner:  a buffer is a reservation of the reply it belongs to.
 * Thread: core-local.
 * Bounds: STREAM_BUFFERS_PER_PASS reservations of one connection in one pass; the turn's share of
 *         work (serve_work.h), which all replies have together. A step is bounded whether it writes
 *         or not: it looks at so much that takes some microseconds, and says in st->work how long
 *         that is, about.
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
	/* One step, with room for row_max bytes; false: that was all there is to say. */
	bool (*step)(struct serve *sv, struct stream *st, struct out_buffer *buffer);
	uint32_t row_max;
	enum mc_reply end; /* in text; in binary it is an empty packet */
};

enum stream_status {
	STREAM_DONE,
	STREAM_MORE,    /* in a later pass */
	STREAM_BLOCKED, /* for room or work: it is visited when it may go on */
};

/* Begin to write it. On a connection no operation may stand behind it in this pass; a datagram's
 * reply is composed at once. */
enum exec_status stream_start(struct serve *sv, struct op *op, const struct stream *st);
enum stream_status stream_resume(struct serve *sv, struct session *ss);

#endif
