/*
 * background.h - memcached's -d: the caller gets its prompt back when the cache serves.
 *
 * Shape:  the process forks before it takes anything. The first process waits until the second
 *         is ready, then ends with 0. If the second one ends, the first has its exit status, so
 *         a start script sees a failure.
 * Owner:  the caller; the struct outlives stderr, which writes to log_fd.
 * Thread: main, before it makes any other.
 */
#ifndef CLOCKOO_BACKGROUND_H
#define CLOCKOO_BACKGROUND_H

#include "config/config.h"

struct background {
	int ready_fd; /* -1 = not in the background */
	int log_fd;   /* to the system log; -1 = to be connected */
};

/* Forks if asked to. True: continue, here or in the second process. False: the first process ends
 * with *status. */
bool background_begin(struct background *b, int *status);

/* Called when the cache serves: the first process ends, and this one leaves the terminal and the
 * directory. Later messages go to the system log, or with -v stay on the terminal. */
void background_ready(struct background *b, const struct config *cfg);

#endif
