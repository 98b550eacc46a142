/*
 * sweep.h - the sweep through all buckets that reclaims what is flushed or expired.
 *
 * Thread: the core named; one core at a time sweeps.
 */
#ifndef CLOCKOO_SWEEP_H
#define CLOCKOO_SWEEP_H

#include "store_state.h"

/* Sweep the next buckets: in store_housekeeping; in a turn, if urgent; for a core that lacks
 * memory. */
void sweep_slice(struct store_core *sc);
void sweep_turn(struct store_core *sc);
void sweep_on_demand(struct store_core *sc);
/* Buckets the sweep looks at in a second. */
uint32_t sweep_quota(const struct store *st);
/* Execute a delayed flush whose time has come. */
void flush_due(struct store_core *sc);

/* ---- relocate.c: part of the sweep, under its lock ---- */

void relocate_begin(struct store *st);
void relocate_end(struct store *st);
/* Prefetch the primary buckets of the displaced items of a bucket. */
void relocate_prefetch(const struct store *st, uint32_t bucket);
/* Relocate items of the bucket whose primary bucket has an empty slot; then renew overflow bits. */
void relocate_bucket(struct store_core *sc, uint32_t bucket);

#endif
