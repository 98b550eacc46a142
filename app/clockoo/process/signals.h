/*
 * signals.h - the program's signals, and output for which no thread waits.
 *
 * Shape:  SIGINT, SIGTERM, SIGUSR1, SIGUSR2 and SIGHUP are blocked in all threads. The control
 *         thread takes them one by one, so that no signal handler interrupts other code.
 * Thread: the main thread calls signals_block and signals_unblock_output before it starts another
 *         thread.
 */
#ifndef CLOCKOO_SIGNALS_H
#define CLOCKOO_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Returns the signals that the control thread takes. INT, TERM and USR1 (memcached's graceful stop)
 * end the program, USR2 begins a drain, HUP reads the files again. */
sigset_t signals_taken(void);
/* Blocks these signals, and two that a failed write would raise; the write then returns an error.
 * They are SIGPIPE (a reader of --live has disconnected) and SIGXFSZ (a file has reached the limit
 * of file sizes). */
void signals_block(void);
/* True if a signal asked for a stop before the control thread runs. */
bool signals_stop_is_pending(void);
/* Makes stdout and stderr drop output that their reader does not take (a full pipe, a stopped
 * terminal). Output to files is unchanged. */
void signals_unblock_output(void);

#endif
