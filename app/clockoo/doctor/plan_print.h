/*
 * plan_print.h - prints what the appliance would do with a machine (--plan), and what is wrong
 * with the machine (doctor).
 *
 * Neither starts anything or calls DPDK: both read files, of this machine or of the one that
 * --sysfs names.
 *
 * Thread: main.
 */
#ifndef CLOCKOO_PLAN_PRINT_H
#define CLOCKOO_PLAN_PRINT_H

#include "config/config.h"

#include <stdio.h>

/* Prints machine, NIC, cores, rings, rules, memory and warnings. False: there is no plan. *starts
 * is false if a warning says why a start would fail. */
bool plan_print(struct config *cfg, FILE *out, bool *starts, struct error *err);

/* Prints doctor's table; each line is good, a warning, or a failure with its fix. src is the source
 * of cfg, for lines about options that ask too much of the machine. Returns the exit status: 0 all
 * good, 1 it would be slow, 2 it would not start; -1: only *err is set. */
int doctor_print(struct config *cfg, const struct config_source *src, FILE *out, struct error *err);

#endif
