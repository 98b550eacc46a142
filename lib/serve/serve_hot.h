/*
 * serve_hot.h - takes samples for the list of hot keys, and reports large values (hot_keys.h).
 *
 * Private to lib/serve.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_HOT_H
#define CLOCKOO_SERVE_HOT_H

#include "serve_internal.h"

/* Takes samples in a pass with more operations than are left until the next sample. After it,
 * hot.left counts from the pass's first operation. All keys must have been probed. */
void ops_sample(struct serve *sv);

/* Records a sample: a hit that did not become an operation. */
void hit_sampled(struct serve *sv, struct view key, uint64_t hash, uint32_t size);

static inline void
hit_sample(struct serve *sv, struct view key, uint64_t hash, uint32_t size)
{
	if (unlikely(sv->hot.left == 0))
		hit_sampled(sv, key, hash, size);
	else
		sv->hot.left--;
}

/* Records that a complete value of at least ITEM_PIN_MIN_BYTES was requested, or was stored in
 * pieces. */
void value_seen(struct serve *sv, struct view key, uint64_t hash, uint32_t size);

#endif
