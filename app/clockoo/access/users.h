/*
 * users.h - the users who may log in (-Y, -S): read at start and at each SIGHUP.
 *
 * Shape:  the cores get the users of the file as one table. A file with an error changes nothing.
 *         Without -Y and -S there is no file and no authentication.
 * Thread: main calls users_begin; the control thread calls the others.
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
	bool pending; /* now waits for a core that has not taken the previous users yet */
};

/* True if every user of the machine can read the file. *file is the file's name, or NULL if none is
 * configured. */
bool users_file_is_open(const struct config *cfg, const char **file);

/* Reads the file. Warns on stderr if every user of the machine can read it. */
bool users_begin(struct users *u, const struct config *cfg, struct error *err);

/* Reads the file again. A fault becomes a line on stderr and changes nothing. */
void users_reload(struct users *u);

/* Gives pending users to the cores once all of them use the previous ones. Called at each tick. */
void users_apply(struct users *u, struct serve_shared *shared);

#endif
