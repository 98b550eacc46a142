/*
 * paths.h - the directory of the NIC profiles; file names that stay valid in any directory.
 *
 * The directory is --data-dir; else drivers-config of the source tree in which the program was
 * built; else that of the prefix to which it was installed. Both are found from the program's own
 * path.
 *
 * Thread: main, at start.
 */
#ifndef CLOCKOO_PATHS_H
#define CLOCKOO_PATHS_H

#include "config/config.h"

#define PATH_BYTES 512u

/* -d leaves the directory to which a relative name refers. Links in the name are followed when it
 * is opened, since an operator may exchange them. False: the current directory has no name. */
bool paths_make_absolute(char *path, size_t bytes, const char *name);

/* The tool that binds NICs, as the operator calls it: in the source tree, of which the program
 * stands in a directory, tools/nic; else both are installed. */
const char *paths_nic_tool(void);

bool paths_profile_folder(char folder[PATH_BYTES], const struct config *cfg, struct error *err);

#endif
