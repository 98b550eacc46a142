/*
 * recent_most.h - the largest of the last figures of a series. It suits a figure that rises and
 * falls periodically, when only its peaks matter.
 *
 * Shape:  plain data; all zero at first.
 * Thread: one.
 * Bounds: RECENT_FIGURES.
 */
#ifndef CLOCKOO_RECENT_MOST_H
#define CLOCKOO_RECENT_MOST_H

#include <stdint.h>

/* Lines are 1 s apart, and copies that expire together do so every 15/16 s (COHERENCE.md). This
 * many lines fall on every moment between two expiries. */
#define RECENT_FIGURES 16u

struct recent_most {
	uint64_t figure[RECENT_FIGURES];
	uint32_t next;
};

/* Adds a figure. Returns the largest of the last RECENT_FIGURES. */
static inline uint64_t
recent_most_of(struct recent_most *r, uint64_t figure)
{
	uint64_t most = 0;

	r->figure[r->next++ % RECENT_FIGURES] = figure;
	for (uint32_t i = 0; i < RECENT_FIGURES; i++)
		most = r->figure[i] > most ? r->figure[i] : most;
	return most;
}

#endif
