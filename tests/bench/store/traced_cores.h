/*
 * traced_cores.h - runs cores in turns in one thread, and passes every access of the traced code
 * (traced.h) through a model of their caches (line_model.h).
 *
 * Shape:  each core has a stack of its own. After each access the core whose clock is behind
 *         continues. A clock counts accesses, and TRACED_LINE_COST for a line that another core
 *         has changed, or has read and this core writes.
 *
 * Thread: one.
 *
 * Bounds: LINE_CORES_MAX cores.
 *
 * Prefetches and copies by libc are not seen.
 */
#ifndef CLOCKOO_TRACED_CORES_H
#define CLOCKOO_TRACED_CORES_H

#include "line_model.h"

#define TRACED_LINE_COST 100u

/* Begins with empty caches of `sets` sets, for `cores` cores. */
void traced_cores_begin(uint32_t cores, uint32_t sets);
/* Has each core do its work once; afterwards all clocks have stopped. */
void traced_cores_run(void (*work)(uint32_t core));
/* Returns the sum of all cores' clocks of the last run. */
uint64_t traced_cores_clocks(void);

/* Defined by the program: called for an access to a line that the core did not have, or not for
 * writing. */
void traced_line(uint32_t core, uintptr_t line, enum line_move how, const void *from);

#endif
