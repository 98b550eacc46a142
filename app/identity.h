/*
 * identity.h - memcached's -u: who the program is once it has what only root can take.
 *
 * Shape:  the name is looked up before anything is taken, the change made when NIC and memory are
 *         there. setuid(2) of glibc reaches every thread. Does nothing for who is not root.
 * Thread: main.
 * Errors: FAULT_NO_USER, FAULT_OS, as memcached's exit codes.
 */
#ifndef CLOCKOO_IDENTITY_H
#define CLOCKOO_IDENTITY_H

#include "config/config.h"

#include <sys/types.h>

struct identity {
	bool change;
	uid_t uid;
	gid_t gid;
};

bool identity_find(struct identity *id, const char *user, struct fault *f);
bool identity_take(const struct identity *id, const struct config *cfg, struct fault *f);

#endif
