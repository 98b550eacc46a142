/*
 * front_plan.h - what a front's configuration amounts to: how even its fleet is, how many copies
 * it keeps, and how busy a server can get whatever is asked for.
 *
 * Shape:  figures of a ring with all servers live.
 * Units:  share, by_weight: of what a server's weight asks for, 1 is exactly that. bytes of slots;
 *         copies themselves are items of the store.
 * Owner:  the caller: the ring, of front_ring_bytes().
 * Thread: pure functions; some 20 KB of stack.
 * Errors: front_plan_make: struct error, the option at fault. Warnings are none: the fleet is what
 *         it is.
 * Bounds: 3 x 60,000 keys are placed, or 1,000 a server; FRONT_WARNINGS_MAX warnings.
 * Source: B. Fan's thesis (2013), 2.3.2, 2.3.3: c = 8 n ln n + 1 and the bound; n' for n, since
 *         servers differ: as many as there would be if all had the smallest share of the points.
 */
#ifndef CLOCKOO_FRONT_PLAN_H
#define CLOCKOO_FRONT_PLAN_H

#include "config/errors.h"
#include "front_config.h"

#define FRONT_WARNINGS_MAX  4u
#define FRONT_WARNING_BYTES 192u
#define FRONT_COPY_BYTES    1024u /* with less memory a copy there is a warning */

struct front_plan {
	uint32_t servers;
	uint32_t without_points; /* servers that no key goes to */
	const char *without;     /* the name of the first of them */
	double n;                /* n' */
	double busiest;          /* share of the points by weight, of the server that has most */
	double sequence;         /* the same of keys in sequence, the worst of three forms */
	bool one_has_all;        /* of those */
	double formula;          /* c, before its limits */
	uint32_t items;          /* copies of keys; 0: none; FRONT_ITEMS_MEMORY: no slots */
	uint32_t slots;
	size_t slot_bytes;
	double bound;          /* load of any server by its share of the points; 0: none is known */
	uint64_t memory_bytes; /* of all copies; the caller fills it in; 0: not known */
};

/* The ring of all servers, and its figures; *config must outlive the plan. */
bool front_plan_make(struct front_plan *plan, struct front_ring *ring,
		     const struct front_config *config, struct error *err);

/* How old a copy gets, or when it is right. */
#define FRONT_AGE_BYTES 160u
void front_plan_age(const struct front_plan *plan, const struct front_config *config,
		    char words[FRONT_AGE_BYTES]);

/* What costs evenness or is old, and what would be better: one line each. */
struct front_warning {
	const char *key; /* of the configuration file */
	char words[FRONT_WARNING_BYTES];
	const char *fix;
};

uint32_t front_plan_warnings(const struct front_plan *plan, const struct front_config *config,
			     struct front_warning out[FRONT_WARNINGS_MAX]);

#endif
