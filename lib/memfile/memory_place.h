/*
 * memory_place.h - warnings about the place of a memory file, with remedies.
 *
 * Shape:  a pure function of the facts about the place, with lines for doctor and --check.
 * Thread: any.
 * Errors: none.
 * Bounds: MEMORY_PLACE_WARNINGS_MAX lines.
 */
#ifndef CLOCKOO_MEMORY_PLACE_H
#define CLOCKOO_MEMORY_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MEMORY_PLACE_WARNINGS_MAX 3u

struct memory_place {
	const char *folder; /* without symbolic links */
	bool huge;          /* on hugetlbfs; else on tmpfs */
	bool swaps;         /* the machine has swap */
	uint32_t uid;       /* the user as which the program runs */
};

struct memory_warning {
	const char *words, *fix;
};

/* Writes the warnings; returns their number. */
uint32_t memory_place_warnings(const struct memory_place *place,
			       struct memory_warning out[MEMORY_PLACE_WARNINGS_MAX]);

/* True if the text of /proc/swaps lists a swap area. */
bool memory_place_swaps(FILE *swaps);

#endif
