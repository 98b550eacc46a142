/*
 * serve_stream.h - replies of any length: rows, written as the connection has room for them.
 *
 * Private to lib/serve. A stream is a few numbers in its session (struct stream): which rows, and
 * where it stands. Each step writes whole rows into a buffer of contiguous room; what does not fit
 * is written into the next one, in a later turn if need be, while the peer reads.
 *
 * Owner:  a buffer is a reservation of the reply it belongs to.
 * Thread: core-local.
 * Bounds: STREAM_BUFFERS_A_PASS reservations of one connection in one pass; the turn's share of
 *         work (serve_work.h), which all replies have together; ROW_MAX bytes of a row of numbers,
 *         DUMP_ROW_MAX of a key with what is known of it.
 */
#ifndef CLOCKOO_SERVE_STREAM_H
#define CLOCKOO_SERVE_STREAM_H

#include "serve_execute.h"

#define STREAM_BUFFERS_A_PASS 8u
#define ROW_NAME_MAX          48u
#define ROW_VALUE_MAX         160u
#define ROW_MAX               (MC_BIN_HEAD_BYTES + 5u + ROW_NAME_MAX + 1u + ROW_VALUE_MAX + 2u)
#define DUMP_ROW_MAX          MC_ITEM_INFO_LINE_MAX

struct out_buffer {
	uint8_t *at;
	uint8_t *end;
};

static inline uint32_t
out_room(const struct out_buffer *buffer)
{
	return (uint32_t)(buffer->end - buffer->at);
}

static inline void
out_put_view(struct out_buffer *buffer, struct view v)
{
	buffer->at = mc_put_view(buffer->at, v);
}

/* text is a constant of ours. */
#define out_put_text(buffer, text)                                                                 \
	out_put_view(buffer, (struct view){(const uint8_t *)(text), sizeof(text) - 1})

static inline void
out_put_number(struct out_buffer *buffer, uint64_t n)
{
	buffer->at = mc_put_u64(buffer->at, n);
}

static inline void
out_put_signed(struct out_buffer *buffer, int64_t n)
{
	if (n < 0)
		*buffer->at++ = '-';
	out_put_number(buffer, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

void out_put_ip(struct out_buffer *buffer, const struct ip_addr *ip);

/* ---- rows: STAT name value, or a packet of the binary protocol ---- */

void row_text(struct out_buffer *buffer, const struct stream *st, const char *name,
	      struct view value);
void row_number(struct out_buffer *buffer, const struct stream *st, const char *name,
		uint64_t value);

/* Is it the turn of the row numbered *n, and is there room for it? Steps *n, and *at if so. */
static inline bool
row_due(const struct out_buffer *buffer, uint32_t *at, uint32_t *n)
{
	if ((*n)++ != *at || out_room(buffer) < ROW_MAX)
		return false;
	++*at;
	return true;
}

/* ---- what there is to say: one step each; false: that was all ---- */

/* A step is bounded whether it writes or not: it looks at so much that takes some microseconds, and
 * says in st->work how long that is, about. */

bool stats_step(struct serve *sv, struct stream *st, struct out_buffer *buffer);
bool settings_step(struct serve *sv, struct stream *st, struct out_buffer *buffer);
bool items_step(struct serve *sv, struct stream *st, struct out_buffer *buffer);
bool slabs_step(struct serve *sv, struct stream *st, struct out_buffer *buffer);
bool sizes_step(struct serve *sv, struct stream *st, struct out_buffer *buffer);
bool conns_step(struct serve *sv, struct stream *st, struct out_buffer *buffer);
bool prefixes_step(struct serve *sv, struct stream *st, struct out_buffer *buffer);
/* stats detail on or off: done, st->rows_done; dump: begin st. False: refused, and answered. */
bool detail_switch(struct serve *sv, struct op *op, struct stream *st);
bool cachedump_step(struct serve *sv, struct stream *st, struct out_buffer *buffer);
bool metadump_step(struct serve *sv, struct stream *st, struct out_buffer *buffer);
bool mgdump_step(struct serve *sv, struct stream *st, struct out_buffer *buffer);

enum stream_status {
	STREAM_DONE,
	STREAM_MORE,    /* in a later pass */
	STREAM_BLOCKED, /* for room, or in line: it is visited when it may go on */
};

/* Begin to write it. On a connection no operation may stand behind it in this pass. */
enum exec_status stream_start(struct serve *sv, struct op *op, const struct stream *st);
enum stream_status stream_resume(struct serve *sv, struct session *ss);

#endif
