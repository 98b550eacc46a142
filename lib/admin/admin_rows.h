/*
 * admin_rows.h - parts of rows: numbers, addresses, `STAT name value`.
 *
 * Private to lib/admin.
 *
 * Thread: core-local.
 * Bounds: a row of numbers has ROW_MAX bytes at most, a key with its metadata DUMP_ROW_MAX. The
 *         caller has checked that there is room.
 */
#ifndef CLOCKOO_ADMIN_ROWS_H
#define CLOCKOO_ADMIN_ROWS_H

#include "serve/serve_stream.h"

#define ROW_NAME_MAX  48u
#define ROW_VALUE_MAX 160u
#define ROW_MAX       (MC_BIN_HEAD_BYTES + 5u + ROW_NAME_MAX + 1u + ROW_VALUE_MAX + 2u)
#define DUMP_ROW_MAX  MC_ITEM_INFO_LINE_MAX
#define ROW_KEY_BYTES (3 * MC_KEY_MAX) /* most bytes of a row's key, in addition to ROW_MAX */

static inline void
out_put_view(struct out_buffer *buffer, struct view v)
{
	buffer->at = mc_put_view(buffer->at, v);
}

/* Puts a constant text. */
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

/* Puts microseconds as seconds, in the form of getrusage: 1.000042. */
void out_put_seconds(struct out_buffer *buffer, uint64_t us);
void out_put_thousandths(struct out_buffer *buffer, uint64_t n); /* 1042: 1.042 */
void out_put_ip(struct out_buffer *buffer, const struct ip_addr *ip);

/* ---- rows: STAT name value, or a packet of the binary protocol ---- */

void row_text(struct out_buffer *buffer, const struct stream *st, const char *name,
	      struct view value);
void row_number(struct out_buffer *buffer, const struct stream *st, const char *name,
		uint64_t value);

void row_thousandths(struct out_buffer *buffer, const struct stream *st, const char *name,
		     uint64_t n);

/* Writes a row whose value is a key of any bytes, escaped as for watchers. The buffer needs ROW_MAX
 * + ROW_KEY_BYTES. */
void row_key(struct out_buffer *buffer, const struct stream *st, const char *name, struct view key);
/* Writes "top_key_1 0.124 user%3A17": number, share of all requests, key. The buffer needs as much
 * room. */
void row_top_key(struct out_buffer *buffer, const struct stream *st, uint32_t n,
		 uint32_t share_milli, struct view key);

/* True if row *n must be written now, and fits. Increments *n, and in that case *at. */
static inline bool
row_due(const struct out_buffer *buffer, uint32_t *at, uint32_t *n)
{
	if ((*n)++ != *at || out_room(buffer) < ROW_MAX)
		return false;
	++*at;
	return true;
}

#endif
