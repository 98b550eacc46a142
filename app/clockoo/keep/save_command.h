/*
 * save_command.h - `clockoo save FILE`: a running appliance writes its items to FILE.
 *
 * The appliance writes FILE.part. It becomes FILE once it is on the disk, so FILE is either
 * complete or unchanged.
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
