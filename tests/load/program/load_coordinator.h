/*
 * load_coordinator.h - the thread that commands the cores: fill, then one run after the other.
 *
 * Thread: its own, on the CPUs of the process. SIGINT and SIGTERM end the current run; its results
 *         are still reported.
 * Errors: p->failed and p->error, once it has ended.
 */
#ifndef CLOCKOO_LOAD_COORDINATOR_H
#define CLOCKOO_LOAD_COORDINATOR_H

#include "load_program.h"

#include <pthread.h>

/* Call before any other thread is made: the coordinator alone takes SIGINT and SIGTERM. */
void load_coordinator_block_signals(void);
bool load_coordinator_start(pthread_t *thread, struct load_program *p, struct error *err);

#endif
