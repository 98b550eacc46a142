/*
 * background.h - memcached's -d: the caller gets its prompt back when the cache serves.
 *
 * Shape:  the process forks before it takes anything. The first one waits until the second is
 *         ready and ends with 0, or ends as the second did: so a start script sees a failure.
 * Owner:  the caller; it outlives stderr, which writes to log_fd.
 * Thread: main, before it makes any other.
 */
#ifndef CLOCKOO_BACKGROUND_H
#define CLOCKOO_BACKGROUND_H

#include "config/config.h"

struct background {
	int ready_fd; /* -1 = not in the background */
	int log_fd;   /* to the system log; -1 = to be connected */
};

/* True: go on, here or in the second process. False: the first one's end, with *status. */
bool background_begin(struct background *b, int *status);

/* The cache serves: the first process ends, and this one leaves the terminal and the directory. Its
 * messages go to the system log from then on, or with -v stay on the terminal. */
void background_ready(struct background *b, const struct config *cfg);

#endif
