/*
 * policy.h - from the operator's options to what serve knows and allows.
 *
 * Thread: the main thread, before any core turns.
 */
#ifndef CLOCKOO_POLICY_H
#define CLOCKOO_POLICY_H

#include "appliance.h"

void policy_set(struct appliance *a);

#endif
