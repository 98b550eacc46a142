/*
 * recent_most.h - the largest of the last figures of a series. A figure that rises and falls by
 * a clock of its own is shown by its peaks.
 *
 * Shape:  plain data; all zero at the beginning.
 * Thread: one.
 * Bounds: RECENT_FIGURES.
 */
#ifndef CLOCKOO_RECENT_MOST_H
#define CLOCKOO_RECENT_MOST_H

#include <stdint.h>

/* A line comes once a second, and copies that expire together do so every 15/16 of a second
 * (COHERENCE.md). This many lines meet every moment between two expiries. */
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
