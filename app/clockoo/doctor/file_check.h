/*
 * file_check.h - --check: whether a configuration suits its machine.
 *
 * Called after config_parse. Checks profile, CPUs and steering without starting anything, and needs
 * neither privileges nor hugepages.
 *
 * Thread: main.
 * Errors: struct error, one line that begins with the option.
 */
#ifndef CLOCKOO_FILE_CHECK_H
#define CLOCKOO_FILE_CHECK_H

#include "config/config.h"

bool file_check(const struct config *cfg, struct error *err);

/* True if the configuration names every key that its profile needs, and the file of users exists.
 * If not, the file is still correct: options may add the key, and the file of users may be made
 * later. */
bool file_check_complete(const struct config *cfg, struct error *err);

/* True if the NIC exists and a driver for user space has it. If not, the file is still correct. */
bool file_check_nic(const struct config *cfg, struct error *err);

#endif
