/*
 * migrate.h - during a resize old buckets are emptied, one after the other.
 *
 * Thread: the core that has the resize's lock.
 */
#ifndef CLOCKOO_MIGRATE_H
#define CLOCKOO_MIGRATE_H

#include "index_core.h"

/* Empties old buckets for this much work (resize_limits.h). False: none is left. *deferred counts
 * the turns that the next bucket has waited for slots. */
bool migrate(struct index_core *ic, uint32_t *deferred, uint32_t most);

#endif
