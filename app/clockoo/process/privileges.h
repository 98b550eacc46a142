/*
 * privileges.h - memcached's -u: the user as which the process runs after the start.
 *
 * Shape:  the name is looked up at first, and the user changed when NIC and memory are taken.
 *         setuid(2) of glibc changes all threads. Unless root runs it, both functions do nothing.
 * Thread: main.
 * Errors: ERROR_NO_USER, ERROR_OS: memcached's exit codes.
 */
#ifndef CLOCKOO_PRIVILEGES_H
#define CLOCKOO_PRIVILEGES_H

#include "config/config.h"

#include <sys/types.h>

struct privileges {
	bool change;
	uid_t uid;
	gid_t gid;
};

bool privileges_lookup(struct privileges *id, const char *user, struct error *err);
bool privileges_drop(const struct privileges *id, const struct config *cfg, struct error *err);

#endif
