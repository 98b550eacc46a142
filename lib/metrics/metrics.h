/*
 * metrics.h - writes the content of `stats` and its tables as metrics and as JSON.
 *
 * The text of all replies (admin_snapshot_mt of lib/admin) is parsed into rows, which are written
 * in Prometheus' text format, in OpenMetrics 1.0, or as JSON. A rule turns each row into a metric,
 * so a row that a room adds to a reply is exported without a line here. metrics_names.c has what no
 * rule can derive: which rows are counters, and the names that memcached_exporter has for rows.
 *
 * Shape:  `stats net` begins a reply, `STAT name value` is a row of it, `STAT 3:name value` a row
 *         with index 3. A row's metric is clockoo_net_name, or clockoo_name for `stats` itself;
 *         `_s`, `_ms`, `_us` and `_ns` become `_seconds`; a counter ends in `_total`; a text is the
 *         label `value` of a 1.
 * Owner:  rows point into the text, which must stay.
 * Thread: pure functions.
 * Errors: any bytes are accepted; a line of another form is skipped. A row that does not fit is
 *         left out whole and counted (`metrics_left_out`); JSON that does not fit becomes an
 *         empty answer.
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
	struct view index; /* 3 in 3:name; len 0: none */
	struct view name, value;
	bool written; /* its family was written */
};

struct metrics_reply {
	struct view name; /* "net" for `stats net`; "stats" for `stats` itself */
	uint32_t first, count;
};

struct metrics {
	const struct telemetry *telemetry; /* names the counters and describes them; or NULL */
	uint32_t row_count, reply_count, left_out;
	struct metrics_reply replies[METRICS_REPLIES_MAX];
	struct metrics_row rows[METRICS_ROWS_MAX];
};

enum metrics_format { METRICS_PROMETHEUS, METRICS_OPENMETRICS };

/* Parses text into rows. Everything except telemetry is overwritten. */
void metrics_read(struct metrics *m, struct view text);

/* Writes all rows. Returns the number of bytes. */
size_t metrics_write(struct metrics *m, enum metrics_format format, uint8_t *to, size_t room);

/* Writes all replies as members of one object, after "taken_ms"; or one reply, by its name.
 * Returns 0 if there is no such reply, or no room. */
size_t metrics_write_json(const struct metrics *m, uint64_t taken_ms, uint8_t *to, size_t room);
size_t metrics_write_reply(const struct metrics *m, struct view name, uint8_t *to, size_t room);

#endif
