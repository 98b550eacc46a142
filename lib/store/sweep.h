/*
 * sweep.h - the sweep through all buckets that reclaims what is flushed or expired.
 *
 * Thread: the core named; one core at a time sweeps.
 */
#ifndef CLOCKOO_SWEEP_H
#define CLOCKOO_SWEEP_H

#include "store_state.h"

/* Sweeps the next buckets. Called in store_housekeeping, in each turn while the sweep is urgent,
 * and by a core that lacks memory. */
void sweep_slice(struct store_core *sc);
void sweep_turn(struct store_core *sc);
void sweep_on_demand(struct store_core *sc);
/* Returns how many buckets should be swept in a second. */
uint32_t sweep_quota(const struct store *st);
/* Executes a delayed flush that is due. */
void flush_due(struct store_core *sc);

#endif
