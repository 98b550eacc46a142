/*
 * last_words.h - the report of a crash: some lines on stderr or in the system log, and a count in
 * memory that outlives the process.
 *
 * A signal handler for SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT. It reports the signal, the core
 * and the stage of its turn, the commands of the requests in its pass, its last busy turns, and a
 * backtrace as offsets for addr2line. Then the signal's default action ends the process, with a
 * core file if allowed. Of data from the network, only names of commands are reported.
 *
 * Shape:  one for the process. Each thread has a stack for it, since an overflow of its own stack
 *         may be the crash.
 * Owner:  the caller's pointers must be valid until the process ends.
 * Thread: main calls begin, count_in and stop_counting. Each thread calls thread and core for
 *         itself.
 * Errors: none. If the report fails, the process ends as it would without one.
 * Bounds: LAST_WORDS_LIMIT_S from the signal to the end of the process, even if stderr is not read.
 */
#ifndef CLOCKOO_LAST_WORDS_H
#define CLOCKOO_LAST_WORDS_H

#include "core/core.h"
#include "dpdk/tsc_clock.h"
#include "memfile/memory_page.h"

#define LAST_WORDS_LIMIT_S 2u

/* Reports crashes from now on: to stderr, or to the socket *log_fd of syslog unless that is -1. */
void last_words_begin(const int *log_fd);
/* Sets the name of this thread. The text must stay valid. */
void last_words_thread(const char *name);
/* Sets the core that this thread runs, its number and its clock. */
void last_words_core(uint32_t number, const struct core *core, const struct tsc_clock *clock);
/* Sets the page in which the first crash is counted. */
void last_words_count_in(struct memory_page *page);
void last_words_stop_counting(void);

#endif
