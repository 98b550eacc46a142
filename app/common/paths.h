/*
 * paths.h - where the NIC profiles are; names that stay right in any directory.
 *
 * --data-dir if given; else drivers-config of the source tree the program was built in, else of
 * the place it was installed to. Both are found from where the program itself is.
 */
#ifndef CLOCKOO_PATHS_H
#define CLOCKOO_PATHS_H

#include "config/config.h"

#define PATH_BYTES 512u

/* -d leaves the directory in which a relative name was right. What the name leads to is looked up
 * when it is opened, since an operator may have exchanged it. False: the directory has no name. */
bool paths_make_absolute(char *path, size_t bytes, const char *name);

/* The tool that binds NICs, as the operator calls it: in the source tree, of which the program
 * stands in a directory, tools/nic; else both are installed. */
const char *paths_nic_tool(void);

bool paths_profile_folder(char folder[PATH_BYTES], const struct config *cfg, struct error *err);

#endif
