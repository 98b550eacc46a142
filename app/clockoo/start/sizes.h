/*
 * sizes.h - the sizes of all modules, computed from the few that the operator sets.
 *
 * Units:  bytes, frames, connections.
 * Thread: pure function.
 */
#ifndef CLOCKOO_SIZES_H
#define CLOCKOO_SIZES_H

#include "config/config.h"
#include "front/front.h"
#include "profile/profile.h"
#include "serve/serve.h"
#include "stack/stack.h"
#include "store/store.h"
#include "tier/tier_sizes.h"

struct front_config;

/* Sizes of each part. They are computed before any memory is taken. */
struct sizes {
	struct stack_config stack; /* of one core */
	struct serve_config serve;
	struct store_config store;
	struct front_settings front; /* of one core */
	uint32_t frames;             /* of one core */
	size_t store_bytes, stack_bytes, serve_bytes, shared_bytes, neigh_bytes, sources_bytes,
		pmtu_reports_bytes, front_cores_bytes, kernel_bytes,
		kernel_servers_bytes, /* of one core; a part of serve_bytes; 0: none */
		front_bytes;          /* of one core; a part of serve_bytes; 0: not a front */
	size_t block_bytes;           /* the above for all cores, and `flash` */
	struct tier_sizes flash;      /* of the second tier; its bytes are in block_bytes */
	size_t file_bytes;   /* of the file of --memory-file, which then has the items; 0: none */
	uint64_t pool_bytes; /* of the frames of all cores */
	uint64_t program_bytes; /* resident memory, measured when DPDK runs */
};

/* Random numbers, drawn from the system's source at each start. */
struct secrets {
	uint64_t seed;      /* seeds the hash tables */
	uint32_t cas;       /* first cas number of a store in a file */
	struct prf_key key; /* key of the numbers that clients see */
};

/* Return bytes of all cores. sizes_connections: connections with their requests and send queues.
 * sizes_tables: all else except the store. */
uint64_t sizes_connections(const struct sizes *z, const struct config *cfg);
uint64_t sizes_tables(const struct sizes *z, const struct config *cfg);

/* Facts that the configuration does not have. */
struct sizes_asked {
	const struct front_config *front; /* NULL: not a front */
	uint64_t flash_bytes;             /* size of the device of --flash-device; 0: none */
};

void sizes_compute(struct sizes *z, const struct config *cfg, const struct profile *profile,
		   const struct sizes_asked *asked, const struct secrets *secrets);

#endif
