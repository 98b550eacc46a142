/*
 * sizes.h - how much of everything: from the few numbers the operator gives to every module's.
 *
 * Units:  bytes, frames, connections.
 * Thread: pure function.
 */
#ifndef CLOCKOO_SIZES_H
#define CLOCKOO_SIZES_H

#include "appliance.h"

/* From the system's random source, once a start. */
struct secrets {
	uint64_t seed;      /* of hash tables */
	struct prf_key key; /* of what strangers see */
};

void sizes_compute(struct sizes *z, const struct config *cfg, const struct profile *profile,
		   const struct secrets *secrets);

#endif
