/*
 * traced_cores.h - cores that take turns in one thread, every access of the traced code seen
 * (traced.h) and passed through a model of their caches (line_model.h).
 *
 * Shape:  each core has a stack of its own. After each access the core whose clock is behind goes
 *         on. A clock counts accesses, and TRACED_LINE_COST for a line that another core has
 *         changed, or has read and this core writes.
 *
 * Thread: one.
 *
 * Bounds: LINE_CORES_MAX cores.
 *
 * What is not seen: prefetches, and what libc copies.
 */
#ifndef CLOCKOO_TRACED_CORES_H
#define CLOCKOO_TRACED_CORES_H

#include "line_model.h"

#define TRACED_LINE_COST 100u

/* Empty caches of so many sets, for so many cores. */
void traced_cores_begin(uint32_t cores, uint32_t sets);
/* Each core does its work, once; then all clocks have stopped. */
void traced_cores_run(void (*work)(uint32_t core));
/* All cores' clocks of the last run together. */
uint64_t traced_cores_clocks(void);

/* The program's: an access that met a line that the core did not have, or not for writing. */
void traced_line(uint32_t core, uintptr_t line, enum line_move how, const void *from);

#endif
