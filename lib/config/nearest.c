/*
 * nearest.c - finds the known word with the smallest Damerau distance.
 */
#include "nearest.h"

#include <stddef.h>
#include <string.h>

static uint32_t
least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Computes Damerau's distance, keeping the last three rows of its table. */
uint32_t
nearest_distance(const char *a, const char *b)
{
	const uint32_t a_len = (uint32_t)strnlen(a, NEAREST_BYTES);
	const uint32_t b_len = (uint32_t)strnlen(b, NEAREST_BYTES);
	uint32_t rows[3][NEAREST_BYTES + 1];

	for (uint32_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (uint32_t i = 1; i <= a_len; i++) {
		uint32_t *row = rows[i % 3], *last = rows[(i + 2) % 3];
		const uint32_t *before = rows[(i + 1) % 3];

		row[0] = i;
		for (uint32_t j = 1; j <= b_len; j++) {
			const uint32_t change = last[j - 1] + (a[i - 1] != b[j - 1]);

			row[j] = least(change, least(row[j - 1], last[j]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

void
nearest_begin(struct nearest *n, const char *word)
{
	/* A third of the letters may be wrong, in a short word two. A word with more errors would
	 * be a guess. */
	const uint32_t third = (uint32_t)strnlen(word, NEAREST_BYTES) / 3;

	*n = (struct nearest){.word = word, .distance = (third > 2 ? third : 2) + 1};
}

void
nearest_offer(struct nearest *n, const char *written, const char *compared)
{
	const uint32_t distance = nearest_distance(n->word, compared);

	if (distance >= n->distance)
		return;
	n->distance = distance;
	n->best = written;
}
