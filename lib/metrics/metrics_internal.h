/*
 * metrics_internal.h - parts of both writers, and the tables of names.
 *
 * Private to lib/metrics.
 *
 * Thread: pure functions.
 */
#ifndef CLOCKOO_METRICS_INTERNAL_H
#define CLOCKOO_METRICS_INTERNAL_H

#include "metrics.h"

/* ---- text that may not fit ---- */

struct metrics_out {
	uint8_t *at, *end;
	bool full; /* something did not fit */
};

void metrics_put(struct metrics_out *out, struct view bytes);
void metrics_put_text(struct metrics_out *out, const char *text);
void metrics_put_char(struct metrics_out *out, char c);

static inline struct view
view_of(const char *text)
{
	return (struct view){(const uint8_t *)text, (uint32_t)strlen(text)};
}

static inline bool
view_is(struct view v, const char *text)
{
	return view_equal(v, view_of(text));
}

/* Digits, with others behind a point: what JSON and Prometheus both read as a number. */
bool metrics_is_number(struct view value);

/* ---- names ---- */

/* Does this row of this reply count up? */
bool metrics_counts_up(struct view reply, struct view name);

/* A row of the rooms' lists of counters that is none. */
bool metrics_is_level(struct view name);

/* What stands before the colon of a row of this reply. */
const char *metrics_index_label(struct view reply);

/* A name of memcached_exporter. Those of one metric follow each other. */
struct metrics_alias {
	const char *metric; /* without _total */
	const char *reply, *row;
	bool counter;
	const char *help;
	const char *command, *status; /* labels; empty: none */
};
extern const struct metrics_alias metrics_aliases[];
extern const uint32_t metrics_alias_count;

#endif
