/*
 * asked.h - which evicted keys are read again soon, and not stored.
 *
 * Ghosts (ghost.h) find a key that a set stores again. A value that is written once and read once
 * some time later is not stored again: its read misses, and nothing follows. So the evictions of a
 * part of all keys are noted here, and every read that misses looks for its note. A set of the key
 * removes the note, since the ghost counts that return.
 *
 * Shape:  groups of four entries of 64 bits, found by the hash; a new one pushes out the oldest.
 *         An entry counts once, so a client that polls a key moves nothing.
 * Owner:  the store's private memory; not kept over a restart.
 * Thread: any core, without a lock: entries are hints. A class's wait is under its lock.
 * Bounds: one key in 2^shift, so that 4,096 to 8,191 items of the class with most objects are
 *         noted; 32 bits of the hash identify a key. One group a call.
 */
#ifndef CLOCKOO_ASKED_H
#define CLOCKOO_ASKED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASKED_GROUPS    4096u
#define ASKED_A_GROUP   4u
#define ASKED_ITEMS     4096u /* of the largest class, noted at least */
#define ASKED_SHIFT_MAX 15u
#define ASKED_CLASSES   256u
#define ASKED_AGE_BITS  22u
/* Probation is too short if one in ASKED_PART of the evictions is asked for, and ASKED_MIN at
 * least. */
#define ASKED_PART 200u
#define ASKED_MIN  4u
/* Counts lose this part of themselves each time they are judged. */
#define ASKED_FORGET 4u
/* Windows until a shorter probation is tried: the first time, and at most. A trial that fails makes
 * the next wait ASKED_WAIT_TIMES as long. */
#define ASKED_WAIT_FIRST 32u
#define ASKED_WAIT_MOST  512u
#define ASKED_WAIT_TIMES 4u

/* Per-class counts, from probation and by the CLOCK hand: noted evictions, and those asked for. */
struct asked_class {
	_Atomic uint32_t left[2], asked[2];
	_Atomic uint32_t out;     /* evictions, noted or not; it wraps */
	_Atomic uint32_t objects; /* of the class */
	uint32_t longest;         /* windows that the first trial waits; 0: nothing was asked for */
	uint32_t wait, waited;    /* windows that the next trial waits; those left */
	uint32_t quiet;           /* windows since no trial waits */
	uint32_t enough;          /* the step that probation had before it became shorter */
	bool fell;                /* probation became shorter since it was too short last */
};

struct asked {
	_Atomic uint64_t entry[ASKED_GROUPS][ASKED_A_GROUP]; /* the latest first; 0: none */
	_Atomic uint32_t mask;               /* bits of a hash that are 0 if its key is noted */
	_Atomic uint32_t shift, shift_class; /* the class whose objects decide the shift */
	struct asked_class class[ASKED_CLASSES];
};

/* Layout of an entry: 32 bits of hash, 8 of class, kept, taken, age in 2^shift evictions. */
#define ASKED_KEPT  (1ull << 23)
#define ASKED_TAKEN (1ull << 22)
#define ASKED_AGE   ((1ull << ASKED_AGE_BITS) - 1)

static inline uint32_t
asked_shift(const struct asked *a)
{
	return atomic_load_explicit(&a->shift, memory_order_relaxed);
}

/* True if keys with this hash are noted. */
static inline bool
asked_notes(const struct asked *a, uint64_t hash)
{
	return ((uint32_t)hash & atomic_load_explicit(&a->mask, memory_order_relaxed)) == 0;
}

static inline _Atomic uint64_t *
asked_group(struct asked *a, uint64_t hash)
{
	return a->entry[(hash >> 32) * ASKED_GROUPS >> 32];
}

static inline uint64_t
asked_entry(uint64_t hash, uint32_t class)
{
	return (hash * 0x9e3779b97f4a7c15ull & 0xffffffff00000000ull) | (uint64_t) class << 24;
}

static inline void
asked_add(_Atomic uint32_t *n, uint32_t more)
{
	atomic_fetch_add_explicit(n, more, memory_order_relaxed);
}

