/*
 * telemetry.h - reads every core's counters, by name.
 *
 * Modules keep their counters (counter.h) and know nothing of this room; the program registers
 * each array once at start. A reader then sums by symbol, per core or over all.
 *
 * Shape:  a set is one module's counters on one core, with their names.
 * Owner:  the modules own counters and names and outlive the telemetry.
 * Thread: telemetry_add at start; the rest from any one thread at a time. Reading never
 *         disturbs the writers.
 * Errors: an unknown symbol reads as 0: telemetry_find tells whether it exists.
 * Bounds: TELEMETRY_SETS_MAX sets.
 */
#ifndef CLOCKOO_TELEMETRY_H
#define CLOCKOO_TELEMETRY_H

#include "base/counter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TELEMETRY_SETS_MAX  768u
#define TELEMETRY_ALL_CORES UINT32_MAX

struct telemetry_set {
	uint32_t core;
	uint32_t count;
	const struct counter_name *names;
	const struct counter *counters;
};

struct telemetry {
	uint32_t count;
	struct telemetry_set sets[TELEMETRY_SETS_MAX];
};

/* False: no room for another set. */
bool telemetry_add(struct telemetry *t, const struct telemetry_set *set);

/* Does any set have a counter of this name? */
bool telemetry_find(const struct telemetry *t, const char *symbol);

/* The sum over one core's sets, or TELEMETRY_ALL_CORES. */
uint64_t telemetry_sum(const struct telemetry *t, const char *symbol, uint32_t core);

/* Every counter that is not zero, summed over cores, in the order of registration. Stops when
 * visit returns false. */
void telemetry_each(const struct telemetry *t,
		    bool (*visit)(void *arg, const struct counter_name *name, uint64_t value),
		    void *arg);

#endif
