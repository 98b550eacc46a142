/*
 * syn_history.h - the SYN history: hashes of deferred SYNs, so that an overloaded core answers
 * their retransmissions only (tcp_cookie.c).
 *
 * A real client retransmits the same SYN after about a second (RFC 6298 section 2.1). A flood with
 * random sources repeats none.
 *
 * Shape:  lines of SYN_LINE_ENTRIES entries. An entry has 24 bits of the SYN's hash and 8 bits of
 *         the time it came. Entries of a line are replaced in turn.
 * Units:  ns on the caller's clock; inside, steps of 2^SYN_STEP_SHIFT ns.
 * Thread: core-local.
 * Errors: none. An entry that is replaced too soon costs its client one more SYN. One new SYN in
 *         2^20 is taken for a retransmission.
 * Bounds: the lines taken at start. With at most syn_history_budget() entries written, 95 % are
 *         found a second later: 307,200 a second with SYN_HISTORY_LINES.
 */
#ifndef CLOCKOO_SYN_HISTORY_H
#define CLOCKOO_SYN_HISTORY_H

#include "base/check.h"
#include "base/region.h"

#include <stdbool.h>

#define SYN_LINE_ENTRIES    15u
#define SYN_HISTORY_LINES   32768u        /* 2 MiB */
#define SYN_HISTORY_SPAN_NS 1600000000ull /* ns in which every entry may be written once */
#define SYN_STEP_SHIFT      27u           /* 134 ms */
/* Steps; a SYN that comes earlier may be a duplicate of the network. */
#define SYN_RETRY_MIN 2u
#define SYN_RETRY_MAX 64u /* 8.6 s: the third retransmission with an RTO of 1 s */

struct syn_line {
	uint32_t next; /* the entry to be replaced */
	uint32_t entry[SYN_LINE_ENTRIES];
};
static_assert(sizeof(struct syn_line) == CACHE_LINE_BYTES, "one line to look at");

struct syn_history {
	struct syn_line *lines;
	uint32_t mask;
};

/* The budget of cookies for first SYNs (tcp_cookie.c). */
struct syn_budget {
	uint64_t since_ns;      /* when the interval began */
	uint64_t frames, turns; /* counters at the start of the interval */
	uint32_t deferred;      /* SYNs deferred in the interval */
	uint32_t answers_max;   /* limit of answers in an interval */
	uint64_t hold_ns;       /* answers_max does not grow before this time */
	uint64_t answered_ns;   /* the limit is used up to this time */
};

size_t syn_history_bytes(uint32_t lines);
/* lines: a power of two. */
void syn_history_create(struct syn_history *m, struct region *region, uint32_t lines);

/* Returns how many entries may be written in ns nanoseconds if each entry must live for a
 * second. */
static inline uint32_t
syn_history_budget(uint32_t lines, uint64_t ns)
{
	return (uint32_t)((uint64_t)lines * SYN_LINE_ENTRIES * ns / SYN_HISTORY_SPAN_NS);
}

/* True if a SYN of this hash arrived SYN_RETRY_MIN to SYN_RETRY_MAX steps ago. An unknown hash is
 * recorded. */
bool syn_seen_before(struct syn_history *m, uint64_t hash, uint64_t now_ns);

#endif
