/*
 * magazine.h - free objects of one class that a core keeps at hand, and where its hands are.
 *
 * Shape:  a stack of references; for each hand a stretch of states that are its own to pass.
 *
 * Thread: its core; other cores read the count, for figures.
 *
 * Bounds: MAGAZINE_MAX objects.
 */
#ifndef CLOCKOO_MAGAZINE_H
#define CLOCKOO_MAGAZINE_H

#include <stdatomic.h>
#include <stdint.h>

#define MAGAZINE_BATCH_MAX    32u
#define MAGAZINE_MAX          (4 * MAGAZINE_BATCH_MAX)
#define MAGAZINE_REFILL_FIRST 4u

/* Words of a page's states, from word on and below end. */
struct stretch {
	uint32_t page;
	uint16_t word, end;
};

struct magazine {
	_Atomic uint32_t count;
	uint32_t ref[MAGAZINE_MAX];
	struct stretch clock_stretch, new_stretch; /* the rest of each hand's stretch */
	uint32_t refill; /* objects asked for when it was filled last; 0: it was emptied since */
	uint32_t evicted_at; /* items linked in the class when this core last evicted there */
};

/* Relaxed: to its core it is a number like any other. */
static inline uint32_t
magazine_count(const struct magazine *m)
{
	return atomic_load_explicit(&m->count, memory_order_relaxed);
}

static inline void
magazine_set(struct magazine *m, uint32_t count)
{
	atomic_store_explicit(&m->count, count, memory_order_relaxed);
}

/* Returns the number of objects that fill an empty magazine of a class with this batch: few at
 * first, since each free object names the next one, and the processor waits for their memory one
 * after the other. */
static inline uint32_t
magazine_refill(const struct magazine *m, uint32_t batch)
{
	const uint32_t want = m->refill == 0 ? MAGAZINE_REFILL_FIRST : batch;

	return want < batch ? want : batch;
}

#endif
