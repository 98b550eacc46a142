/*
 * store_plan.h - how a store's memory is divided.
 *
 * Thread: at start.
 */
#ifndef CLOCKOO_STORE_PLAN_H
#define CLOCKOO_STORE_PLAN_H

#include "store/store.h"

struct store_plan {
	uint32_t shift;                  /* shift of a reference (arena.h) */
	uint32_t page_shift, page_count; /* all pages, including those of the index */
	uint32_t bucket_count;           /* buckets at the start */
	uint32_t bucket_step;            /* the index is resized by multiples of this; 0: never */
	uint32_t reserve;                /* pages of the reserve */
	uint32_t ghost_groups;           /* 0: the policy has no ghosts */
};

/* Returns the policy of a store. One that never evicts has eviction_clock. */
const struct eviction_policy *store_policy(const struct store_config *cfg);
/* Returns the longest value that is possible without a limit. */
uint32_t store_value_most(const struct store_config *cfg);

struct store_plan store_plan_of(const struct store_config *cfg);
/* Computes the parts of a plan that options choose. Its pages must be set. */
void store_plan_rest(const struct store_config *cfg, struct store_plan *plan);
/* Makes a store with this plan. Tests make the index so small that all keys collide. */
struct store *store_create_planned(struct region *region, const struct store_config *cfg,
				   const struct store_plan *plan);

#endif
