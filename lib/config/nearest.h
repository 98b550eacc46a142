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
	const char *best; /* NULL: none is near enough to be meant */
	uint32_t distance;
};

void nearest_begin(struct nearest *n, const char *word);
/* written: how the candidate is offered; compared: what is compared with the word. */
void nearest_offer(struct nearest *n, const char *written, const char *compared);

/* Letters to insert, delete, change or swap with their neighbour to get from one to the other. */
uint32_t nearest_distance(const char *a, const char *b);

#endif
