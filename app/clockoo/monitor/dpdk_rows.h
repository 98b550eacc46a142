/*
 * dpdk_rows.h - telemetry.dpdk: each reply of `stats` as a command of DPDK's telemetry.
 *
 * /clockoo/net has the rows of `stats net` with their names; numbers are JSON numbers. A row 3:NAME
 * of a core, class or server is named 3_NAME, and /clockoo/cores,3 has only the rows of core 3. A
 * reply has DPDK_ROWS_PART rows at most: /clockoo/counters,1 has the next ones, and so on. The row
 * `left_out` counts the rows that did not fit.
 *
 * Thread: main begins and ends. Threads of EAL answer.
 * Errors: struct error, one line.
 */
#ifndef CLOCKOO_DPDK_ROWS_H
#define CLOCKOO_DPDK_ROWS_H

#include "config/errors.h"
#include "stat_rows.h"

#define DPDK_ROWS_PART 200u

/* Registers the commands with DPDK. */
bool dpdk_rows_begin(const struct stat_source *from, struct error *err);
/* Removes the commands. Called before the memory that they read is freed. */
void dpdk_rows_end(void);

#endif
