/*
 * dry_run.h - computes what a start would do, without doing it: profile, placement, plan, sizes and
 * advice. --plan and doctor print it.
 *
 * Owner:  the caller, from dry_run_make to dry_run_close.
 * Thread: main.
 * Errors: struct error; nothing is left open then.
 */
#ifndef CLOCKOO_DRY_RUN_H
#define CLOCKOO_DRY_RUN_H

#include "access/access.h"
#include "fleet/fleet_spec.h"
#include "machine.h"
#include "start/sizes.h"
#include "steer/plan.h"
#include "topology/advice.h"

struct dry_run {
	struct machine machine;
	struct profile profile;
	struct steer_plan steer;
	struct sizes sizes;
	struct advice_list advice;
	struct access_lists access;
	struct fleet_spec *front; /* NULL: not a front */
};

bool dry_run_make(struct dry_run *p, struct config *cfg, struct error *err);
/* Adds advice on the running process of this configuration. */
void dry_run_check_process(struct dry_run *p, const struct config *cfg, uint32_t pid);
void dry_run_close(struct dry_run *p);

#endif
