/*
 * settings.h - the present configuration, and where it was read.
 *
 * Thread: main writes it. Once cores turn, the control thread writes the members that a reload may
 *         change.
 */
#ifndef CLOCKOO_SETTINGS_H
#define CLOCKOO_SETTINGS_H

#include "access/users.h"
#include "config/config.h"

struct settings {
	int argc;
	char *const *argv;           /* the words of the command line; a reload reads them again */
	struct config_source source; /* the file, and the line of each key in it */
	char path[USERS_PATH_BYTES]; /* absolute path of the configuration file; empty: none */
	struct config asked;  /* as the operator has written it, with the changes of reloads */
	struct config config; /* as asked, with the values that the planner has chosen */
};

#endif
