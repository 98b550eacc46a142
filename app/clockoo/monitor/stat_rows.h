/*
 * stat_rows.h - rows of all replies of `stats`, read by a thread that is no core.
 *
 * Shape:  rows are read on request, at most once in STAT_ROWS_NS.
 * Owner:  rows point into a text of this struct, until they are read again.
 * Thread: one at a time.
 * Bounds: its memory follows from what is served: STAT_TEXT_BYTES, and more for each core and
 *         server; only written pages are touched.
 */
#ifndef CLOCKOO_STAT_ROWS_H
#define CLOCKOO_STAT_ROWS_H

#include "core/core.h"
#include "fleet/fleet.h"
#include "front/front.h"
#include "front/front_stats.h"
#include "metrics/metrics.h"
#include "process/process.h"
#include "telemetry/telemetry.h"

#define STAT_ROWS_NS    900000000ull /* age at which rows are read again */
#define STAT_TEXT_BYTES (256u << 10)

struct admin_snapshot;

/* The program, as far as its rows show it. */
struct stat_source {
	const struct process *process;
	const struct telemetry *telemetry;
	struct serve_shared *shared;
	const struct core *cores;
	uint32_t core_count;
	struct fleet *fleet; /* NULL: not a front */
	const struct front_settings *front;
};

struct stat_rows {
	struct stat_source from;
	struct admin_snapshot *snapshot;
	struct metrics *metrics;
	uint8_t *text;
	size_t text_room;
	uint64_t read_ns, read; /* time of the last reading, and number of readings */
	struct front_shown shown;
};

/* Returns zeroed pages, or NULL. */
void *stat_pages(size_t bytes);

/* Allocates the memory. False if there is none. */
bool stat_rows_create(struct stat_rows *r, const struct stat_source *from);
/* Reads the rows if they are old. True if they were read. */
bool stat_rows_read(struct stat_rows *r, uint64_t now_ns);

#endif
