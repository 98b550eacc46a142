/*
 * cut_run.h - a run of cuts.c: writers on a store of few keys, whose memory is watched.
 *
 * Shape:  one writer, or two that take turns at the store's gaps (cut_two.c), each with keys of
 *         its own.
 * Thread: one.
 * Errors: a broken rule is printed, and ends the process (lie).
 */
#ifndef CLOCKOO_CUT_RUN_H
#define CLOCKOO_CUT_RUN_H

#include "cut_look.h"
#include "reopen.h"

#define CUT_VALUE_MAX   200000u /* of values in chunks */
#define CUT_WRITERS_MAX 2u

struct shape {
	const char *name;
	uint32_t writers;           /* 0: one */
	size_t limit;               /* bytes of the memory limit; 0: none */
	uint32_t large_of;          /* one value in this many is large; 0: none */
	uint32_t buckets, more;     /* the index is resized between the two; 0: never */
	uint32_t bucket_step;       /* of `buckets` and `more` */
	uint32_t flush_of, page_of; /* one call in this many; 0: none */
	uint32_t limit_of;          /* calls between changes of the memory limit; 0: never */
	uint32_t look_of;           /* cuts between checks of the index; 0: at each */
	uint32_t calls;
	bool never_evict;
	bool calm; /* few deletes, and no expiry */
};

struct writer {
	struct store_core *core;
	const char *doing;
	struct version scratch; /* the version that its present call leaves */
	uint8_t *value_bytes;   /* room for CUT_VALUE_MAX */
};

/* Counts of successors. */
struct cut_shared {
	uint64_t openings, opening_cuts, third; /* watched openings; cuts in them; third openings */
};

struct run {
	const struct shape *shape;
	struct store_config cfg;
	struct store *store;
	struct writer writers[CUT_WRITERS_MAX];
	struct writer *w; /* whose turn it is */
	struct model model;
	uint64_t random;
	uint32_t now_s, call;
	uint32_t due_generation; /* the generation in which a delayed flush was requested */
	uint32_t alone;          /* not 0: no other writer may run */
	uint32_t amid;           /* writers amid a call */
	uint64_t cuts, moving_cuts, claim_cuts, end_cuts, switches, refused, successors;
	struct cut_shared *shared;
	uint32_t successor_of; /* cuts between two with a successor */
	bool is_successor;
	uint8_t *beside; /* memory that ends with the process */
	size_t beside_bytes;
	bool caught;
};

/* ---- cut_calls.c ---- */

uint32_t roll(struct run *r, uint32_t sides);
void lie(struct run *r, const char *what);
/* Records which keys are misses, and the highest cas of the others. Both are known when no call
 * is under way. */
void settle(struct run *r);
void watch_evictions(struct run *r);
/* Makes a random call of a writer; then perhaps a flush, a resize, an evacuation
 * of a page; and a turn. */
void one_call(struct run *r);

static inline uint32_t
writers_of(const struct run *r)
{
	return r->shape->writers == 0 ? 1 : r->shape->writers;
}

/* ---- cut_next.c ---- */

/* Forks a successor, as if the process ended here. It opens the image, is checked, and
 * continues. */
void succeed(struct run *r);
/* Leaves the store as at a graceful stop and opens it elsewhere. Then creates an empty one over a
 * copy. */
void leave(struct run *r);

/* ---- cut_two.c ---- */

/* Makes this many calls of all writers, which take turns. */
void take_turns(struct run *r, uint32_t calls);

#endif
