/*
 * store_plan.h - what a store's memory is cut into.
 *
 * Thread: at start.
 */
#ifndef CLOCKOO_STORE_PLAN_H
#define CLOCKOO_STORE_PLAN_H

#include "store/store.h"

struct store_plan {
	uint32_t shift;                  /* of a reference (arena.h) */
	uint32_t page_shift, page_count; /* all pages, those of the index too */
	uint32_t bucket_count;           /* at the start */
	uint32_t bucket_step;            /* the index changes by multiples of this; 0: never */
	uint32_t reserve;                /* pages */
	uint32_t ghost_groups;           /* 0: the policy has none */
};

/* Returns the policy of a store. One that never evicts has eviction_clock. */
const struct eviction_policy *store_policy(const struct store_config *cfg);
/* Returns the longest value without a limit. */
uint32_t store_value_most(const struct store_config *cfg);

struct store_plan store_plan_of(const struct store_config *cfg);
/* Computes the rest of a plan whose pages are given: the parts that options choose. */
void store_plan_rest(const struct store_config *cfg, struct store_plan *plan);
/* A store with this plan: tests make the index so small that everything collides. */
struct store *store_create_planned(struct region *region, const struct store_config *cfg,
				   const struct store_plan *plan);

#endif
