/*
 * fleet_spec.h - reads and checks the fleet that a configuration names, before anything is
 * started.
 *
 * Shape:  its configuration, its plan, and its ring with all servers live. No name is looked up.
 * Owner:  the caller, from fleet_spec_read to fleet_spec_free.
 * Thread: main, control.
 * Errors: struct error: the option, and what is wrong with it. Refused are a server that can
 *         never be reached, one that is named twice, and one in the gutter that is also a
 *         server.
 */
#ifndef CLOCKOO_FLEET_SPEC_H
#define CLOCKOO_FLEET_SPEC_H

#include "front/front_options.h"
#include "front/front_plan.h"

struct fleet_spec {
	struct front_config config;
	struct front_plan plan;
	struct front_ring *ring;
};

/* Makes the look. *spec is NULL if the configuration names no fleet. */
bool fleet_spec_read(struct fleet_spec **spec, const struct config *cfg, struct error *err);
#define FLEET_SPEC_SIZE_BYTES 100u
/* Writes the number of connections: "4 servers, 2 connections to each from 2 cores, 8 in all". */
void fleet_spec_size(const struct fleet_spec *spec, const struct config *cfg,
		     char words[FLEET_SPEC_SIZE_BYTES]);
void fleet_spec_free(struct fleet_spec *spec);

#endif
