/*
 * control.h - the thread that is not a core: waits for signals and for what clients ask of the
 * program, reads the users' file again, watches the link, prints --live lines.
 *
 * Shape:  SIGINT, SIGTERM, SIGUSR1 and SIGHUP are blocked in every thread and taken here one at a
 *         time, so there is no signal handler and nothing it could interrupt.
 * Thread: control_block_signals and control_unblock_output by the main thread before it makes any
 *         other.
 */
#ifndef CLOCKOO_CONTROL_H
#define CLOCKOO_CONTROL_H

#include "appliance.h"

#include <pthread.h>

void control_block_signals(void);
/* stdout and stderr: from here on what their reader does not take is lost, and nothing waits for
 * it: a full pipe, a stopped terminal. Files are as before. */
void control_unblock_output(void);
/* Has a stop been asked for that the control thread, not yet there, could not take? */
bool control_stop_is_pending(void);
/* A thread of ours inherits the main thread's CPU, where a core never lets go: to the control
 * thread's. */
void control_pin(const struct appliance *a);
/* Moves another thread to the control thread's CPU. */
void control_pin_thread(pthread_t thread, const struct appliance *a);
/* CLOCK_MONOTONIC. */
uint64_t control_now_ns(void);
bool control_start(pthread_t *thread, struct appliance *a, struct error *err);

#endif
