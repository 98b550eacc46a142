/*
 * front_options.h - converts the operator's options to a front's configuration.
 *
 * Owner:  the caller.
 * Thread: any; a file of servers is read.
 * Errors: struct error: the option and what is wrong with its value.
 */
#ifndef CLOCKOO_FRONT_OPTIONS_H
#define CLOCKOO_FRONT_OPTIONS_H

#include "config/config.h"
#include "front_config.h"

/* Converts options that name a fleet (config_has_front). */
bool front_options_read(struct front_config *front, const struct config *options,
			struct error *err);

#endif
