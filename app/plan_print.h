/*
 * plan_print.h - what the appliance would do with a machine, printed for a reader; and what is
 * wrong with the machine.
 *
 * Neither starts anything, or asks DPDK: both read files, of this machine or of the one that
 * --sysfs names.
 *
 * Thread: main.
 */
#ifndef CLOCKOO_PLAN_PRINT_H
#define CLOCKOO_PLAN_PRINT_H

#include "config/config.h"

#include <stdio.h>

/* --plan: machine, NIC, cores, rings, rules, memory, warnings. False: there is no plan. */
bool plan_print(struct config *cfg, FILE *out, struct fault *f);

/* doctor: a table, each line good, a warning or a failure with its cure. Returns the program's exit
 * status: 0 all good, 1 it would be slow, 2 it would not start. */
int doctor_print(struct config *cfg, FILE *out, struct fault *f);

#endif
