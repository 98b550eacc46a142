/*
 * metrics_internal.h - parts that both writers use, and the tables of names.
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
	bool full; /* some text did not fit */
};

void metrics_put(struct metrics_out *out, struct view bytes);
void metrics_put_text(struct metrics_out *out, const char *text);
void metrics_put_char(struct metrics_out *out, char c);

static inline bool
view_is(struct view v, const char *text)
{
	return view_equal(v, text_view(text));
}

/* True if value is digits, which a point and more digits may follow: a number for both JSON and
 * Prometheus. */
bool metrics_is_number(struct view value);

/* ---- names ---- */

/* True if this row of this reply is a counter. */
bool metrics_counts_up(struct view reply, struct view name);

/* True if a row in the rooms' lists of counters is a level, not a counter. */
bool metrics_is_level(struct view name);

/* Returns the label for the index before the colon in rows of this reply. */
const char *metrics_index_label(struct view reply);

/* A name of memcached_exporter. Entries of one metric are adjacent. */
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
