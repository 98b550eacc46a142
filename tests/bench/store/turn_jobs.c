/*
 * turn_jobs.c - a clock around each background job of the store.
 */
#include "turn_jobs.h"

#include "bench_load.h"
#include "store/evacuate.h"
#include "store/evict.h"
#include "store/expire.h"
#include "index/path.h"
#include "store/rebalance.h"
#include "store/resize.h"
#include "store/retire_list.h"
#include "store/sweep.h"

#ifdef TURNS_COUNTED
#include "traced.h"
#endif

#include <string.h>

bool turn_jobs_on;
struct turn_jobs turn_jobs;

static uint64_t inner_ns; /* time of jobs that the present one has called */

#ifdef TURNS_COUNTED

static uint64_t accesses;

void
traced_access(uintptr_t at, uint32_t bytes, bool is_write, const void *from)
{
	(void)at, (void)bytes, (void)is_write, (void)from;
	accesses++;
}

uint64_t
turn_clock(void)
{
	return accesses;
}

#else

uint64_t
turn_clock(void)
{
	return bench_ns();
}

#endif

const char *
turn_job_name(enum turn_job job)
{
#define TURN_JOB_NAME(function, name, words) name,
	static const char *const names[] = {TURN_JOB_FUNCTIONS(TURN_JOB_NAME)};

	return names[job];
}

void
turn_jobs_begin(void)
{
	memset(&turn_jobs, 0, sizeof turn_jobs);
}

struct clock {
	uint64_t from, outer;
};

static inline struct clock
clock_begin(void)
{
	const struct clock c = {turn_jobs_on ? turn_clock() : 0, inner_ns};

	inner_ns = 0;
	return c;
}

static inline void
clock_end(enum turn_job job, struct clock c)
{
	const uint64_t all = turn_jobs_on ? turn_clock() - c.from : 0;

	turn_jobs.ns[job] += (uint32_t)(all - inner_ns);
	turn_jobs.calls[job]++;
	inner_ns = c.outer + all;
}

/* Wraps a function. Arguments: the function, its parameters with their types, and the parameters'
 * names. */
#define WRAP_VOID(function, parameters, names)                                                     \
	void __real_##function parameters;                                                         \
	void __wrap_##function parameters;                                                         \
	void __wrap_##function parameters                                                          \
	{                                                                                          \
		const struct clock c = clock_begin();                                              \
                                                                                                   \
		__real_##function names;                                                           \
		clock_end(JOB_##function, c);                                                      \
	}

#define WRAP(result, function, parameters, names)                                                  \
	result __real_##function parameters;                                                       \
	result __wrap_##function parameters;                                                       \
	result __wrap_##function parameters                                                        \
	{                                                                                          \
		const struct clock c = clock_begin();                                              \
		const result r = __real_##function names;                                          \
                                                                                                   \
		clock_end(JOB_##function, c);                                                      \
		return r;                                                                          \
	}

#define SC struct store_core *sc

WRAP_VOID(retire_list_reclaim, (SC), (sc))
WRAP(uint32_t, slab_empty_magazine, (struct slab * sl, struct magazine *mags, uint32_t class),
     (sl, mags, class))
WRAP_VOID(rebalance_turn, (SC), (sc))
WRAP_VOID(rebalance_evacuate, (SC, enum evacuation_for why, uint32_t pages), (sc, why, pages))
WRAP(bool, slab_evacuate_start, (struct slab * sl, uint32_t class), (sl, class))
WRAP(bool, evacuate_batch, (SC, uint32_t *work, uint32_t until, bool hurry),
     (sc, work, until, hurry))
WRAP_VOID(resize_turn, (SC), (sc))
WRAP(bool, resize_more, (SC), (sc))
WRAP(bool, migrate, (struct index_core * ic, uint32_t *deferred, uint32_t most),
     (ic, deferred, most))
WRAP(bool, path_free_slot,
     (struct index_core * ic, const struct place *p, const uint32_t *avoid, uint32_t avoid_count),
     (ic, p, avoid, avoid_count))
WRAP_VOID(sweep_turn, (SC), (sc))
WRAP_VOID(sweep_on_demand, (SC), (sc))
WRAP_VOID(sweep_slice, (SC), (sc))
WRAP(uint32_t, evict_for_memory, (SC, uint32_t class, uint32_t max), (sc, class, max))
WRAP(uint32_t, expire_for_memory, (SC, uint32_t class, uint32_t want), (sc, class, want))
WRAP(uint32_t, evict_chosen, (SC, uint32_t class, uint32_t max), (sc, class, max))
WRAP_VOID(rebalance_step, (SC), (sc))
WRAP_VOID(resize_consider, (SC), (sc))
WRAP(bool, slab_index_claim, (struct slab * sl), (sl))
