/*
 * settings.h - the configuration in force, and where it was read from.
 *
 * Thread: written by main; once cores turn, the control thread changes what a reload may change.
 */
#ifndef CLOCKOO_SETTINGS_H
#define CLOCKOO_SETTINGS_H

#include "access/users.h"
#include "config/config.h"

struct settings {
	int argc;
	char *const *argv;           /* for a reload, which reads them and the file again */
	struct config_source source; /* the file and lines that config was read from */
	char path[USERS_PATH_BYTES]; /* source.file, absolute; empty = none */
	struct config asked;         /* as read, with the changes of reloads */
	struct config config;        /* as asked, with the planner's choices */
};

#endif
