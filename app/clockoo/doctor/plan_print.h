/*
 * plan_print.h - prints what a start would do on a machine (--plan), and the machine's faults
 * (doctor).
 *
 * Thread: main.
 */
#ifndef CLOCKOO_PLAN_PRINT_H
#define CLOCKOO_PLAN_PRINT_H

#include "config/config.h"

#include <stdio.h>

/* Prints machine, NIC, cores, rings, rules, memory and warnings. False: no plan can be made.
 * *starts is false if a warning says that a start would fail. */
bool plan_print(struct config *cfg, FILE *out, bool *starts, struct error *err);

/* Prints doctor's table: each entry is good, a warning, or a failure with its fix. src is the
 * source of cfg, named in lines about options that ask too much of the machine. Returns the exit
 * status: 0 good, 1 slow, 2 a start would fail; -1 with only *err set. */
int doctor_print(struct config *cfg, const struct config_source *src, FILE *out, struct error *err);

#endif
