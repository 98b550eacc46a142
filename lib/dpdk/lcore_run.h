/*
 * lcore_run.h - one thread a core, pinned by EAL as --lcores says.
 *
 * Thread: lcores_run by the main thread, which becomes the first core until all are done.
 */
#ifndef CLOCKOO_LCORE_RUN_H
#define CLOCKOO_LCORE_RUN_H

#include "config/lcores.h"

/* Runs work(args[i]) on core i, and returns when all have returned. False if a core is not free;
 * then none has run. */
bool lcores_run(const struct lcore_set *set, int (*work)(void *arg), void *const *args,
		struct error *err);

/* Pauses between two turns without work: with yield it sleeps and frees the CPU, otherwise a
 * pause instruction frees the other hyper-thread. */
void lcore_idle(bool yield);

#endif
