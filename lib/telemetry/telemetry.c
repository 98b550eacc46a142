/*
 * telemetry.c - a list of counter arrays registered at start, with lookup by symbol, sums over
 * cores, and a walk over all names.
 */
#include "telemetry.h"

#include <string.h>

bool
telemetry_add(struct telemetry *t, const struct telemetry_set *set)
{
	if (t->count == TELEMETRY_SETS_MAX)
		return false;
	t->sets[t->count++] = *set;
	return true;
}

/* The counter of this name in one set; NULL if it has none. */
static const struct counter *
set_find(const struct telemetry_set *set, const char *symbol)
{
	for (uint32_t i = 0; i < set->count; i++) {
		if (strcmp(set->names[i].symbol, symbol) == 0)
			return &set->counters[i];
	}
	return NULL;
}

bool
telemetry_find(const struct telemetry *t, const char *symbol)
{
	for (uint32_t i = 0; i < t->count; i++) {
		if (set_find(&t->sets[i], symbol) != NULL)
			return true;
	}
	return false;
}

uint64_t
telemetry_sum(const struct telemetry *t, const char *symbol, uint32_t core)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct telemetry_set *set = &t->sets[i];
		const struct counter *c;

		if (core != TELEMETRY_ALL_CORES && set->core != core)
			continue;
		c = set_find(set, symbol);
		if (c != NULL)
			sum += counter_read(c);
	}
	return sum;
}

/* A module registers once a core, with the same names: the first of them speaks for all. */
static bool
is_first_of_module(const struct telemetry *t, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++) {
		if (t->sets[i].names == t->sets[index].names)
			return false;
	}
	return true;
}

void
telemetry_each(const struct telemetry *t,
	       bool (*visit)(void *arg, const struct counter_name *name, uint64_t value), void *arg)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const struct telemetry_set *set = &t->sets[i];

		if (!is_first_of_module(t, i))
			continue;
		for (uint32_t k = 0; k < set->count; k++) {
			const struct counter_name *name = &set->names[k];
			const uint64_t sum = telemetry_sum(t, name->symbol, TELEMETRY_ALL_CORES);

			if (sum != 0 && !visit(arg, name, sum))
				return;
		}
	}
}
