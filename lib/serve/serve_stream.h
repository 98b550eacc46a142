/*
 * serve_stream.h - replies of any length: rows, written as the connection has room for them.
 *
 * Private to lib/serve. A stream is a few numbers in its session (struct stream): which rows, and
 * where it stands. Each step writes whole rows into a sheet of contiguous room; what does not fit
 * is written into the next one, in a later turn if need be, while the peer reads.
 *
 * Owner:  a sheet is a reservation of the reply it belongs to.
 * Thread: core-local.
 * Bounds: STREAM_SHEETS_A_PASS reservations of one connection in one pass, STREAM_STEPS_MAX steps;
 *         ROW_MAX bytes of a row of numbers, DUMP_ROW_MAX of a key with what is known of it.
 */
#ifndef CLOCKOO_SERVE_STREAM_H
#define CLOCKOO_SERVE_STREAM_H

#include "serve_answer.h"

#define STREAM_SHEETS_A_PASS 8u
#define STREAM_STEPS_MAX     64u
#define ROW_NAME_MAX         48u
#define ROW_VALUE_MAX        160u
#define ROW_MAX              (MC_BIN_HEAD_BYTES + 5u + ROW_NAME_MAX + 1u + ROW_VALUE_MAX + 2u)
#define DUMP_ROW_MAX         MC_FACTS_LINE_MAX

struct sheet {
	uint8_t *at;
	uint8_t *end;
};

static inline uint32_t
sheet_room(const struct sheet *sheet)
{
	return (uint32_t)(sheet->end - sheet->at);
}

static inline void
sheet_view(struct sheet *sheet, struct view v)
{
	sheet->at = mc_put_view(sheet->at, v);
}

/* text is a constant of ours. */
#define sheet_text(sheet, text)                                                                    \
	sheet_view(sheet, (struct view){(const uint8_t *)(text), sizeof(text) - 1})

static inline void
sheet_number(struct sheet *sheet, uint64_t n)
{
	sheet->at = mc_put_u64(sheet->at, n);
}

static inline void
sheet_signed(struct sheet *sheet, int64_t n)
{
	if (n < 0)
		*sheet->at++ = '-';
	sheet_number(sheet, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

void sheet_ip(struct sheet *sheet, const struct ip_addr *ip);

/* ---- rows: STAT name value, or a packet of the binary protocol ---- */

void row_text(struct sheet *sheet, const struct stream *st, const char *name, struct view value);
void row_number(struct sheet *sheet, const struct stream *st, const char *name, uint64_t value);

/* Is it the turn of the row numbered *n, and is there room for it? Steps *n, and *at if so. */
static inline bool
row_due(const struct sheet *sheet, uint32_t *at, uint32_t *n)
{
	if ((*n)++ != *at || sheet_room(sheet) < ROW_MAX)
		return false;
	++*at;
	return true;
}

/* ---- what there is to say: one step each; false: that was all ---- */

bool stats_step(struct serve *sv, struct stream *st, struct sheet *sheet);
bool settings_step(struct serve *sv, struct stream *st, struct sheet *sheet);
bool items_step(struct serve *sv, struct stream *st, struct sheet *sheet);
bool slabs_step(struct serve *sv, struct stream *st, struct sheet *sheet);
bool sizes_step(struct serve *sv, struct stream *st, struct sheet *sheet);
bool conns_step(struct serve *sv, struct stream *st, struct sheet *sheet);
bool prefixes_step(struct serve *sv, struct stream *st, struct sheet *sheet);
/* stats detail on or off: done, st->over; dump: begin st. False: refused, and answered. */
bool detail_switch(struct serve *sv, struct op *op, struct stream *st);
bool cachedump_step(struct serve *sv, struct stream *st, struct sheet *sheet);
bool metadump_step(struct serve *sv, struct stream *st, struct sheet *sheet);
bool mgdump_step(struct serve *sv, struct stream *st, struct sheet *sheet);

enum stream_verdict {
	STREAM_DONE,
	STREAM_GOES_ON, /* in a later pass */
	STREAM_WAITS,   /* for room; the stack says when */
};

/* Begin to write it. On a connection no operation may stand behind it in this pass. */
enum answer stream_answer(struct serve *sv, struct op *op, const struct stream *st);
enum stream_verdict stream_go_on(struct serve *sv, struct session *ss);

#endif
