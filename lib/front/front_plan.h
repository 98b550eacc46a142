/*
 * front_plan.h - computes what follows from a front's configuration: how even the fleet is, how
 * many copies there are, and the highest load of a server under any pattern of requests.
 *
 * Shape:  the figures are those of a ring with all servers.
 * Units:  share and by_weight are relative to a server's weight: 1 is exactly the share due to it.
 *         Bytes are those of slots; the copies themselves are items of the store.
 * Owner:  the caller: the ring has front_ring_bytes().
 * Thread: pure functions; some 20 KB of stack.
 * Errors: front_plan_make: struct error, with the option at fault. Unevenness is only a warning,
 *         since the operator cannot change an existing fleet.
 * Bounds: 3 x 60,000 keys are placed, or 3 x 1,000 for each server; FRONT_WARNINGS_MAX warnings.
 * Source: B. Fan's thesis (2013), 2.3.2, 2.3.3: c = 8 n ln n + 1, and the bound. Since servers
 *         differ, n' is used for n: the number of servers there would be if each had the smallest
 *         share of the points.
 */
#ifndef CLOCKOO_FRONT_PLAN_H
#define CLOCKOO_FRONT_PLAN_H

#include "config/errors.h"
#include "front_config.h"

#define FRONT_WARNINGS_MAX  4u
#define FRONT_WARNING_BYTES 192u
#define FRONT_COPY_BYTES    1024u /* if a copy has less memory, there is a warning */

struct front_plan {
	uint32_t servers;
	uint32_t without_points; /* servers that get no key */
	const char *without;     /* the name of the first of them */
	double n;                /* n' */
	double busiest; /* the highest share of the points, relative to its server's weight */
	/* the highest share of sequential keys in the same way, for the worst of three forms */
	double sequence;
	bool one_has_all; /* one server has all sequential keys */
	double formula;   /* c, before it is limited */
	/* Keys that may have copies; 0: none; FRONT_ITEMS_MEMORY: there are no slots. */
	uint32_t items;
	uint32_t slots;
	size_t slot_bytes;
	double bound;          /* limit of any server's load relative to its share; 0: unknown */
	uint64_t memory_bytes; /* of all copies together; set by the caller; 0: unknown */
};

/* Builds the ring of all servers, and computes the figures. *config must outlive the plan. */
bool front_plan_make(struct front_plan *plan, struct front_ring *ring,
		     const struct front_config *config, struct error *err);

/* Computes each server's share of the keys by weight, 0..1. The distribution `consistent` ignores
 * weights. */
void front_plan_due(const struct front_config *config, double *due);

/* Describes in words how old copies may be. */
#define FRONT_AGE_BYTES 160u
void front_plan_age(const struct front_plan *plan, const struct front_config *config,
		    char words[FRONT_AGE_BYTES]);

/* A warning, in one line, about unevenness or an old setting, with a better setting. */
struct front_warning {
	const char *key; /* of the configuration file */
	char words[FRONT_WARNING_BYTES];
	const char *fix;
};

uint32_t front_plan_warnings(const struct front_plan *plan, const struct front_config *config,
			     struct front_warning out[FRONT_WARNINGS_MAX]);

#endif
