/*
 * control.h - the thread that is not a core: waits for signals and for requests that clients
 * make of the program, reads the users' file again, watches the link, prints --live lines.
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
/* Makes stdout and stderr drop what their reader does not take (a full pipe, a stopped terminal),
 * so that no thread waits for it. Output to files is unchanged. */
void control_unblock_output(void);
/* True if a stop was requested before the control thread ran. */
bool control_stop_is_pending(void);
/* Moves the calling thread to the control thread's CPU. A new thread inherits the main thread's
 * CPU, which a core never yields. */
void control_pin(const struct appliance *a);
/* Moves another thread to the control thread's CPU. */
void control_pin_thread(pthread_t thread, const struct appliance *a);
/* Returns CLOCK_MONOTONIC. */
uint64_t control_now_ns(void);
bool control_start(pthread_t *thread, struct appliance *a, struct error *err);

#endif
