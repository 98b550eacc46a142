/*
 * front_options.h - makes a front's configuration of the operator's options.
 *
 * Owner:  the caller.
 * Thread: any; it reads the file of servers, if there is one.
 * Errors: struct error: the option, and what is wrong with its value.
 */
#ifndef CLOCKOO_FRONT_OPTIONS_H
#define CLOCKOO_FRONT_OPTIONS_H

#include "config/config.h"
#include "front_config.h"

/* Reads options that name a fleet (config_has_front). */
bool front_options_read(struct front_config *front, const struct config *options,
			struct error *err);

#endif
