/*
 * reply_reader.h - reads the reply to one request, in pieces of any size, and checks every byte.
 *
 * Shape:  a state machine over bytes: lines and values. A line that is whole in one piece is read
 *         in place; only a line that ends in the next piece is copied.
 * Owner:  pieces are the caller's; the reader keeps nothing of them but the start of such a line.
 * Thread: core-local.
 * Errors: REPLY_MALFORMED: the bytes are no reply to the request, and the start of the next reply
 *         is unknown. All other faults are counted in tally (load_counters.h).
 * Bounds: REPLY_LINE_MAX bytes of a line.
 */
#ifndef CLOCKOO_REPLY_READER_H
#define CLOCKOO_REPLY_READER_H

#include "load_counters.h"
#include "workload.h"

#include "base/bytes.h"

#define REPLY_LINE_MAX 320u /* a key of 250 bytes and four numbers */

enum reply_status { REPLY_MORE, REPLY_DONE, REPLY_MALFORMED };

enum reply_state {
	REPLY_LINE,
	REPLY_VALUE,
	REPLY_VALUE_END, /* the line end after the value */
};

/* Describes the first wrong value for people. No byte of the value is kept. */
struct reply_mismatch {
	bool seen;
	uint32_t key, len;
	uint32_t before; /* the wrong byte is before this place; 0: length or flags */
};

struct reply_reader {
	uint8_t state; /* enum reply_state */
	bool skip;     /* the value's key is unknown: read, not checked */
	bool wrong;    /* the value has been counted as wrong */
	uint8_t end_len;
	uint32_t next;  /* index of the first key not seen yet */
	uint32_t found; /* values in this reply so far */
	uint32_t left;  /* bytes of the value to come */
	struct item_value value;
	uint32_t line_len; /* bytes of the cut line in line[] */
	uint8_t *line;     /* REPLY_LINE_MAX bytes, which the caller owns */
};

struct reply_sink {
	struct counter *tally; /* LOAD_COUNTER_COUNT */
	struct reply_mismatch *mismatch;
};

static inline void
reply_begin(struct reply_reader *r)
{
	r->state = REPLY_LINE;
	r->next = r->found = r->line_len = 0;
}

/* Reads the next piece. *used: bytes of it that belong to this reply; all of them unless
 * REPLY_DONE. */
enum reply_status reply_read(struct reply_reader *r, const struct workload *w,
			     const struct request *req, const struct reply_sink *sink,
			     struct view in, uint32_t *used);

#endif
