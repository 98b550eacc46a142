/*
 * sweep.h - the sweep through all buckets that reclaims what is flushed or expired.
 *
 * Thread: the core named; one core at a time sweeps.
 */
#ifndef CLOCKOO_SWEEP_H
#define CLOCKOO_SWEEP_H

#include "store_state.h"

/* The next buckets: in store_housekeeping; in a turn, if urgent; for a core that lacks memory. */
void sweep_slice(struct store_core *sc);
void sweep_turn(struct store_core *sc);
void sweep_on_demand(struct store_core *sc);
/* Buckets the sweep looks at in a second. */
uint32_t sweep_quota(const struct store *st);
/* Do a delayed flush whose second has come. */
void flush_due(struct store_core *sc);

/* ---- relocate.c: part of the sweep, under its lock ---- */

void relocate_begin(struct store *st);
void relocate_end(struct store *st);
/* Prefetch the primary buckets of what is displaced in a bucket. */
void relocate_prefetch(const struct store *st, uint32_t bucket);
/* Relocate what has a slot in its primary bucket; then the pass's work on overflow bits. */
void relocate_bucket(struct store_core *sc, uint32_t bucket);

#endif
