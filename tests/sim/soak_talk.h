/*
 * soak_talk.h - what a memcached client asks, and the exact bytes it must be answered with.
 *
 * Shape:  requests in text and meta on keys of the client's own, so that nobody else changes what
 *         they answer; values of all sizes, told apart by client, key and version.
 * Owner:  soak_talk_free gives both buffers back.
 * Thread: pure functions over the rng.
 * Bounds: about `bytes` each way, and at most TALK_VALUE_MAX beyond.
 */
#ifndef CLOCKOO_SOAK_TALK_H
#define CLOCKOO_SOAK_TALK_H

#include "sim_rng.h"

#define TALK_KEYS      6u
#define TALK_VALUE_MAX 60000u

struct soak_talk {
	uint8_t *ask, *want;
	uint32_t ask_len, want_len;
};

void soak_talk_make(struct soak_talk *talk, struct sim_rng *rng, uint32_t client, uint32_t bytes);
void soak_talk_free(struct soak_talk *talk);

#endif
