/*
 * memory_place.h - what may happen to a memory file where it lies, and what to do about it.
 *
 * Shape:  a pure function of what is known of the place: lines for doctor and --check.
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
	uint32_t uid;       /* of the user that the program runs as */
};

struct memory_warning {
	const char *words, *fix;
};

/* The warnings, one after the other; returns how many. */
uint32_t memory_place_warnings(const struct memory_place *place,
			       struct memory_warning out[MEMORY_PLACE_WARNINGS_MAX]);

/* Does the text of /proc/swaps name any? */
bool memory_place_swaps(FILE *swaps);

#endif
