/*
 * magazine.h - one core's free objects of a class, and its stretches of the class's hands.
 *
 * Shape:  a stack of references; for each hand the stretch of states that this core passes.
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

/* Words [word, end) of a page's states. */
struct stretch {
	uint32_t page;
	uint16_t word, end;
};

struct magazine {
	_Atomic uint32_t count;
	uint32_t ref[MAGAZINE_MAX];
	struct stretch clock_stretch, new_stretch; /* what is left of each hand's stretch */
	/* Objects requested by the last refill; 0: the magazine was emptied since. */
	uint32_t refill;
	/* The core's count of items linked in the class, at its last eviction there. */
	uint32_t evicted_at;
};

/* Relaxed: only its own core acts on the count. */
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

/* Returns how many objects fill an empty magazine of a class with this batch. Few at first: each
 * free object holds the reference of the next one, so the core waits for memory once for each
 * object. */
static inline uint32_t
magazine_refill(const struct magazine *m, uint32_t batch)
{
	const uint32_t want = m->refill == 0 ? MAGAZINE_REFILL_FIRST : batch;

	return want < batch ? want : batch;
}

#endif
