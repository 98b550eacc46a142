/*
 * front_look.h - reads and checks the fleet that a configuration names, before anything is
 * started.
 *
 * Shape:  its configuration, its plan, and its ring with all servers live. No name is looked up.
 * Owner:  the caller, from front_look_make to front_look_free.
 * Thread: main, control.
 * Errors: struct error: the option, and what is wrong with it. Refused are a server that can
 *         never be reached, one that is named twice, and one in the gutter that is also a
 *         server.
 */
#ifndef CLOCKOO_FRONT_LOOK_H
#define CLOCKOO_FRONT_LOOK_H

#include "front/front_options.h"
#include "front/front_plan.h"

struct front_look {
	struct front_config config;
	struct front_plan plan;
	struct front_ring *ring;
};

/* Makes the look. *look is NULL if the configuration names no fleet. */
bool front_look_make(struct front_look **look, const struct config *cfg, struct error *err);
#define FRONT_LOOK_SIZE_BYTES 100u
/* Writes the number of connections: "4 servers, 2 connections to each from 2 cores, 8 in all". */
void front_look_size(const struct front_look *look, const struct config *cfg,
		     char words[FRONT_LOOK_SIZE_BYTES]);
void front_look_free(struct front_look *look);

#endif
