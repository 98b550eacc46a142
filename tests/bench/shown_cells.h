/*
 * shown_cells.h - what `stats latency` of one core is made of: its cells, all kinds of requests as
 * one.
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
