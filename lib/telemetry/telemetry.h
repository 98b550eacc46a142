/*
 * telemetry.h - reads every core's counters by name.
 *
 * Modules keep their counters (counter.h) and do not use this room; the program registers each
 * array once at start. A reader then sums by symbol, per core or over all.
 *
 * Shape:  a set is one module's counters on one core, with their names. Sets with the same names
 *         are one module; its kind says which reply of `stats` shows it.
 * Owner:  the modules own counters and names and outlive the telemetry.
 * Thread: telemetry_add at start; all others from any thread. Reading does not delay the writers.
 * Errors: an unknown symbol reads as 0.
 * Bounds: TELEMETRY_SETS_MAX sets of TELEMETRY_MODULES_MAX modules.
 */
#ifndef CLOCKOO_TELEMETRY_H
#define CLOCKOO_TELEMETRY_H

#include "base/counter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TELEMETRY_SETS_MAX    1280u
#define TELEMETRY_MODULES_MAX 32u
#define TELEMETRY_ALL_CORES   UINT32_MAX
#define TELEMETRY_NO_SET      UINT32_MAX

/* The reply of `stats` that shows a module. */
enum telemetry_kind {
	TELEMETRY_COUNTERS, /* modules that have no reply of their own */
	TELEMETRY_NET,
	TELEMETRY_STACK,
	TELEMETRY_CORES, /* core by core */
};

struct telemetry_set {
	uint32_t core;
	uint32_t count;
	const struct counter_name *names;
	const struct counter *counters;
};

struct telemetry_module {
	enum telemetry_kind kind;
	uint32_t first, last; /* indices of its first and last set */
};

struct telemetry {
	uint32_t count, module_count;
	struct telemetry_set sets[TELEMETRY_SETS_MAX];
	uint32_t next[TELEMETRY_SETS_MAX]; /* for each set: the next one of its module */
	struct telemetry_module modules[TELEMETRY_MODULES_MAX];
};

/* Registers a set. False if there is no room for another set or module. */
bool telemetry_add(struct telemetry *t, const struct telemetry_set *set);
/* As telemetry_add, for a module with a reply of its own. All sets of a module have one kind. */
bool telemetry_add_to(struct telemetry *t, enum telemetry_kind kind,
		      const struct telemetry_set *set);

/* Returns the sum over one core's sets, or over TELEMETRY_ALL_CORES. */
uint64_t telemetry_sum(const struct telemetry *t, const char *symbol, uint32_t core);

/* Returns the first set of a module, which has the names and their number. */
static inline const struct telemetry_set *
telemetry_module_set(const struct telemetry *t, uint32_t module)
{
	return &t->sets[t->modules[module].first];
}

/* Returns one counter of a module: the sum over one core's sets, or over TELEMETRY_ALL_CORES. */
uint64_t telemetry_module_sum(const struct telemetry *t, uint32_t module, uint32_t counter,
			      uint32_t core);

/* Visits every counter that is not zero, summed over cores, in the order of registration. Stops
 * when visit returns false. */
void telemetry_each(const struct telemetry *t,
		    bool (*visit)(void *arg, const struct counter_name *name, uint64_t value),
		    void *arg);

#endif
