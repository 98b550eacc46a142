/*
 * conn_sources.c - counts connections by source in a table of atomic cells that all cores share. A
 * source has two candidate lines; cells change by compare-and-swap, without a lock.
 */
#include "conn_sources.h"

#include "base/check.h"
#include "base/hash.h"
#include "wire/ipv6_wire.h"

#include <stdatomic.h>

#define LINE_CELLS 8u
#define COUNT_BITS 24u
#define COUNT_MASK ((1ull << COUNT_BITS) - 1)

/* tag << COUNT_BITS | count */
struct sources_line {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t cell[LINE_CELLS];
};
static_assert(sizeof(struct sources_line) == CACHE_LINE_BYTES, "a line is a line");

struct conn_sources {
	uint32_t limit, line_mask;
	uint64_t seed;
	struct sources_line *lines;
};

struct source {
	uint64_t tag; /* shifted to its position in a cell */
	uint32_t line[2];
};

static uint32_t
source_lines(uint32_t conns)
{
	uint32_t n = 2;

	while (n * LINE_CELLS / 2 < conns)
		n *= 2;
	return n;
}

size_t
conn_sources_bytes(uint32_t conns)
{
	return sizeof(struct conn_sources) + source_lines(conns) * sizeof(struct sources_line) +
	       2 * CACHE_LINE_BYTES;
}

struct conn_sources *
conn_sources_create(struct region *region, uint32_t conns, uint32_t limit, uint64_t seed)
{
	struct conn_sources *cs = region_take(region, sizeof *cs, CACHE_LINE_BYTES);
	const uint32_t lines = source_lines(conns);

	ensure(limit > 0 && conns < COUNT_MASK);
	cs->limit = limit;
	cs->line_mask = lines - 1;
	cs->seed = seed;
	cs->lines = region_take(region, lines * sizeof *cs->lines, CACHE_LINE_BYTES);
	return cs;
}

static struct source
source_of_peer(const struct conn_sources *cs, const struct ip_addr *ip)
{
	const bool v4 = ip_addr_is_v4(ip);
	const uint8_t *part = v4 ? ip->b + IP_ADDR_V4_BITS / 8 : ip->b;
	const uint32_t len = v4 ? 4 : ip_addr_is_link_local(ip) ? IP_ADDR_BYTES : 8;
	const uint64_t h = hash_bytes(part, len, cs->seed);

	return (struct source){
		.tag = h & ~COUNT_MASK,
		.line = {(uint32_t)h & cs->line_mask,
			 (uint32_t)(h * 0x9e3779b97f4a7c15ull >> 40) & cs->line_mask},
	};
}

/* Relaxed throughout: a count orders no other memory. */
static uint64_t
cell_get(const struct conn_sources *cs, uint32_t place)
{
	const struct sources_line *line = &cs->lines[place / LINE_CELLS];

	return atomic_load_explicit(&line->cell[place % LINE_CELLS], memory_order_relaxed);
}

/* Returns the sum of the source's cells; two cores may each have made one. *place: the source's own
 * cell, or else a free one. */
static uint64_t
lookup(const struct conn_sources *cs, const struct source *src, uint32_t *place)
{
	uint64_t sum = 0;
	bool own = false;

	*place = SOURCES_NONE;
	for (uint32_t i = 0; i < 2 * LINE_CELLS; i++) {
		const uint32_t at = src->line[i / LINE_CELLS] * LINE_CELLS + i % LINE_CELLS;
		const uint64_t cell = cell_get(cs, at);
		const bool mine = (cell & ~COUNT_MASK) == src->tag && (cell & COUNT_MASK) != 0;

		if (i >= LINE_CELLS && src->line[0] == src->line[1])
			break;
		if (mine) {
			sum += cell & COUNT_MASK;
			*place = own ? *place : at;
			own = true;
		} else if ((cell & COUNT_MASK) == 0 && *place == SOURCES_NONE) {
			*place = at;
		}
	}
	return sum;
}

bool
conn_sources_at_limit_mt(const struct conn_sources *cs, const struct ip_addr *ip)
{
	const struct source src = source_of_peer(cs, ip);
	uint32_t place;

	return lookup(cs, &src, &place) >= cs->limit;
}

/* False: another core changed the cell first. */
static bool
cell_increment(struct conn_sources *cs, uint32_t place, uint64_t tag)
{
	_Atomic uint64_t *cell = &cs->lines[place / LINE_CELLS].cell[place % LINE_CELLS];
	uint64_t was = atomic_load_explicit(cell, memory_order_relaxed);
	const bool mine = (was & ~COUNT_MASK) == tag;

	if ((was & COUNT_MASK) != 0 && !mine)
		return false;
	return atomic_compare_exchange_strong_explicit(cell, &was, tag | ((was & COUNT_MASK) + 1),
						       memory_order_relaxed, memory_order_relaxed);
}

enum sources_result
conn_sources_add_mt(struct conn_sources *cs, const struct ip_addr *ip, uint32_t *place)
{
	const struct source src = source_of_peer(cs, ip);
	uint32_t again;

	for (uint32_t tries = 0; tries < SOURCES_TRIES_MAX; tries++) {
		if (lookup(cs, &src, place) >= cs->limit)
			break;
		if (*place == SOURCES_NONE)
			return SOURCES_FULL;
		if (!cell_increment(cs, *place, src.tag))
			continue;
		/* A second cell counts if another core made one for the source meanwhile. */
		if (lookup(cs, &src, &again) <= cs->limit)
			return SOURCES_ADDED;
		conn_sources_remove_mt(cs, *place);
		break;
	}
	*place = SOURCES_NONE;
	return SOURCES_OVER_LIMIT;
}

void
conn_sources_remove_mt(struct conn_sources *cs, uint32_t place)
{
	struct sources_line *line = &cs->lines[place / LINE_CELLS];

	/* Our count kept the cell above zero, so it is still our source's. */
	atomic_fetch_sub_explicit(&line->cell[place % LINE_CELLS], 1, memory_order_relaxed);
}
