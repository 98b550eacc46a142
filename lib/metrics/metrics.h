/*
 * metrics.h - what `stats` and its tables show, as metrics and as JSON.
 *
 * The text of all replies (admin_snapshot_mt of lib/admin) is read into rows; rows are written in
 * Prometheus' text format, in OpenMetrics 1.0, or as JSON. A row is a metric by rule, so what a
 * room adds to a reply is exported without a line here; metrics_names.c has what no rule tells:
 * which rows count up, and the names of memcached_exporter that mean the same.
 *
 * Shape:  `stats net` begins a reply, `STAT name value` is a row of it, `STAT 3:name value` one of
 *         the third. clockoo_net_name, or clockoo_name of `stats` itself; `_us`, `_ms` and `_ns`
 *         become `_seconds`; what counts up ends in `_total`; a text is the label `value` of a 1.
 * Owner:  rows point into the text, which must stay.
 * Thread: pure functions.
 * Errors: any bytes are taken: a line that is neither is left out. What does not fit is left out
 *         whole and counted (`metrics_left_out`), or for JSON ends in an empty answer.
 * Bounds: METRICS_ROWS_MAX rows, METRICS_REPLIES_MAX replies, names of METRICS_NAME_MAX bytes.
 */
#ifndef CLOCKOO_METRICS_H
#define CLOCKOO_METRICS_H

#include "base/bytes.h"
#include "telemetry/telemetry.h"

#define METRICS_ROWS_MAX    32768u
#define METRICS_REPLIES_MAX 24u
#define METRICS_NAME_MAX    96u

struct metrics_row {
	struct view index; /* 3 of 3:name; len 0: none */
	struct view name, value;
	bool written; /* its family has been */
};

struct metrics_reply {
	struct view name; /* "net" of `stats net`; of `stats` it is that */
	uint32_t first, count;
};

struct metrics {
	const struct telemetry *telemetry; /* words of counters, and that they are some; or NULL */
	uint32_t row_count, reply_count, left_out;
	struct metrics_reply replies[METRICS_REPLIES_MAX];
	struct metrics_row rows[METRICS_ROWS_MAX];
};

enum metrics_format { METRICS_PROMETHEUS, METRICS_OPENMETRICS };

/* telemetry is kept; everything else is made anew. */
void metrics_read(struct metrics *m, struct view text);

/* Bytes written. */
size_t metrics_write(struct metrics *m, enum metrics_format format, uint8_t *to, size_t room);

/* All replies as members of one object, behind "taken_ms"; or one reply, by its name. 0: there is
 * no such reply, or no room. */
size_t metrics_write_json(const struct metrics *m, uint64_t taken_ms, uint8_t *to, size_t room);
size_t metrics_write_reply(const struct metrics *m, struct view name, uint8_t *to, size_t room);

#endif
