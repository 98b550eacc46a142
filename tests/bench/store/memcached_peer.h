/*
 * memcached_peer.h - a memcached behind a unix socket, with requests in batches.
 *
 * Units:  a key is 16 characters, a value BENCH_VALUE_BYTES bytes, or PEER_VALUE_MAX at most.
 * Owner:  the process that started the memcached ends it.
 * Errors: none; a peer that fails ends the bench.
 */
#ifndef CLOCKOO_MEMCACHED_PEER_H
#define CLOCKOO_MEMCACHED_PEER_H

#include "bench_load.h"

#define PEER_BATCH     256u
#define PEER_KEY_MAX   250u
#define PEER_VALUE_MAX 65536u

struct peer {
	int socket;
	uint32_t out_len;
	uint32_t asked; /* gets in out */
	char out[PEER_VALUE_MAX + PEER_BATCH * 128u];
	uint32_t in_at, in_len;
	char in[1u << 16];
};

void peer_open(struct peer *p, const char *path);
void peer_close(struct peer *p);
/* Add a request to the batch. */
void peer_set(struct peer *p, uint64_t key);
/* Adds a set of another size; a key has at least BENCH_KEY_BYTES. Sends the batch first if it has
 * no room. */
void peer_set_sized(struct peer *p, uint64_t key, uint32_t key_bytes, uint32_t value_bytes);
void peer_get(struct peer *p, uint64_t key);
/* Adds a get whose answer lacks the value (mg); it counts as a use like any other. Do not mix it
 * with peer_get in one batch. */
void peer_look(struct peer *p, uint64_t key);
void peer_flush_looks(struct peer *p, bool *hit);
/* Sends the batch; hit[i] is that of its i-th get. A batch has at most PEER_BATCH requests. */
void peer_flush(struct peer *p, bool *hit);
/* Returns a number of "stats"; 0 if it is missing. */
uint64_t peer_stat(struct peer *p, const char *name);
/* Returns a number of "stats slabs"; 0 if it is missing. */
uint64_t peer_stat_of_slabs(struct peer *p, const char *name);

#endif