static inline uint32_t
asked_load(const _Atomic uint32_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

/* Notes the eviction of an item: from probation, or (kept) by the CLOCK hand. */
static inline void
asked_note(struct asked *a, uint32_t class, uint64_t hash, bool kept)
{
	struct asked_class *c = &a->class[class];
	const uint64_t age = asked_load(&c->out) >> asked_shift(a) & ASKED_AGE;
	uint64_t entry = asked_entry(hash, class) | (kept ? ASKED_KEPT : 0) | age;
	_Atomic uint64_t *group = asked_group(a, hash);

	asked_add(&c->left[kept], 1);
	/* Relaxed: nothing is read through it. */
	for (uint32_t i = 0; i < ASKED_A_GROUP; i++) {
		const uint64_t was = atomic_load_explicit(&group[i], memory_order_relaxed);

		atomic_store_explicit(&group[i], entry, memory_order_relaxed);
		entry = was;
	}
}

static inline _Atomic uint64_t *
asked_find(struct asked *a, uint64_t hash)
{
	_Atomic uint64_t *group = asked_group(a, hash);
	const uint64_t wanted = asked_entry(hash, 0) >> 32;

	for (uint32_t i = 0; i < ASKED_A_GROUP; i++)
		if (atomic_load_explicit(&group[i], memory_order_relaxed) >> 32 == wanted)
			return &group[i];
	return NULL;
}

/* True if a longer probation would have kept the item: less than half of the class was evicted
 * since. */
static inline bool
asked_in_time(const struct asked *a, uint64_t entry)
{
	const struct asked_class *c = &a->class[entry >> 24 & 0xff];
	const uint32_t shift = asked_shift(a);
	const uint64_t age = ((asked_load(&c->out) >> shift) - entry) & ASKED_AGE;

	return age <= asked_load(&c->objects) >> shift >> 1;
}

/* Counts the first read of a noted key that misses. */
static inline void
asked_missed(struct asked *a, uint64_t hash)
{
	_Atomic uint64_t *at = asked_find(a, hash);
	const uint64_t entry = at != NULL ? atomic_load_explicit(at, memory_order_relaxed) : 0;

	if (entry == 0 || (entry & ASKED_TAKEN) != 0)
		return;
	if (!asked_in_time(a, entry)) {
		atomic_store_explicit(at, 0, memory_order_relaxed);
		return;
	}
	atomic_store_explicit(at, entry | ASKED_TAKEN, memory_order_relaxed);
	asked_add(&a->class[entry >> 24 & 0xff].asked[(entry & ASKED_KEPT) != 0], 1);
}

/* Removes the note of a key that is stored, and what a read of it has counted. */
static inline void
asked_stored(struct asked *a, uint64_t hash)
{
	_Atomic uint64_t *at = asked_find(a, hash);
	const uint64_t entry = at != NULL ? atomic_load_explicit(at, memory_order_relaxed) : 0;
	_Atomic uint32_t *n = &a->class[entry >> 24 & 0xff].asked[(entry & ASKED_KEPT) != 0];

	if (entry == 0)
		return;
	atomic_store_explicit(at, 0, memory_order_relaxed);
	/* Two cores may take back one question: the count is a hint, and no less than none. */
	if ((entry & ASKED_TAKEN) != 0 && asked_load(n) != 0)
		asked_add(n, UINT32_MAX);
}

/* ---- under the class's lock ---- */

/* Sets a class's number of objects. The class with most objects decides how many keys are noted. */
static inline void
asked_resize(struct asked *a, uint32_t class, uint32_t objects)
{
	const uint32_t times = objects / ASKED_ITEMS;
	uint32_t shift = times < 2 ? 0 : 31 - (uint32_t)__builtin_clz(times);

	shift = shift < ASKED_SHIFT_MAX ? shift : ASKED_SHIFT_MAX;
	atomic_store_explicit(&a->class[class].objects, objects, memory_order_relaxed);
	if (shift <= asked_shift(a) && asked_load(&a->shift_class) != class)
		return;
	atomic_store_explicit(&a->shift_class, class, memory_order_relaxed);
	atomic_store_explicit(&a->shift, shift, memory_order_relaxed);
	atomic_store_explicit(&a->mask, (1u << shift) - 1, memory_order_relaxed);
}

/* True if enough of the keys evicted on probation are asked for again, and more often than those
 * that the CLOCK hand evicted. tried: keys on probation; kept: others. */
static inline bool
asked_for(const struct asked_class *c)
{
	const uint64_t tried = asked_load(&c->asked[0]), kept = asked_load(&c->asked[1]);
	const uint64_t tried_left = asked_load(&c->left[0]), kept_left = asked_load(&c->left[1]);

	return tried >= ASKED_MIN && tried * ASKED_PART > tried_left + kept_left &&
	       tried * (kept_left + 1) > 2 * kept * (tried_left + 1);
}

/* Counts lose a part of themselves at the end of each window. */
static inline void
asked_forget(struct asked_class *c)
{
	for (uint32_t i = 0; i < 2; i++) {
		atomic_fetch_sub_explicit(&c->left[i], asked_load(&c->left[i]) / ASKED_FORGET,
					  memory_order_relaxed);
		atomic_fetch_sub_explicit(
			&c->asked[i], (asked_load(&c->asked[i]) + ASKED_FORGET - 1) / ASKED_FORGET,
			memory_order_relaxed);
	}
}

/* Notes that probation was too short at this step, and returns the step to continue from: if
 * probation had become shorter, the step that was long enough. The next trial waits longer then. */
static inline uint32_t
asked_rises(struct asked_class *c, uint32_t step)
{
	const uint32_t longer = c->longest * ASKED_WAIT_TIMES;

	if (c->longest == 0)
		c->longest = ASKED_WAIT_FIRST;
	else if (c->fell)
		c->longest = longer < ASKED_WAIT_MOST ? longer : ASKED_WAIT_MOST;
	if (c->fell && step < c->enough)
		step = c->enough;
	c->fell = false;
	c->quiet = 0;
	c->wait = c->waited = c->longest;
	return step;
}

/* True if probation may become shorter than at this step. The first trial waits longest; each trial
 * that no read refutes halves the next wait. */
static inline bool
asked_lets_fall(struct asked_class *c, uint32_t step)
{
	if (c->waited != 0) {
		c->waited--;
		return false;
	}
	if (c->fell)
		c->wait /= 2;
	else
		c->enough = step;
	c->fell = true;
	c->waited = c->wait;
	if (c->wait == 0 && c->quiet++ == ASKED_WAIT_MOST)
		c->longest = c->enough = 0;
	return true;
}

#endif
