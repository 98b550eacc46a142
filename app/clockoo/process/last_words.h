/*
 * last_words.h - the report of a crash: some lines on stderr or in the system log, and a count
 * in memory that outlives the process.
 *
 * A signal handler for SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT. It reports the signal, the
 * core and the stage of its turn, the commands of the requests in that pass, the core's last busy
 * turns, and a backtrace as offsets that addr2line names. The signal then takes its default action;
 * a core file shows the rest. Of what came from the network only names of commands are reported.
 *
 * Shape:  one for the process. Each thread has a separate stack for it, since a crash may be an
 *         overflow of its own stack.
 * Owner:  what is passed in is the caller's, and outlives the process's service.
 * Thread: begin, count_in and stop_counting by main; thread and core by each thread for itself.
 * Errors: none: a report that fails changes nothing about the crash.
 * Bounds: LAST_WORDS_LIMIT_S from the signal to the end of the process, even if stderr is not
 *         read.
 */
#ifndef CLOCKOO_LAST_WORDS_H
#define CLOCKOO_LAST_WORDS_H

#include "core/core.h"
#include "dpdk/tsc_clock.h"
#include "memfile/memory_page.h"

#define LAST_WORDS_LIMIT_S 2u

/* Reports crashes from now on: on stderr, or to syslog's socket if *log_fd is not -1. */
void last_words_begin(const int *log_fd);
/* Names this thread; the text must stay valid. */
void last_words_thread(const char *name);
/* Says that this thread turns the core of that number, on that clock. */
void last_words_core(uint32_t number, const struct core *core, const struct tsc_clock *clock);
/* Sets the page in which the first crash is counted. */
void last_words_count_in(struct memory_page *page);
void last_words_stop_counting(void);

#endif
