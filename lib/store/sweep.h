/*
 * sweep.h - the sweep through all buckets that reclaims what is flushed or expired.
 *
 * Thread: the core named; one core at a time sweeps.
 */
#ifndef CLOCKOO_SWEEP_H
#define CLOCKOO_SWEEP_H

#include "store_state.h"

/* Sweep the next buckets: in store_housekeeping, in a turn if that is urgent, and for a core that
 * lacks memory. */
void sweep_slice(struct store_core *sc);
void sweep_turn(struct store_core *sc);
void sweep_on_demand(struct store_core *sc);
/* Returns how many buckets should be swept in a second. */
uint32_t sweep_quota(const struct store *st);
/* Executes a delayed flush that is due. */
void flush_due(struct store_core *sc);

#endif
