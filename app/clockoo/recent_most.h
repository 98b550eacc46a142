/*
 * recent_most.h - the most of the last figures of a row: what rises and falls by a clock of its own
 * is shown by its heights.
 *
 * Shape:  plain data; zero is the begin.
 * Thread: one.
 * Bounds: RECENT_FIGURES.
 */
#ifndef CLOCKOO_RECENT_MOST_H
#define CLOCKOO_RECENT_MOST_H

#include <stdint.h>

/* A line a second, and copies that end together each 15/16 of a second (FRONT.md 4): so many lines
 * have met every moment between two ends. */
#define RECENT_FIGURES 16u

struct recent_most {
	uint64_t figure[RECENT_FIGURES];
	uint32_t next;
};

/* Adds a figure. Returns the most of the last RECENT_FIGURES. */
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
