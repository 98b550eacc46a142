/*
 * one_rig.h - setup and teardown of tests that need a default rig of their own each.
 *
 * Owner:  `rig` is the running test's, from start to stop.
 */
#ifndef CLOCKOO_ONE_RIG_H
#define CLOCKOO_ONE_RIG_H

#include "fake_stack.h"

static struct rig *rig;

static int
start(void **state)
{
	rig = rig_create();
	return 0;
}

static int
stop(void **state)
{
	rig_destroy(rig);
	return 0;
}

#endif
