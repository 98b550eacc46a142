/*
 * paths.h - the folder of the NIC profiles, and file names that stay valid after -d.
 *
 * The folder is that of --data-dir. Without it, drivers-config of the source tree if the program is
 * in its build folder, otherwise that of the install prefix. Both are found by the program's own
 * path.
 *
 * Thread: main, at start.
 */
#ifndef CLOCKOO_PATHS_H
#define CLOCKOO_PATHS_H

#include "config/config.h"

#define PATH_BYTES 512u

/* Makes a file name absolute, since -d leaves the current directory. Links stay in the name and are
 * followed at each opening, since an operator may exchange them. False if the current directory has
 * no name. */
bool paths_make_absolute(char *path, size_t bytes, const char *name);

/* Returns the tool that binds NICs, as an operator calls it: tools/nic of the source tree if the
 * program is in its build folder, otherwise the installed one. */
const char *paths_nic_tool(void);

bool paths_profile_folder(char folder[PATH_BYTES], const struct config *cfg, struct error *err);

#endif
