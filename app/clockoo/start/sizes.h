/*
 * sizes.h - every module's sizes, computed from the operator's few.
 *
 * Units:  bytes, frames, connections.
 * Thread: pure function.
 */
#ifndef CLOCKOO_SIZES_H
#define CLOCKOO_SIZES_H

#include "appliance.h"

struct front_config;

/* Secrets from the system's random source, drawn once at each start. */
struct secrets {
	uint64_t seed;      /* of hash tables */
	uint32_t cas;       /* first cas number of a store in a file */
	struct prf_key key; /* of numbers that clients see */
};

/* Return bytes of all cores: sizes_connections for connections with their requests and send queues,
 * the other for everything else except the store. */
uint64_t sizes_connections(const struct sizes *z, const struct config *cfg);
uint64_t sizes_tables(const struct sizes *z, const struct config *cfg);

/* Facts from outside of the configuration. */
struct sizes_asked {
	const struct front_config *front; /* NULL: not a front */
	uint64_t flash_bytes;             /* size of --flash-device; 0: none */
};

void sizes_compute(struct sizes *z, const struct config *cfg, const struct profile *profile,
		   const struct sizes_asked *asked, const struct secrets *secrets);

#endif
