/*
 * telemetry.c - registers sets of counters and sums them by symbol.
 */
#include "telemetry.h"

#include <string.h>

/* Returns the module with these names, or module_count if there is none. */
static uint32_t
module_find(const struct telemetry *t, const struct counter_name *names)
{
	uint32_t i = 0;

	while (i < t->module_count && telemetry_module_set(t, i)->names != names)
		i++;
	return i;
}

static bool
has_counters(const struct telemetry *t, const struct counter *counters)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->sets[i].counters == counters)
			return true;
	return false;
}

bool
telemetry_add_to(struct telemetry *t, enum telemetry_kind kind, const struct telemetry_set *set)
{
	const uint32_t module = module_find(t, set->names), index = t->count;

	if (index == TELEMETRY_SETS_MAX || module == TELEMETRY_MODULES_MAX ||
	    has_counters(t, set->counters))
		return false;
	t->count++;
	t->sets[index] = *set;
	t->next[index] = TELEMETRY_NO_SET;
	if (module == t->module_count) {
		t->module_count++;
		t->modules[module].first = index;
		t->modules[module].kind = kind;
	} else {
		t->next[t->modules[module].last] = index;
	}
	t->modules[module].last = index;
	return true;
}

bool
telemetry_add(struct telemetry *t, const struct telemetry_set *set)
{
	return telemetry_add_to(t, TELEMETRY_COUNTERS, set);
}

uint64_t
telemetry_module_sum(const struct telemetry *t, uint32_t module, uint32_t counter, uint32_t core)
{
	uint64_t sum = 0;

	for (uint32_t i = t->modules[module].first; i != TELEMETRY_NO_SET; i = t->next[i])
		if (core == TELEMETRY_ALL_CORES || t->sets[i].core == core)
			sum += counter_read(&t->sets[i].counters[counter]);
	return sum;
}

/* Returns the counter of this name in one set, or NULL. */
static const struct counter *
set_find(const struct telemetry_set *set, const char *symbol)
{
	for (uint32_t i = 0; i < set->count; i++) {
		if (strcmp(set->names[i].symbol, symbol) == 0)
			return &set->counters[i];
	}
	return NULL;
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

void
telemetry_each(const struct telemetry *t,
	       bool (*visit)(void *arg, const struct counter_name *name, uint64_t value), void *arg)
{
	for (uint32_t i = 0; i < t->module_count; i++) {
		const struct telemetry_set *set = telemetry_module_set(t, i);

		for (uint32_t k = 0; k < set->count; k++) {
			const uint64_t sum = telemetry_module_sum(t, i, k, TELEMETRY_ALL_CORES);

			if (sum != 0 && !visit(arg, &set->names[k], sum))
				return;
		}
	}
}
