/*
 * one_rig.h - setup and teardown of tests that need a default rig of their own each.
 *
 * Owner:  `rig` is the running test's, from start to stop.
 */
#ifndef CLOCKOO_ONE_RIG_H
#define CLOCKOO_ONE_RIG_H

#include "support/test.h"
#include "fake_stack.h"

static struct rig *rig;

SETUP(start)
{
	rig = rig_create();
}

TEARDOWN(stop)
{
	rig_destroy(rig);
}

#endif
