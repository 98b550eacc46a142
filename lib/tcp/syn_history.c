/*
 * syn_history.c - hashes of SYNs with the time they came, one cache line a set, replaced in turn.
 */
#include "syn_history.h"

#define STEP_BITS 8u
#define STEP_MASK ((1u << STEP_BITS) - 1)

size_t
syn_history_bytes(uint32_t lines)
{
	return (size_t)lines * sizeof(struct syn_line) + CACHE_LINE_BYTES;
}

void
syn_history_create(struct syn_history *m, struct region *region, uint32_t lines)
{
	ensure(lines != 0 && (lines & (lines - 1)) == 0);
	m->lines = region_take(region, (size_t)lines * sizeof *m->lines, CACHE_LINE_BYTES);
	m->mask = lines - 1;
}

bool
syn_seen_before(struct syn_history *m, uint64_t hash, uint64_t now_ns)
{
	struct syn_line *line = &m->lines[hash & m->mask];
	const uint32_t step = (uint32_t)(now_ns >> SYN_STEP_SHIFT) & STEP_MASK;
	/* The lowest tag bit is set, so that an empty entry matches no tag. */
	const uint32_t tag = (uint32_t)(hash >> 32) & ~STEP_MASK;
	const uint32_t tag_mark = tag | (1u << STEP_BITS);

	for (uint32_t i = 0; i < SYN_LINE_ENTRIES; i++) {
		const uint32_t ago = (step - line->entry[i]) & STEP_MASK;

		if ((line->entry[i] & ~STEP_MASK) != tag_mark)
			continue;
		if (ago <= SYN_RETRY_MAX)
			return ago >= SYN_RETRY_MIN;
		line->entry[i] = tag_mark | step; /* the entry is expired */
		return false;
	}
	line->entry[line->next] = tag_mark | step;
	line->next = (line->next + 1) % SYN_LINE_ENTRIES;
	return false;
}
