/*
 * paths.h - the directory of the NIC profiles; file names that stay valid in any directory.
 *
 * The directory is that of --data-dir, else drivers-config of the source tree in which the
 * program was built, else that of the install prefix. The last two are found from the program's
 * own path.
 *
 * Thread: main, at start.
 */
#ifndef CLOCKOO_PATHS_H
#define CLOCKOO_PATHS_H

#include "config/config.h"

#define PATH_BYTES 512u

/* Makes a file name absolute, as -d leaves the directory that a relative one refers to. Links in
 * the name are followed when it is opened, since an operator may exchange them. False if the
 * current directory has no name. */
bool paths_make_absolute(char *path, size_t bytes, const char *name);

/* Returns the tool that binds NICs as an operator calls it: tools/nic in the source tree, when the
 * program is in a folder of it, else the installed one. */
const char *paths_nic_tool(void);

bool paths_profile_folder(char folder[PATH_BYTES], const struct config *cfg, struct error *err);

#endif
