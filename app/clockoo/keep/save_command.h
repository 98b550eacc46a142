/*
 * save_command.h - `clockoo save FILE`: has a running appliance write its items, and names the
 * file.
 *
 * The items go to FILE.part, which becomes FILE once it is on the disk: FILE is complete, or as it
 * was before.
 *
 * Thread: main.
 * Errors: struct error.
 */
#ifndef CLOCKOO_SAVE_COMMAND_H
#define CLOCKOO_SAVE_COMMAND_H

#include "config/config.h"

/* Returns 0, or -1 with *err set. */
int save_command(const struct config *cfg, const char *file, struct error *err);

#endif
