/*
 * turn_jobs.h - measures how much of a turn's time each background job of the store takes.
 *
 * Shape:  the linker puts a clock around each job's function (--wrap, meson.build), so the store
 *         has no line for it. The time of a job that another job calls is subtracted from the
 *         caller's.
 *
 * Units:  nanoseconds, since turn_jobs_begin; with TURNS_COUNTED the store's accesses to memory,
 *         each as one: the figure is the same on any machine, but a cache miss counts no more
 *         than a hit.
 *
 * Thread: one.
 */
#ifndef CLOCKOO_TURN_JOBS_H
#define CLOCKOO_TURN_JOBS_H

#include <stdbool.h>
#include <stdint.h>

/* Arguments: the job's function, its name, and its work. */
#define TURN_JOB_FUNCTIONS(X)                                                                      \
	X(retire_list_reclaim, "free", "objects past their grace period")                          \
	X(slab_empty_magazine, "recall", "a magazine emptied")                                     \
	X(rebalance_turn, "rebalance", "pages collected")                                          \
	X(rebalance_evacuate, "demand", "pages for a set chosen")                                  \
	X(slab_evacuate_start, "choose", "a page to evacuate is looked for")                       \
	X(evacuate_batch, "evacuate", "some of a page")                                            \
	X(resize_turn, "resize", "pages cleared")                                                  \
	X(resize_more, "resize_set", "the same for a set without a slot")                          \
	X(migrate, "migrate", "buckets emptied")                                                   \
	X(path_free_slot, "path", "a cuckoo path")                                                 \
	X(sweep_turn, "sweep", "buckets, urgently")                                                \
	X(sweep_on_demand, "sweep_demand", "buckets, for a set")                                   \
	X(sweep_slice, "sweep_slice", "buckets, in housekeeping")                                  \
	X(evict_for_memory, "evict", "items ahead of need")                                        \
	X(expire_for_memory, "expire", "expired items ahead of need")                              \
	X(evict_chosen, "places", "items for those of a page")                                     \
	X(rebalance_step, "step", "which page moves")                                              \
	X(resize_consider, "consider", "how large the index is")                                   \
	X(slab_index_claim, "claim", "a page for the index")

#define TURN_JOB_SYMBOL(function, name, words) JOB_##function,
enum turn_job { TURN_JOB_FUNCTIONS(TURN_JOB_SYMBOL) TURN_JOBS };

struct turn_jobs {
	uint32_t ns[TURN_JOBS], calls[TURN_JOBS];
};

extern bool turn_jobs_on;
extern struct turn_jobs turn_jobs;

/* Returns the nanoseconds, or accesses, so far. */
uint64_t turn_clock(void);
const char *turn_job_name(enum turn_job job);
void turn_jobs_begin(void);

#endif
