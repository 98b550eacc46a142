/*
 * privileges.h - memcached's -u: the user to run as after start-up.
 *
 * Shape:  the name is looked up first; the user changes once NIC and memory are taken. setuid(2) of
 *         glibc changes every thread. Without root both functions do nothing.
 * Thread: main.
 * Errors: ERROR_NO_USER, ERROR_OS, as memcached's exit codes.
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
