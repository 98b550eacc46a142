/*
 * background.h - memcached's -d: the command that starts the cache returns when the cache serves.
 *
 * Shape:  the process forks before it takes any resource. The first process waits until the second
 *         one is ready, then ends with status 0. If the second one ends before, the first one ends
 *         with its status, so that a start script sees the failure.
 * Owner:  the caller. The struct outlives stderr, which writes to log_fd.
 * Thread: main, before it starts any thread.
 */
#ifndef CLOCKOO_BACKGROUND_H
#define CLOCKOO_BACKGROUND_H

#include "config/config.h"

struct background {
	int ready_fd; /* end of the pipe to the first process; -1: not in the background */
	int log_fd;   /* socket to the system log; -1: not connected */
};

/* Forks if -d asks for it. True: continue, here or in the second process. False: this is the first
 * process, which must end with *status. */
bool background_begin(struct background *b, int *status);

/* Called when the cache serves. The first process ends, and this one leaves the terminal and its
 * directory. Later messages go to the system log, or with -v stay on the terminal. */
void background_ready(struct background *b, const struct config *cfg);

#endif
