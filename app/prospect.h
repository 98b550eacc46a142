/*
 * prospect.h - an appliance thought through to the end, but not started: what --plan and doctor
 * print.
 *
 * Owner:  the caller, from prospect_make to prospect_close.
 * Thread: main.
 * Errors: struct fault; on false nothing is left open.
 */
#ifndef CLOCKOO_PROSPECT_H
#define CLOCKOO_PROSPECT_H

#include "appliance.h"
#include "layout/advice.h"

struct prospect {
	struct machine machine;
	struct profile profile;
	struct steer_plan steer;
	struct sizes sizes;
	struct advice_list advice;
};

bool prospect_make(struct prospect *p, struct config *cfg, struct fault *f);
void prospect_close(struct prospect *p);

#endif
