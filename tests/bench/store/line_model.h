/*
 * line_model.h - a model of the private caches of some cores, and of the cache lines that move
 * between them.
 *
 * Shape:  each core has a cache of the given number of sets with LINE_WAYS lines, least recently
 *         used out first; LINE_SETS_MAX make a second-level cache of 1 MiB. A line is in one
 *         core's cache or shared by several, and clean or written (MESI).
 *
 * Thread: one.
 *
 * Bounds: LINE_CORES_MAX cores.
 */
#ifndef CLOCKOO_LINE_MODEL_H
#define CLOCKOO_LINE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_CORES_MAX 16u
#define LINE_SHIFT     6u
#define LINE_SETS_MAX  2048u
#define LINE_WAYS      8u

enum line_state { LINE_NONE, LINE_SHARED, LINE_CLEAN, LINE_WRITTEN };

struct cached_line {
	uintptr_t line;
	uint64_t used;
	enum line_state state;
};

struct line_model {
	struct cached_line cache[LINE_CORES_MAX][LINE_SETS_MAX][LINE_WAYS];
	uint32_t cores, sets;
	uint64_t accesses;
};

/* The state of the line that an access found. */
enum line_move {
	LINE_HELD,    /* it was in the core's own cache */
	LINE_ABSENT,  /* it was in no cache */
	LINE_COPIED,  /* another core had it, unchanged: both have it now */
	LINE_FETCHED, /* another core had written it */
	LINE_TAKEN,   /* others had read it, and this core's write invalidates their copies */
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

/* Returns the place for a line that is fetched. */
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

/* Sets the other cores' copies of a line to state. Returns the highest state that one of them
 * had. */
static inline enum line_state
line_leave_others(struct line_model *m, uint32_t core, uintptr_t line, enum line_state state)
{
	enum line_state most = LINE_NONE;

	for (uint32_t i = 0; i < m->cores; i++) {
		struct cached_line *theirs = i == core ? NULL : line_find(m, i, line);

		if (theirs == NULL)
			continue;
		most = theirs->state > most ? theirs->state : most;
		theirs->state = state;
	}
	return most;
}

static inline enum line_move
line_read(struct line_model *m, uint32_t core, struct cached_line *own)
{
	enum line_state others;

	if (own->state != LINE_NONE)
		return LINE_HELD;
	others = line_leave_others(m, core, own->line, LINE_SHARED);
	own->state = others == LINE_NONE ? LINE_CLEAN : LINE_SHARED;
	if (others == LINE_NONE)
		return LINE_ABSENT;
	return others == LINE_WRITTEN ? LINE_FETCHED : LINE_COPIED;
}

static inline enum line_move
line_write(struct line_model *m, uint32_t core, struct cached_line *own)
{
	const enum line_state had = own->state;
	enum line_state others;

	own->state = LINE_WRITTEN;
	if (had == LINE_WRITTEN || had == LINE_CLEAN)
		return LINE_HELD;
	others = line_leave_others(m, core, own->line, LINE_NONE);
	if (others == LINE_NONE)
		return had == LINE_SHARED ? LINE_HELD : LINE_ABSENT;
	return others == LINE_WRITTEN ? LINE_FETCHED : LINE_TAKEN;
}

static inline enum line_move
line_access(struct line_model *m, uint32_t core, uintptr_t line, bool is_write)
{
	struct cached_line *own = line_find(m, core, line);

	if (own == NULL) {
		own = line_place(m, core, line);
		*own = (struct cached_line){.line = line, .state = LINE_NONE};
	}
	own->used = ++m->accesses;
	return is_write ? line_write(m, core, own) : line_read(m, core, own);
}

#endif
