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

/* Does a correct file name all that its profile needs, and does the file of users exist? If not, it
 * is not ready, but not wrong: the command line may name the one, and the other may be made later.
 */
bool file_check_complete(const struct config *cfg, struct error *err);

/* Is its NIC there, and bound to a driver for user space? If not, it is not ready either. */
bool file_check_nic(const struct config *cfg, struct error *err);

#endif
