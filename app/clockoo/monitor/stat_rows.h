/*
 * stat_rows.h - the rows of all replies of `stats`, read by a thread that is no core.
 *
 * Shape:  a request reads the rows, if they are older than STAT_ROWS_NS.
 * Owner:  rows point into this struct's text. They are valid until the next reading.
 * Thread: one at a time.
 * Bounds: STAT_TEXT_BYTES of text, and more per core and server. Only pages that are written take
 *         memory.
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

#define STAT_ROWS_NS    900000000ull /* rows older than this are read again */
#define STAT_TEXT_BYTES (256u << 10)

struct admin_snapshot;

/* The parts that the rows show. */
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
	uint64_t read_ns; /* time of the last reading */
	uint64_t read;    /* number of readings */
	struct front_shown shown;
};

/* Returns zeroed pages; NULL: no memory. */
void *stat_pages(size_t bytes);

/* Allocates the memory. False: no memory. */
bool stat_rows_create(struct stat_rows *r, const struct stat_source *from);
/* Reads the rows if they are older than STAT_ROWS_NS. True if it has read them. */
bool stat_rows_read(struct stat_rows *r, uint64_t now_ns);

#endif
