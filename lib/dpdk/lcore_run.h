/*
 * lcore_run.h - one thread a core, pinned by EAL as --lcores says.
 *
 * Thread: lcores_run by the main thread, which becomes the first core until all are done.
 */
#ifndef CLOCKOO_LCORE_RUN_H
#define CLOCKOO_LCORE_RUN_H

#include "config/lcores.h"

/* Run work(args[i]) on core i; returns when all have returned. False: one of them is not free, and
 * none has run. */
bool lcores_run(const struct lcore_set *set, int (*work)(void *arg), void *const *args,
		struct error *err);

/* Between two turns with nothing to do: yield sleeps and frees the CPU; otherwise a pause frees the
 * other hyper-thread. */
void lcore_idle(bool yield);

#endif
