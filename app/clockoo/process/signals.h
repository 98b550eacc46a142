/*
 * signals.h - the signals of the program, and output that no thread waits for.
 *
 * Shape:  SIGINT, SIGTERM, SIGUSR1 and SIGHUP are blocked in every thread, and the control thread
 *         takes them one at a time, so there is no signal handler and nothing it could interrupt.
 * Thread: signals_block and signals_unblock_output by the main thread before it makes any other.
 */
#ifndef CLOCKOO_SIGNALS_H
#define CLOCKOO_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Returns the signals that the control thread takes: INT, TERM and USR1, memcached's graceful
 * stop, end the program; HUP reads the files again. */
sigset_t signals_taken(void);
/* Blocks them, and those of a failed write, which is an error of that write then: SIGPIPE (a reader
 * of --live has disconnected) and SIGXFSZ (a file is above the limit of file sizes). */
void signals_block(void);
/* True if a stop was requested before the control thread ran. */
bool signals_stop_is_pending(void);
/* Makes stdout and stderr drop what their reader does not take (a full pipe, a stopped terminal).
 * Output to files is unchanged. */
void signals_unblock_output(void);

#endif
