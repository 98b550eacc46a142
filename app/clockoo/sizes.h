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

/* From the system's random source, once a start. */
struct secrets {
	uint64_t seed;      /* of hash tables */
	uint32_t cas;       /* where cas numbers begin in a file */
	struct prf_key key; /* of numbers that clients see */
};

/* Return bytes of all cores: of connections with their requests and send queues; of everything else
 * beside the store's memory. */
uint64_t sizes_connections(const struct sizes *z, const struct config *cfg);
uint64_t sizes_tables(const struct sizes *z, const struct config *cfg);

/* Returns the size of --memory-file, 0 without one. */
size_t sizes_file_bytes(const struct config *cfg);

/* Facts from outside of the configuration. */
struct sizes_asked {
	const struct front_config *front; /* NULL: there is none */
	uint64_t flash_bytes;             /* of --flash-device; 0: there is none */
};

void sizes_compute(struct sizes *z, const struct config *cfg, const struct profile *profile,
		   const struct sizes_asked *asked, const struct secrets *secrets);

#endif
