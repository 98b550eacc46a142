/*
 * lcore_run.h - runs one thread for each core, which EAL pins as --lcores says.
 *
 * Thread: lcores_run: the main thread, which becomes the first core until all are done.
 */
#ifndef CLOCKOO_LCORE_RUN_H
#define CLOCKOO_LCORE_RUN_H

#include "config/lcores.h"

/* Runs work(args[i]) on core i, and returns when all have returned. False if some core is not free;
 * then none has run. */
bool lcores_run(const struct lcore_set *set, int (*work)(void *arg), void *const *args,
		struct error *err);

/* Pauses between two turns without work. yield: sleeps, so that other threads get the CPU;
 * otherwise executes a pause instruction, which helps the other hyper-thread. */
void lcore_idle(bool yield);

#endif
