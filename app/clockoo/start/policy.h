/*
 * policy.h - turns the operator's options into serve's policy.
 *
 * Thread: policy_set by the main thread, before any core turns; policy_change by the control
 *         thread.
 */
#ifndef CLOCKOO_POLICY_H
#define CLOCKOO_POLICY_H

#include "appliance.h"

void policy_set(struct appliance *a);

/* Applies the options in now that may change while the program runs; policy_may_change() is true
 * for them. */
void policy_change(struct appliance *a, const struct config *now);
bool policy_may_change(const char *option);

#endif
