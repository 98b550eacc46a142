/*
 * file_check.h - --check: is what the operator wrote right for the machine it is meant for?
 *
 * After config_parse: profile, CPUs, steering. Nothing is started, no
 * right and no hugepage is needed.
 *
 * Thread: main.
 * Errors: struct error, one line that begins with the option.
 */
#ifndef CLOCKOO_FILE_CHECK_H
#define CLOCKOO_FILE_CHECK_H

#include "config/config.h"

bool file_check(const struct config *cfg, struct error *err);

/* Nothing wrong: but does it name all that its profile must be told, and are the users where it
 * says? The command line may name the one, and the other may come. */
bool file_check_complete(const struct config *cfg, struct error *err);

/* Is its NIC there, and free of the kernel? Either may still come to pass. */
bool file_check_nic(const struct config *cfg, struct error *err);

#endif
