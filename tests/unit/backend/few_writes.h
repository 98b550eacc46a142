/*
 * few_writes.h - setups of tests whose backend also writes: few_pending.h.
 */
#ifndef CLOCKOO_FEW_WRITES_H
#define CLOCKOO_FEW_WRITES_H

#include "support/test.h"
#include "few_pending.h"

SETUP(start)
{
	begin(&(struct late_config){.writes = true});
}

static void
start_with_misses(void)
{
	begin(&(struct late_config){.writes = true, .misses_on_failure = true});
}

static void
start_with_copies(void)
{
	begin(&(struct late_config){.writes = true, .copies_of_ten = 10});
}

#endif
