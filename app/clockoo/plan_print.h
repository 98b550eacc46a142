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

/* --plan: machine, NIC, cores, rings, rules, memory, warnings. False: there is no plan. *starts:
 * false if a warning says why a start would fail. */
bool plan_print(struct config *cfg, FILE *out, bool *starts, struct error *err);

/* doctor: a table, each line good, a warning or a failure with its fix. src: of cfg, for what asks
 * too much of the machine. Returns the program's exit status: 0 all good, 1 it would be slow, 2 it
 * would not start; -1: there is nothing to say but *err. */
int doctor_print(struct config *cfg, const struct config_source *src, FILE *out, struct error *err);

#endif
