/*
 * nearest.h - finds the known word that is nearest to a misspelt one.
 *
 * Shape:  the caller sets the word, offers every candidate, and then reads best.
 * Thread: pure functions.
 * Bounds: words are compared up to NEAREST_BYTES characters.
 */
#ifndef CLOCKOO_NEAREST_H
#define CLOCKOO_NEAREST_H

#include <stdint.h>

#define NEAREST_BYTES 64u

struct nearest {
	const char *word;
	const char *best; /* NULL: no candidate is near enough */
	uint32_t distance;
};

void nearest_begin(struct nearest *n, const char *word);
/* Offers a candidate. compared: its form for the comparison with the word; written: what best
 * becomes. */
void nearest_offer(struct nearest *n, const char *written, const char *compared);

/* Returns how many letters must be inserted, deleted, changed or swapped with their neighbour to
 * turn one word into the other. */
uint32_t nearest_distance(const char *a, const char *b);

#endif
