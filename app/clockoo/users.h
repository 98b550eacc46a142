/*
 * users.h - the users of -Y: read at start, and again on SIGHUP.
 *
 * Shape:  the file's users are handed to serve as a whole; a file with an error changes
 *         nothing. With neither -Y nor -S there is no file and no authentication.
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
	bool pending; /* to be handed over: some core has not seen the last ones yet */
};

/* Said at start, by --check and by doctor. */
#define USERS_OPEN_FORMAT                                                                          \
	"auth.file: %s: any user of this machine can read or change it: chmod o= it"
/* file: the one that the configuration names, or NULL. */
bool users_file_is_open(const struct config *cfg, const char **file);

/* A line on stderr, if others can read the file. */
bool users_begin(struct users *u, const struct config *cfg, struct error *err);

/* Read the file again; what is wrong with it becomes a line on stderr. */
void users_reload(struct users *u);

/* Hand over what waits, if the cores are ready for it. */
void users_apply(struct users *u, struct serve_shared *shared);

#endif
