/*
 * shown_cells.h - the cells behind `stats latency` of one core, all kinds of requests together.
 *
 * Shape:  cells of log_cells.h; longest_ns since start.
 * Thread: any.
 */
#ifndef CLOCKOO_SHOWN_CELLS_H
#define CLOCKOO_SHOWN_CELLS_H

#include "base/log_cells.h"

struct serve;

struct shown_cells {
	uint64_t count[LOG_CELLS], longest_ns;
};

void shown_cells_read(const struct serve *sv, struct shown_cells *to);

#endif
