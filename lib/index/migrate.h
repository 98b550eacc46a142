/*
 * migrate.h - empties old buckets during a resize, one after the other.
 *
 * Thread: the core that has the resize's lock.
 */
#ifndef CLOCKOO_MIGRATE_H
#define CLOCKOO_MIGRATE_H

#include "index_core.h"

/* Empties old buckets until this much work is done (resize_limits.h). False: no old bucket is left.
 * *deferred: the turns that the next bucket has waited for slots. */
bool migrate(struct index_core *ic, uint32_t *deferred, uint32_t most);

#endif
