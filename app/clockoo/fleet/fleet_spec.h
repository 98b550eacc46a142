/*
 * fleet_spec.h - reads and checks the fleet that a configuration names, without starting anything.
 *
 * Shape:  the configuration, its plan, and the ring of all servers, each taken as live. No name is
 *         looked up.
 * Owner:  the caller, from fleet_spec_read to fleet_spec_free.
 * Thread: main, control.
 * Errors: struct error: the option and its fault. Refused is a server that can never be reached,
 *         one that is named twice, and one that is both a server and in the gutter.
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

/* Reads the fleet. *spec is NULL if cfg names no servers. */
bool fleet_spec_read(struct fleet_spec **spec, const struct config *cfg, struct error *err);
#define FLEET_SPEC_SIZE_BYTES 100u
/* Writes the number of connections, as "4 servers, 2 connections to each from 2 cores, 8 in
 * all". */
void fleet_spec_size(const struct fleet_spec *spec, const struct config *cfg,
		     char words[FLEET_SPEC_SIZE_BYTES]);
void fleet_spec_free(struct fleet_spec *spec);

#endif
