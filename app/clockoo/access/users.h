/*
 * users.h - the users of -Y: read at start, and again on SIGHUP.
 *
 * Shape:  the file's users are given to serve as a whole; a file with an error changes nothing.
 *         With neither -Y nor -S there is no file and no authentication.
 * Thread: users_begin by main, the others by the control thread.
 */
#ifndef CLOCKOO_USERS_H
#define CLOCKOO_USERS_H

#include "config/auth_file.h"
#include "config/config.h"
#include "serve/serve_policy.h"

#define USERS_PATH_BYTES 4096u /* PATH_MAX */

struct users {
	char path[USERS_PATH_BYTES]; /* absolute; empty = no authentication */
	struct auth_users now;
	bool pending; /* users wait for a core that has not seen the previous ones yet */
};

/* True if others can read the file. file: set to the configured one, or NULL. */
bool users_file_is_open(const struct config *cfg, const char **file);

/* Reads the file, and warns on stderr if others can read it. */
bool users_begin(struct users *u, const struct config *cfg, struct error *err);

/* Reads the file again; a fault in it becomes a line on stderr. */
void users_reload(struct users *u);

/* Gives pending users to the cores, if they are ready for them. */
void users_apply(struct users *u, struct serve_shared *shared);

#endif
