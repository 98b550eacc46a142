/*
 * sizes.h - how much of everything: from the few numbers the operator gives to every module's.
 *
 * Units:  bytes, frames, connections.
 * Thread: pure function.
 */
#ifndef CLOCKOO_SIZES_H
#define CLOCKOO_SIZES_H

#include "appliance.h"

void sizes_compute(struct sizes *z, const struct config *cfg, const struct profile *profile,
		   uint64_t seed);

#endif
