/*
 * line_model.h - the private caches of two cores, and the cache lines that move between them.
 *
 * Shape:  each core has a cache of so many sets with LINE_WAYS lines, least recently used out
 *         first; LINE_SETS_MAX make a second cache of 1 MiB. A line is its core's alone, or shared
 *         by both, and clean or written (MESI).
 *
 * Thread: one.
 */
#ifndef CLOCKOO_LINE_MODEL_H
#define CLOCKOO_LINE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_CORES    2u
#define LINE_SHIFT    6u
#define LINE_SETS_MAX 2048u
#define LINE_WAYS     8u

enum line_state { LINE_NONE, LINE_SHARED, LINE_CLEAN, LINE_WRITTEN };

struct cached_line {
	uintptr_t line;
	uint64_t used;
	enum line_state state;
};

struct line_model {
	struct cached_line cache[LINE_CORES][LINE_SETS_MAX][LINE_WAYS];
	uint32_t sets;
	uint64_t accesses;
};

/* What an access met. */
enum line_move {
	LINE_HELD,    /* it was in the core's own cache */
	LINE_ABSENT,  /* it was in neither */
	LINE_COPIED,  /* the other core had it, unchanged: both have it now */
	LINE_FETCHED, /* the other core had written it */
	LINE_TAKEN,   /* this core writes what the other had read, and takes it away */
	LINE_MOVES
};

static inline struct cached_line *
line_find(struct line_model *m, uint32_t core, uintptr_t line)
{
	struct cached_line *set = m->cache[core][line % m->sets];

	for (uint32_t i = 0; i < LINE_WAYS; i++)
		if (set[i].line == line && set[i].state != LINE_NONE)
			return &set[i];
	return NULL;
}

/* The place of a line that comes. */
static inline struct cached_line *
line_place(struct line_model *m, uint32_t core, uintptr_t line)
{
	struct cached_line *set = m->cache[core][line % m->sets], *oldest = set;

	for (uint32_t i = 0; i < LINE_WAYS; i++) {
		if (set[i].state == LINE_NONE)
			return &set[i];
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	return oldest;
}

static inline enum line_move
line_read(struct cached_line *own, struct cached_line *theirs)
{
	const bool written = theirs != NULL && theirs->state == LINE_WRITTEN;

	if (own->state != LINE_NONE)
		return LINE_HELD;
	own->state = theirs == NULL ? LINE_CLEAN : LINE_SHARED;
	if (theirs == NULL)
		return LINE_ABSENT;
	theirs->state = LINE_SHARED;
	return written ? LINE_FETCHED : LINE_COPIED;
}

static inline enum line_move
line_write(struct cached_line *own, struct cached_line *theirs)
{
	const bool held = own->state != LINE_NONE;
	const bool written = theirs != NULL && theirs->state == LINE_WRITTEN;

	own->state = LINE_WRITTEN;
	if (theirs == NULL)
		return held ? LINE_HELD : LINE_ABSENT;
	theirs->state = LINE_NONE;
	return written ? LINE_FETCHED : LINE_TAKEN;
}

static inline enum line_move
line_access(struct line_model *m, uint32_t core, uintptr_t line, bool is_write)
{
	struct cached_line *own = line_find(m, core, line);
	struct cached_line *theirs = line_find(m, 1 - core, line);

	if (own == NULL) {
		own = line_place(m, core, line);
		*own = (struct cached_line){.line = line, .state = LINE_NONE};
	}
	own->used = ++m->accesses;
	return is_write ? line_write(own, theirs) : line_read(own, theirs);
}

#endif
