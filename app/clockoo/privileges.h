/*
 * privileges.h - memcached's -u: who the program is once it has what only root can take.
 *
 * Shape:  the name is looked up before anything is taken, the change made when NIC and memory are
 *         there. setuid(2) of glibc reaches every thread. Does nothing for who is not root.
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
