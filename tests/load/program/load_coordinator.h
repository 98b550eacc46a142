/*
 * load_coordinator.h - the thread that gives the cores their orders: fill, then run after run.
 *
 * Thread: its own, on the CPUs of the process that no core holds fast; SIGINT and SIGTERM end the
 *         run that is on, and what was found is still reported.
 * Errors: p->failed and p->error, when it has ended.
 */
#ifndef CLOCKOO_LOAD_COORDINATOR_H
#define CLOCKOO_LOAD_COORDINATOR_H

#include "load_program.h"

#include <pthread.h>

/* Before any other thread is made: who takes the signals. */
void load_coordinator_block_signals(void);
bool load_coordinator_start(pthread_t *thread, struct load_program *p, struct error *err);

#endif
