/*
 * serve_lines.h - counts the lines of one key, and of several keys, in a run of plain gets, for
 * residence.h.
 *
 * Private to serve_gets.h.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_LINES_H
#define CLOCKOO_SERVE_LINES_H

#include "serve_since.h"

/* The lines that end in a run, or in one connection's part of a run. */
struct lines {
	uint32_t singles; /* lines of one key */
	uint32_t others;
};

static __attribute__((noinline)) struct lines
lines_count(const struct op *op, const struct op *end)
{
	struct lines n = {0};

	for (; op < end; op++) {
		n.singles += (op->req.flags & (MC_FIRST | MC_LAST)) == (MC_FIRST | MC_LAST);
		n.others += (op->req.flags & (MC_FIRST | MC_LAST)) == MC_LAST;
	}
	return n;
}

/* Counts the lines in one connection's operations as lines_count() does; `begun` of the operations
 * begin a line. Mostly the first and the last operation are enough to know. */
static inline struct lines
conn_lines_count(const struct op *first, const struct op *end, uint32_t begun)
{
	const uint32_t keys = (uint32_t)(end - first);
	bool cut_begin, cut_end;

	if (keys == 0)
		return (struct lines){0};
	cut_begin = (first->req.flags & MC_FIRST) == 0;
	cut_end = !op_last(end - 1);
	if (begun == keys && !cut_end)
		return (struct lines){keys, 0};
	if (begun == 0 || (begun == 1 && keys > 1 && (!cut_begin || cut_end)))
		return (struct lines){0, begun + cut_begin - cut_end};
	return lines_count(first, end);
}

static inline void
lines_record(struct serve *sv, bool tcp, struct lines n, uint32_t single_misses)
{
	struct residence *r = &sv->residence;

	residence_add(r, residence_row(tcp, REQUEST_GET_HIT), n.singles - single_misses);
	residence_add(r, residence_row(tcp, REQUEST_GET_MISS), single_misses);
	residence_add(r, residence_row(tcp, REQUEST_MULTIGET), n.others);
}

/* Records n lines that arrived before this turn. */
static __attribute__((noinline)) void
lines_record_late(struct serve *sv, const struct asker *who, uint64_t since_ns, struct lines n,
		  uint32_t single_misses)
{
	const uint32_t hits = n.singles - single_misses;

	if (hits != 0)
		record_late(sv, who, residence_row(true, REQUEST_GET_HIT), since_ns, hits);
	if (single_misses != 0)
		record_late(sv, who, residence_row(true, REQUEST_GET_MISS), since_ns,
			    single_misses);
	if (n.others != 0)
		record_late(sv, who, residence_row(true, REQUEST_MULTIGET), since_ns, n.others);
}

#endif
