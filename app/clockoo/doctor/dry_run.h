/*
 * dry_run.h - a start without its effects: profile, placement, plan, sizes and advice, as --plan
 * and doctor print them.
 *
 * Owner:  the caller, from dry_run_make to dry_run_close.
 * Thread: main.
 * Errors: struct error; on false nothing is left open.
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
/* Adds the advice on a process that runs with this configuration. */
void dry_run_check_process(struct dry_run *p, const struct config *cfg, uint32_t pid);
void dry_run_close(struct dry_run *p);

#endif
