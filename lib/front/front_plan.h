/*
 * front_plan.h - computes the consequences of a front's configuration: the evenness of its fleet,
 * the number of copies, and the highest load of a server under any pattern.
 *
 * Shape:  figures of a ring with all servers live.
 * Units:  share and by_weight are relative to a server's weight: 1 is exactly its due share.
 *         Bytes are those of slots; copies themselves are items of the store.
 * Owner:  the caller: the ring, of front_ring_bytes().
 * Thread: pure functions; some 20 KB of stack.
 * Errors: front_plan_make: struct error, the option at fault. Warnings are no errors: an existing
 *         fleet cannot be changed.
 * Bounds: 3 x 60,000 keys are placed, or 1,000 a server; FRONT_WARNINGS_MAX warnings.
 * Source: B. Fan's thesis (2013), 2.3.2, 2.3.3: c = 8 n ln n + 1 and the bound; n' replaces n,
 *         since servers differ: it is the number of servers if all had the smallest share of the
 *         points.
 */
#ifndef CLOCKOO_FRONT_PLAN_H
#define CLOCKOO_FRONT_PLAN_H

#include "config/errors.h"
#include "front_config.h"

#define FRONT_WARNINGS_MAX  4u
#define FRONT_WARNING_BYTES 192u
#define FRONT_COPY_BYTES    1024u /* with less memory for a copy there is a warning */

struct front_plan {
	uint32_t servers;
	uint32_t without_points; /* servers that get no key */
	const char *without;     /* the name of the first of them */
	double n;                /* n' */
	double busiest;          /* the highest share of points relative to weight */
	double sequence;         /* as busiest, for sequential keys; the worst of three forms */
	bool one_has_all;        /* one server has all sequential keys */
	double formula;          /* c, before its limits */
	uint32_t items;          /* copies of keys; 0: none; FRONT_ITEMS_MEMORY: no slots */
	uint32_t slots;
	size_t slot_bytes;
	double bound;          /* of any server's load relative to its share; 0: unknown */
	uint64_t memory_bytes; /* for all copies, filled in by the caller; 0: unknown */
};

/* Builds the ring of all servers and computes its figures; *config must outlive the plan. */
bool front_plan_make(struct front_plan *plan, struct front_ring *ring,
		     const struct front_config *config, struct error *err);

/* Computes each server's share of the keys by weight, 0..1. consistent ignores weights. */
void front_plan_due(const struct front_config *config, double *due);

/* Describes the age limit of copies, or when they are right. */
#define FRONT_AGE_BYTES 160u
void front_plan_age(const struct front_plan *plan, const struct front_config *config,
		    char words[FRONT_AGE_BYTES]);

/* A warning about unevenness or an old setting, with a better one, in one line each. */
struct front_warning {
	const char *key; /* of the configuration file */
	char words[FRONT_WARNING_BYTES];
	const char *fix;
};

uint32_t front_plan_warnings(const struct front_plan *plan, const struct front_config *config,
			     struct front_warning out[FRONT_WARNINGS_MAX]);

#endif
