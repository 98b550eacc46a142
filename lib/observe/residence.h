/*
 * residence.h - records how long requests are resident: from the beginning of the turn that takes
 * the frame with a request's last byte from the NIC, to the end of the turn that gives the reply to
 * the NIC.
 *
 * A request that is answered in the turn of its arrival is resident for that whole turn. So only a
 * count of its kind is kept, mostly for a whole run at once, and at the turn's end each count goes
 * into one cell. A request that arrived in an earlier turn is late: it is in a list until the turn
 * ends.
 *
 * Late requests that had to wait for something have a row for each reason: memory of the store,
 * room for the reply while the peer's window is full, or an answer of a backend (servers or flash).
 * For the others there was no time earlier.
 *
 * Shape:  a row of cells (log_cells.h) for each kind over UDP, then over TCP, then for each wait.
 * Units:  ns on the core's clock.
 * Owner:  the service of one core.
 * Thread: written by the core; max_ns and cells are read by any, relaxed.
 * Bounds: LATE_MAX entries of late requests in a turn; further ones count as answered at the turn's
 *         beginning.
 */
#ifndef CLOCKOO_RESIDENCE_H
#define CLOCKOO_RESIDENCE_H

#include "base/check.h"
#include "base/counter.h"
#include "base/log_cells.h"

#include <stdbool.h>

#define LATE_MAX 256u

#define REQUEST_KINDS(X)                                                                           \
	X(REQUEST_OTHER, "other")                                                                  \
	X(REQUEST_GET_HIT, "get_hit")                                                              \
	X(REQUEST_GET_MISS, "get_miss")                                                            \
	X(REQUEST_SET, "set")                                                                      \
	X(REQUEST_MULTIGET, "multiget")

#define REQUEST_WAITS(X)                                                                           \
	X(WAIT_MEMORY, "memory")                                                                   \
	X(WAIT_WINDOW, "window")                                                                   \
	X(WAIT_BACKEND, "supplier")

#define REQUEST_SYMBOL(symbol, name) symbol,
enum request_kind { REQUEST_KINDS(REQUEST_SYMBOL) REQUEST_KIND_COUNT };
enum request_wait { REQUEST_WAITS(REQUEST_SYMBOL) REQUEST_WAIT_COUNT };

#define RESIDENCE_KIND_ROWS (2u * REQUEST_KIND_COUNT)
#define RESIDENCE_WORDS     ((RESIDENCE_KIND_ROWS + 3) / 4)
#define RESIDENCE_ROWS      (RESIDENCE_KIND_ROWS + REQUEST_WAIT_COUNT)

static inline uint32_t
residence_row(bool tcp, enum request_kind kind)
{
	return (tcp ? REQUEST_KIND_COUNT : 0) + kind;
}

struct late_request {
	uint64_t since_ns;
	uint32_t count;
	uint32_t row;
};

struct residence {
	/* Counts of this turn. */
	union {
		uint16_t counts[RESIDENCE_WORDS * 4]; /* a turn answers at most some thousands */
		uint64_t words[RESIDENCE_WORDS];
	};
	uint32_t late_count;
	struct late_request late[LATE_MAX];
	_Alignas(CACHE_LINE_BYTES) struct counter max_ns[RESIDENCE_ROWS];
	struct counter cells[RESIDENCE_ROWS][LOG_CELLS];
};

/* Counts n answered requests that arrived in this turn. */
static inline void
residence_add(struct residence *r, uint32_t row, uint32_t n)
{
	r->counts[row] += (uint16_t)n;
}

/* Counts n requests that arrived at since_ns, before the turn that began at now_ns. */
void residence_late(struct residence *r, uint32_t row, uint64_t since_ns, uint64_t now_ns,
		    uint32_t n);

/* Ends the turn that began at begin_ns: adds its counts to cells. */
void residence_close(struct residence *r, uint64_t begin_ns, uint64_t end_ns);

static inline void
residence_turn_end(struct residence *r, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t any = r->late_count;

	for (uint32_t i = 0; i < RESIDENCE_WORDS; i++)
		any |= r->words[i];
	if (any != 0)
		residence_close(r, begin_ns, end_ns);
}

#endif
