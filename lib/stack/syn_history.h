/*
 * syn_history.h - which SYNs came before: a core that has no time for all answers those.
 *
 * A peer that means it sends its SYN again, the same one, after about a second (RFC 6298 section
 * 2.1); a flood of made-up sources never says the same twice. So what a core has no time for is
 * recorded here and answered when it comes again.
 *
 * Shape:  lines of SYN_LINE_ENTRIES entries; an entry is 24 bits of the SYN's hash and 8 of when it
 *         came. A line's entries are replaced in turn, so a line remembers its last
 *         SYN_LINE_ENTRIES SYNs.
 * Units:  ns on the caller's clock; inside, steps of 2^SYN_STEP_SHIFT ns.
 * Thread: core-local.
 * Errors: none. An entry that was replaced too soon costs its peer one more SYN; of SYNs that never
 *         came, one in 2^20 counts as known.
 * Bounds: the lines taken at start. Who writes no more than syn_history_budget() finds nineteen in
 *         twenty a second later: 307,200 a second with SYN_HISTORY_LINES.
 */
#ifndef CLOCKOO_SYN_HISTORY_H
#define CLOCKOO_SYN_HISTORY_H

#include "base/check.h"
#include "base/region.h"

#include <stdbool.h>

#define SYN_LINE_ENTRIES    15u
#define SYN_HISTORY_LINES   32768u        /* 2 MiB */
#define SYN_HISTORY_SPAN_NS 1600000000ull /* ns in which all entries may be written once */
#define SYN_STEP_SHIFT      27u           /* 134 ms */
#define SYN_RETRY_MIN       2u            /* steps: sooner it may be the link that doubled it */
#define SYN_RETRY_MAX       64u           /* 8.6 s: the third repetition of a second's back-off */

struct syn_line {
	uint32_t next; /* the entry to be replaced */
	uint32_t entry[SYN_LINE_ENTRIES];
};
static_assert(sizeof(struct syn_line) == CACHE_LINE_BYTES, "one line to look at");

struct syn_history {
	struct syn_line *lines;
	uint32_t mask;
};

/* What SYNs that come the first time may get, beyond the half-open ones (tcp_cookie.c). */
struct syn_budget {
	uint64_t since_ns;          /* this stretch */
	uint64_t frames, turns;     /* all up to its beginning */
	uint32_t answers, deferred; /* given and made in it */
	uint32_t answers_max;       /* what the core has left for them... */
	uint64_t hold_ns;           /* ... which is not tried to be more before that */
};

size_t syn_history_bytes(uint32_t lines);
/* lines: a power of two. */
void syn_history_create(struct syn_history *m, struct region *region, uint32_t lines);

/* How many entries may be written in that time, if those before are to last a second. */
static inline uint32_t
syn_history_budget(uint32_t lines, uint64_t ns)
{
	return (uint32_t)((uint64_t)lines * SYN_LINE_ENTRIES * ns / SYN_HISTORY_SPAN_NS);
}

/* Has the SYN of this hash come before, SYN_RETRY_MIN to SYN_RETRY_MAX steps ago? If it is not
 * known it is recorded. */
bool syn_seen_before(struct syn_history *m, uint64_t hash, uint64_t now_ns);

#endif
