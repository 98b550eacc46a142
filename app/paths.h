/*
 * paths.h - where the NIC profiles are.
 *
 * --data-dir if given; else drivers-config of the source tree the program was built in, else of
 * the place it was installed to. Both are found from where the program itself is.
 */
#ifndef CLOCKOO_PATHS_H
#define CLOCKOO_PATHS_H

#include "config/config.h"

#define PATH_BYTES 512u

bool paths_find_profile(char path[PATH_BYTES], const struct config *cfg, struct fault *f);

#endif
