/*
 * eviction_sieve.h - a third eviction policy, and all policies by name, for tests and benches.
 */
#ifndef CLOCKOO_EVICTION_SIEVE_H
#define CLOCKOO_EVICTION_SIEVE_H

#include "slab/eviction.h"

#include <string.h>

extern const struct eviction_policy eviction_sieve;

/* Returns the policy of this name; NULL: there is none. */
static inline const struct eviction_policy *
eviction_named(const char *name)
{
	const struct eviction_policy *const all[] = {&eviction_2q, &eviction_clock,
						     &eviction_sieve};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (strcmp(all[i]->name, name) == 0)
			return all[i];
	return NULL;
}

#endif
