/*
 * kernel_doctor.h - reports on the interface of network.kernel, for --plan, --check and `clockoo
 * doctor`.
 *
 * Thread: main.
 */
#ifndef CLOCKOO_KERNEL_DOCTOR_H
#define CLOCKOO_KERNEL_DOCTOR_H

#include "config/config.h"
#include "topology/advice.h"

#include <stdio.h>

/* Adds an entry for each fault and its fix, or one that says that the interface is ready. */
void kernel_doctor(struct advice_list *list, const struct config *cfg);

/* Prints the interface and the frames that the kernel gets. False if a start would refuse the
 * interface. */
bool kernel_doctor_plan(const struct config *cfg, FILE *out);

/* Prints a line for each fault with which a start is still possible. */
void kernel_doctor_check(const struct config *cfg, FILE *out);

#endif
