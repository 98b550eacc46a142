/*
 * soak.h - one seeded life of a whole core and its memcached clients over a bad network.
 *
 * Everything is drawn from the seed: how many clients and what they ask, whether they are our own
 * stack (opening actively) or sim_peer's few lines of TCP, what the network does to frames, how
 * large the pools are. Then it is judged: each reply stream is the expected one to the byte, or
 * its connection ended for a reason that a counter names; in the end nobody holds anything.
 *
 * Thread: one.
 * Errors: false, and words in result->error; the same seed plays the same way again.
 * Bounds: SOAK_END_NS of virtual time.
 */
#ifndef CLOCKOO_SOAK_H
#define CLOCKOO_SOAK_H

#include "sim_wire.h"

#define SOAK_END_NS (1500ull * 1000000000)

struct soak_result {
	uint32_t clients;
	uint32_t whole; /* of those: all of the expected stream, closed in order */
	uint32_t left;  /* aborted on purpose */
	bool clean;     /* nothing befell any frame, so nothing was sent twice */
	uint64_t bytes; /* of replies, checked */
	uint64_t virtual_ns;
	struct sim_wire_counts wire;
	uint64_t hash;        /* over all frames and when they were sent */
	uint64_t cksum_drops; /* frames that a checksum or a length gave away */
	char error[200];
};

bool soak_play(uint64_t seed, struct soak_result *result);

#endif
