#include "syn_memory.h"

#define STEP_BITS 8u
#define STEP_MASK ((1u << STEP_BITS) - 1)

size_t
syn_memory_bytes(uint32_t lines)
{
	return (size_t)lines * sizeof(struct syn_line) + CACHE_LINE_BYTES;
}

void
syn_memory_create(struct syn_memory *m, struct region *region, uint32_t lines)
{
	ensure(lines != 0 && (lines & (lines - 1)) == 0);
	m->lines = region_take(region, (size_t)lines * sizeof *m->lines, CACHE_LINE_BYTES);
	m->mask = lines - 1;
}

bool
syn_came_before(struct syn_memory *m, uint64_t hash, uint64_t now_ns)
{
	struct syn_line *line = &m->lines[hash & m->mask];
	const uint32_t step = (uint32_t)(now_ns >> SYN_STEP_SHIFT) & STEP_MASK;
	/* The lowest tag bit is set: no note looks like the zeros of the start. */
	const uint32_t tag = (uint32_t)(hash >> 32) & ~STEP_MASK;
	const uint32_t mark = tag | (1u << STEP_BITS);

	for (uint32_t i = 0; i < SYN_NOTES; i++) {
		const uint32_t ago = (step - line->note[i]) & STEP_MASK;

		if ((line->note[i] & ~STEP_MASK) != mark)
			continue;
		if (ago <= SYN_AGAIN_MAX)
			return ago >= SYN_AGAIN_MIN;
		line->note[i] = mark | step; /* of another time */
		return false;
	}
	line->note[line->next] = mark | step;
	line->next = (line->next + 1) % SYN_NOTES;
	return false;
}
