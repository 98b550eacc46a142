/*
 * check_print.h - --check: prints whether the configuration is correct, and whether this machine
 * could start with it.
 *
 * Thread: main.
 * Errors: *err is set if the configuration is wrong.
 */
#ifndef CLOCKOO_CHECK_PRINT_H
#define CLOCKOO_CHECK_PRINT_H

#include "start/settings.h"

/* Exit status of --check and --plan if the configuration is correct and this machine cannot start
 * with it. */
#define NOT_READY 1

/* Returns the exit status: 0, NOT_READY, or -1 with *err set. */
int check_print(struct settings *s, struct error *err);

#endif
