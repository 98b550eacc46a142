/*
 * soak_talk.h - the requests of a memcached client, and the exact bytes of the expected replies.
 *
 * Shape:  requests in text and meta on the client's own keys, so that no other client changes their
 *         answers; values of all sizes, with bytes that depend on client, key and version.
 * Owner:  soak_talk_free frees both buffers.
 * Thread: pure functions over the rng.
 * Bounds: about `bytes` each way, exceeded by at most TALK_VALUE_MAX.
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
