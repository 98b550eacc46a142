/*
 * asked.h - which evicted keys are read again soon, and not stored.
 *
 * Ghosts (ghost.h) show that a key was evicted too early when a set stores it again. They do not
 * see a value that is written once, and later read once: its read misses, and no set follows. So
 * the evictions of a sample of all keys are noted here, and each read that misses searches for a
 * note of its key. A set of the key removes the note, since its ghost counts then.
 *
 * Shape:  groups of four entries of 64 bits, found by the hash; a new one pushes out the oldest. An
 *         entry counts once, so a client that polls a key has no further effect.
 * Owner:  the store's private memory; not kept over a restart.
 * Thread: any core, without a lock: entries are hints. A class's waits are under its lock.
 * Bounds: the sample is one key in 2^shift, so that it covers 4,096 to 8,191 items of the class
 *         with most objects. 32 bits of the hash identify a key. A call reads one group.
 */
#ifndef CLOCKOO_ASKED_H
#define CLOCKOO_ASKED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASKED_GROUPS    4096u
#define ASKED_A_GROUP   4u
#define ASKED_ITEMS     4096u /* least number of items of the largest class in the sample */
#define ASKED_SHIFT_MAX 15u
#define ASKED_CLASSES   256u
#define ASKED_AGE_BITS  22u
/* Probation is too short if reads asked for 1/ASKED_PART of the evicted keys, and for ASKED_MIN at
 * least. */
#define ASKED_PART 200u
#define ASKED_MIN  4u
/* Counts lose 1/ASKED_FORGET of themselves each time they are judged. */
#define ASKED_FORGET 4u
/* Windows to wait before a shorter probation is tried: at first, and at most. A trial that fails
 * multiplies the next wait by ASKED_WAIT_TIMES. */
#define ASKED_WAIT_FIRST 32u
#define ASKED_WAIT_MOST  512u
#define ASKED_WAIT_TIMES 4u

/* Counts of a class: evictions noted, and those that a read asked for. [0]: from probation, [1]: by
 * the CLOCK hand. */
struct asked_class {
	_Atomic uint32_t left[2], asked[2];
	_Atomic uint32_t out;     /* evictions of the class, noted or not; the count wraps */
	_Atomic uint32_t objects; /* objects of the class */
	/* Windows that the first trial waits; 0: no read has asked for a key. */
	uint32_t longest;
	/* Windows that the next trial waits in all, and those left of them. */
	uint32_t wait, waited;
	uint32_t quiet;  /* windows since the last wait ended */
	uint32_t enough; /* the step of probation before it was last made shorter */
	bool fell;       /* probation was made shorter since it was last too short */
};

struct asked {
	_Atomic uint64_t entry[ASKED_GROUPS][ASKED_A_GROUP]; /* the latest first; 0: none */
	/* A key is in the sample if these bits of its hash are 0. */
	_Atomic uint32_t mask;
	/* Log2 of the sample's part, and the class whose objects decide it. */
	_Atomic uint32_t shift, shift_class;
	struct asked_class class[ASKED_CLASSES];
};

/* Layout of an entry, from the top: 32 bits of hash, 8 of class, ASKED_KEPT, ASKED_TAKEN, age in
 * units of 2^shift evictions. */
#define ASKED_KEPT  (1ull << 23)
#define ASKED_TAKEN (1ull << 22)
#define ASKED_AGE   ((1ull << ASKED_AGE_BITS) - 1)

static inline uint32_t
asked_shift(const struct asked *a)
{
	return atomic_load_explicit(&a->shift, memory_order_relaxed);
}

/* True if keys with this hash are in the sample. */
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

/* Notes the eviction of an item: by the CLOCK hand (kept), or from probation. */
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

/* True if a longer probation would have kept the item: since its eviction less than half of the
 * class was evicted. */
static inline bool
asked_in_time(const struct asked *a, uint64_t entry)
{
	const struct asked_class *c = &a->class[entry >> 24 & 0xff];
	const uint32_t shift = asked_shift(a);
	const uint64_t age = ((asked_load(&c->out) >> shift) - entry) & ASKED_AGE;

	return age <= asked_load(&c->objects) >> shift >> 1;
}

/* Counts a read that misses, if it is the first one of a noted key. */
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

/* Removes the note of a key that is stored, and uncounts the read that asked for it. */
static inline void
asked_stored(struct asked *a, uint64_t hash)
{
	_Atomic uint64_t *at = asked_find(a, hash);
	const uint64_t entry = at != NULL ? atomic_load_explicit(at, memory_order_relaxed) : 0;
	_Atomic uint32_t *n = &a->class[entry >> 24 & 0xff].asked[(entry & ASKED_KEPT) != 0];

	if (entry == 0)
		return;
	atomic_store_explicit(at, 0, memory_order_relaxed);
	/* Two cores may uncount the same read. The count is a hint, and does not fall below 0. */
	if ((entry & ASKED_TAKEN) != 0 && asked_load(n) != 0)
		asked_add(n, UINT32_MAX);
}

/* ---- under the class's lock ---- */

/* Sets a class's number of objects. The class with most objects decides the size of the sample. */
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

/* True if reads ask for enough of the keys evicted on probation (tried), and more than twice as
 * often as for those that the CLOCK hand evicted (kept). */
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

/* Notes that probation was too short at this step. Returns the step to continue from: the one that
 * was long enough, if probation had been made shorter; then the next trial waits longer, too. */
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

/* True if a step shorter than this may be tried. The first trial waits longest. Each trial that no
 * read refutes halves the next wait. */
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
