/*
 * few_writes.h - setups of tests whose backend also writes: few_pending.h.
 */
#ifndef CLOCKOO_FEW_WRITES_H
#define CLOCKOO_FEW_WRITES_H

#include "few_pending.h"

static int
start(void **state)
{
	return begin(&(struct late_config){.writes = true});
}

static int
start_with_misses(void **state)
{
	return begin(&(struct late_config){.writes = true, .misses_on_failure = true});
}

static int
start_with_copies(void **state)
{
	return begin(&(struct late_config){.writes = true, .copies_of_ten = 10});
}

#endif
