/*
 * soak.h - one seeded run of a whole core and its memcached clients over a bad network.
 *
 * The seed determines everything: the number of clients and their requests, whether the clients are
 * our own stack (opening actively) or sim_peer's minimal TCP, the faults of the network, and the
 * sizes of the pools. The run passes if each reply stream has exactly the expected bytes, or its
 * connection ended for a reason that a counter names, and if neither side holds a connection, chunk
 * or frame in the end.
 *
 * Thread: one.
 * Errors: false, with a text in result->error; the same seed gives the same run.
 * Bounds: SOAK_END_NS of virtual time.
 */
#ifndef CLOCKOO_SOAK_H
#define CLOCKOO_SOAK_H

#include "sim_wire.h"

#define SOAK_END_NS (1500ull * 1000000000)

struct soak_result {
	uint32_t clients;
	uint32_t whole; /* clients that received the whole expected stream and closed in order */
	uint32_t left;  /* clients that aborted on purpose */
	bool clean;     /* the network changed no frame, and nothing was retransmitted */
	uint64_t bytes; /* bytes of replies that were compared */
	uint64_t virtual_ns;
	struct sim_wire_counts wire;
	uint64_t hash;        /* hash of all frames and their sending times */
	uint64_t cksum_drops; /* frames that a checksum or length check rejected */
	char error[200];
};

bool soak_play(uint64_t seed, struct soak_result *result);

#endif
