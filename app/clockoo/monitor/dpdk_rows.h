/*
 * dpdk_rows.h - telemetry.dpdk: each reply of `stats` as a command of DPDK's telemetry.
 *
 * /clockoo/net has the rows of `stats net`, with the same names; numbers are numbers. In a reply
 * with rows of cores, classes or servers, 3_NAME is row 3:NAME, and /clockoo/cores,3 has only
 * the rows of core 3. /clockoo/counters,1 has the rows after the first DPDK_ROWS_PART,
 * /clockoo/counters,2 those after them. `left_out` counts the rows that did not fit.
 *
 * Thread: begin and end by main; EAL's threads answer.
 * Errors: struct error, one line.
 */
#ifndef CLOCKOO_DPDK_ROWS_H
#define CLOCKOO_DPDK_ROWS_H

#include "config/errors.h"
#include "stat_rows.h"

#define DPDK_ROWS_PART 200u

/* Registers the commands. */
bool dpdk_rows_begin(const struct stat_source *from, struct error *err);
/* Removes the commands. Called before the memory that they read is freed. */
void dpdk_rows_end(void);

#endif
