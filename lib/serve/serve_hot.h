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

/* The pass has more operations than are left until the next sample; afterwards as many are left,
 * counted from the pass's first. All keys were probed. */
void ops_sample(struct serve *sv);

/* A hit that is no operation of a pass. */
void hit_sampled(struct serve *sv, struct view key, uint64_t hash, uint32_t size);

static inline void
hit_sample(struct serve *sv, struct view key, uint64_t hash, uint32_t size)
{
	if (unlikely(sv->hot.left == 0))
		hit_sampled(sv, key, hash, size);
	else
		sv->hot.left--;
}

/* A whole value of ITEM_PIN_MIN_BYTES or more was asked for, or came in pieces. */
void value_seen(struct serve *sv, struct view key, uint64_t hash, uint32_t size);

#endif
