/*
 * pending_connects.c - a table of atomic cells, by lines; relaxed throughout: a cell orders no
 * other memory.
 */
#include "pending_connects.h"

#include "base/check.h"

#include <stdatomic.h>

#define LINE_CELLS     8u
#define CELLS_PER_OPEN 4u
#define CORE_MASK      0xffull /* 0: no core; else the core's number plus 1 */

struct pending_line {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t cell[LINE_CELLS];
};
static_assert(sizeof(struct pending_line) == CACHE_LINE_BYTES, "a line is a line");

struct pending_connects {
	uint32_t line_mask;
	struct pending_line *lines;
};

static uint32_t
connect_lines(uint32_t most)
{
	uint32_t n = 1;

	while (n * LINE_CELLS < most * CELLS_PER_OPEN)
		n *= 2;
	return n;
}

size_t
pending_connects_bytes(uint32_t most)
{
	return sizeof(struct pending_connects) + connect_lines(most) * sizeof(struct pending_line) +
	       2 * CACHE_LINE_BYTES;
}

struct pending_connects *
pending_connects_create(struct region *region, uint32_t most)
{
	struct pending_connects *p = region_take(region, sizeof *p, CACHE_LINE_BYTES);
	const uint32_t lines = connect_lines(most);

	p->line_mask = lines - 1;
	p->lines = region_take(region, lines * sizeof *p->lines, CACHE_LINE_BYTES);
	return p;
}

/* Returns a tag that is never zero, since zero marks a free cell. */
static uint64_t
tag_of(uint64_t flow)
{
	return (flow | 1) << 8;
}

static struct pending_line *
line_of(const struct pending_connects *p, uint64_t flow)
{
	return &p->lines[(flow >> 32) & p->line_mask];
}

/* Returns the flow's cell; NULL: the flow is not in the table. */
static _Atomic uint64_t *
cell_find(const struct pending_connects *p, uint64_t flow, uint64_t *cell)
{
	struct pending_line *line = line_of(p, flow);

	for (uint32_t i = 0; i < LINE_CELLS; i++) {
		*cell = atomic_load_explicit(&line->cell[i], memory_order_relaxed);
		if ((*cell & ~CORE_MASK) == tag_of(flow))
			return &line->cell[i];
	}
	return NULL;
}

void
pending_connects_add_mt(struct pending_connects *p, uint64_t flow)
{
	struct pending_line *line = line_of(p, flow);

	for (uint32_t i = 0; i < LINE_CELLS; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong_explicit(&line->cell[i], &none, tag_of(flow),
							    memory_order_relaxed,
							    memory_order_relaxed))
			return;
	}
}

void
pending_connects_remove_mt(struct pending_connects *p, uint64_t flow)
{
	uint64_t cell;
	_Atomic uint64_t *at = cell_find(p, flow, &cell);

	if (at != NULL)
		atomic_store_explicit(at, 0, memory_order_relaxed);
}

bool
pending_connects_met_mt(struct pending_connects *p, uint64_t flow, uint32_t core)
{
	uint64_t cell;
	_Atomic uint64_t *at = cell_find(p, flow, &cell);

	/* The compare-and-swap fails if the cell was reused for another flow, or if another core
	 * wrote its number first. */
	return at != NULL && (cell & CORE_MASK) == 0 &&
	       atomic_compare_exchange_strong_explicit(at, &cell, cell | (core + 1),
						       memory_order_relaxed, memory_order_relaxed);
}

uint32_t
pending_connects_core_mt(const struct pending_connects *p, uint64_t flow)
{
	uint64_t cell;

	if (cell_find(p, flow, &cell) == NULL || (cell & CORE_MASK) == 0)
		return PENDING_CORE_NONE;
	return (uint32_t)(cell & CORE_MASK) - 1;
}
