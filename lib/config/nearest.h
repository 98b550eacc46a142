/*
 * nearest.h - the known word that is nearest to a misspelt one.
 *
 * Shape:  begin with the word, offer every candidate, then read best.
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
/* Offers a candidate: compared is compared with the word, written becomes best. */
void nearest_offer(struct nearest *n, const char *written, const char *compared);

/* Returns how many letters must be inserted, deleted, changed or swapped with their neighbour to
 * turn one word into the other. */
uint32_t nearest_distance(const char *a, const char *b);

#endif
