/*
 * kernel_doctor.h - the tap interface of network.kernel, as --plan, --check and `clockoo doctor`
 * report it.
 *
 * Thread: main.
 */
#ifndef CLOCKOO_KERNEL_DOCTOR_H
#define CLOCKOO_KERNEL_DOCTOR_H

#include "config/config.h"
#include "topology/advice.h"

#include <stdio.h>

/* Adds what is wrong with the interface and what to do, or that it is ready. */
void kernel_doctor(struct advice_list *list, const struct config *cfg);

/* Prints the interface and the kernel's share. False if a start would refuse it. */
bool kernel_doctor_plan(const struct config *cfg, FILE *out);

/* Prints a line for each fault that does not hinder a start. */
void kernel_doctor_check(const struct config *cfg, FILE *out);

#endif
