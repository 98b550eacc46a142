/*
 * run_delay.h - measures how long the calling thread had to wait for its CPU because another thread
 * ran on it.
 *
 * The kernel counts it in ns (proc(5): schedstat, second number). A reading takes 1 to 2 us, so a
 * core reads after a long turn or wait, and otherwise once in RUN_DELAY_EVERY_NS. So a delay that
 * is found after a long turn was in that turn, or at most RUN_DELAY_EVERY_NS before it.
 *
 * Units:  ns.
 * Thread: the thread whose delay is measured, from begin to end.
 * Errors: a kernel without schedstat: every delay is 0, and no reading is due.
 */
#ifndef CLOCKOO_RUN_DELAY_H
#define CLOCKOO_RUN_DELAY_H

#include <stdbool.h>
#include <stdint.h>

#define RUN_DELAY_LONG_NS  50000ull
#define RUN_DELAY_EVERY_NS 10000000ull

struct run_delay {
	int fd; /* -1: none */
	uint64_t due_ns, last_ns;
};

void run_delay_begin(struct run_delay *d, uint64_t now_ns);
void run_delay_end(struct run_delay *d);

/* Returns the delay since the last reading, or since begin. */
uint64_t run_delay_since_ns(struct run_delay *d, uint64_t now_ns);

/* True if a reading is due before a turn that begins now; the previous turn began at turn_ns. */
static inline bool
run_delay_is_due(const struct run_delay *d, uint64_t now_ns, uint64_t turn_ns)
{
	return now_ns >= d->due_ns || (now_ns - turn_ns > RUN_DELAY_LONG_NS && d->fd >= 0);
}

#endif
