/*
 * stat_rows.h - what all replies of `stats` say, read by a thread that is no core.
 *
 * Shape:  rows are read when they are asked for, at most once in STAT_ROWS_NS.
 * Owner:  rows point into a text of this struct, until they are read again.
 * Thread: one at a time.
 * Bounds: memory of its own, from what is served: STAT_TEXT_BYTES and more a core and a server,
 *         touched where something is written.
 */
#ifndef CLOCKOO_STAT_ROWS_H
#define CLOCKOO_STAT_ROWS_H

#include "appliance.h"
#include "front/front_stats.h"
#include "metrics/metrics.h"

#define STAT_ROWS_NS    900000000ull /* age at which rows are read again */
#define STAT_TEXT_BYTES (256u << 10)

struct admin_snapshot;

struct stat_rows {
	const struct appliance *a;
	struct admin_snapshot *snapshot;
	struct metrics *metrics;
	uint8_t *text;
	size_t text_room;
	uint64_t read_ns, read; /* when, and how often */
	struct front_shown shown;
};

/* Zeroed bytes, or NULL. */
void *stat_pages(size_t bytes);

/* False: there is no memory. */
bool stat_rows_create(struct stat_rows *r, const struct appliance *a);
/* True: they were read anew. */
bool stat_rows_read(struct stat_rows *r, uint64_t now_ns);

#endif
