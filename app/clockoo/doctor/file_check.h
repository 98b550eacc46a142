/*
 * file_check.h - --check: whether a configuration fits its machine.
 *
 * Runs after config_parse and checks profile, CPUs and steering. Nothing is started; neither rights
 * nor hugepages are needed.
 *
 * Thread: main.
 * Errors: struct error, one line that begins with the option.
 */
#ifndef CLOCKOO_FILE_CHECK_H
#define CLOCKOO_FILE_CHECK_H

#include "config/config.h"

bool file_check(const struct config *cfg, struct error *err);

/* True if the file names all that its profile needs and the file of users exists. Otherwise a start
 * is not ready, but the file is not wrong: options may add the one, and the other may be made
 * later. */
bool file_check_complete(const struct config *cfg, struct error *err);

/* True if the NIC exists and is bound to a driver for user space. Otherwise a start is not ready.
 */
bool file_check_nic(const struct config *cfg, struct error *err);

#endif
