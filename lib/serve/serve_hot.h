/*
 * serve_hot.h - samples for hot keys, and large values that were seen (hot_keys.h).
 *
 * Private to lib/serve.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_HOT_H
#define CLOCKOO_SERVE_HOT_H

#include "serve_internal.h"

/* Takes samples in a pass that has more operations than remain until the next sample. Afterwards
 * hot.left counts from the pass's first operation. All keys were probed. */
void ops_sample(struct serve *sv);

/* Records a sample: a hit that is no operation of a pass. */
void hit_sampled(struct serve *sv, struct view key, uint64_t hash, uint32_t size);

static inline void
hit_sample(struct serve *sv, struct view key, uint64_t hash, uint32_t size)
{
	if (unlikely(sv->hot.left == 0))
		hit_sampled(sv, key, hash, size);
	else
		sv->hot.left--;
}

/* Records that a complete value of ITEM_PIN_MIN_BYTES or more was requested, or was stored in
 * pieces. */
void value_seen(struct serve *sv, struct view key, uint64_t hash, uint32_t size);

#endif
