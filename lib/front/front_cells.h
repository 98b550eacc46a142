/*
 * front_cells.h - who writes a key now, and whether anybody has since: what makes copies safe.
 *
 * Shape:  a word of 64 bits a cell: version 32, print 16, unknown 1, writers 15. A key's hash names
 *         its cell; keys that share one disturb each other, and nothing else happens. Beside them a
 *         word of flushes: epoch 48, flushes under way 16; and a count of connections to servers.
 *         A write adds a writer and a version before it is sent, and takes the writer away when its
 *         fate is known. If it never is, the cell stays unknown: all its keys have a writer.
 * Units:  hashes as the store has them.
 * Owner:  the caller: one struct front_cells for all cores of a front, set up once.
 * Thread: init: one. All others: any.
 * Errors: front_write_begin_mt(): false, the cell has FRONT_WRITERS_MAX writers.
 * Bounds: constant time but for atomics that are tried again; one line of memory.
 * Source: FRONT.md 3: W1, W5, F2, J2, M.
 *
 * Order: the cell's word orders what is done to copies. Who looks by front_cell_look_mt() has put
 * its placeholder into the store before; who begins a write removes what is there after. One of
 * the two sees the other, as both change the word.
 */
#ifndef CLOCKOO_FRONT_CELLS_H
#define CLOCKOO_FRONT_CELLS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FRONT_CELLS       65536u
#define FRONT_WRITERS_MAX 30000u
#define FRONT_OPENED_MAX  0xffffu

struct front_cells {
	alignas(64) _Atomic uint64_t flushes;
	_Atomic uint32_t opened;   /* connections, FRONT_OPENED_MAX at most */
	_Atomic uint64_t fresh_ns; /* shared mode: no copy was asked for before */
	atomic_bool renewing;      /* somebody makes it later */
	alignas(64) _Atomic uint64_t cell[FRONT_CELLS];
};

/* How a key's cell was when somebody looked. */
struct front_seen {
	uint64_t flushes;
	uint32_t version;
	bool clean; /* nobody wrote the key, and no flush was under way */
};

void front_cells_init(struct front_cells *cells);

/* ---- reads ---- */

/* By a load: before a flight is joined, or counted. */
struct front_seen front_cell_load_mt(struct front_cells *cells, uint64_t hash);
/* The same by an atomic that changes nothing: after a placeholder is there. */
struct front_seen front_cell_look_mt(struct front_cells *cells, uint64_t hash);
/* Has nobody written the key, told a miss of it, or flushed, since what was seen was clean? */
bool front_cell_stands_mt(struct front_cells *cells, uint64_t hash, const struct front_seen *seen);
/* A miss is told: older flights are not joined any more. */
void front_cell_step_mt(struct front_cells *cells, uint64_t hash);
/* The same of all keys. */
void front_cells_step_mt(struct front_cells *cells);

/* ---- shared mode ---- */

/* Is no copy older than that? */
bool front_cells_fresh_mt(struct front_cells *cells, uint64_t now_ns, uint64_t life_ns);
/* From now on this core alone makes copies end; false: another one does. */
bool front_cells_renew_mt(struct front_cells *cells);
/* It does not any more. done: none is left that was asked for before now_ns. */
void front_cells_renewed_mt(struct front_cells *cells, bool done, uint64_t now_ns);

/* ---- connections ---- */

uint32_t front_cells_opened_mt(const struct front_cells *cells);
/* One more. False: they are as many as can be told from each other. */
bool front_cells_open_mt(struct front_cells *cells);
/* Then, once no copy has a number: from 0 on again. False: another core has done that. */
bool front_cells_open_anew_mt(struct front_cells *cells);

/* ---- writes ---- */

/* One more. *own: the cell with it; clean: the key has no other, and no flush is under way. */
bool front_write_begin_mt(struct front_cells *cells, uint64_t hash, struct front_seen *own);
/* After its placeholder is there, by an atomic that changes nothing: was it alone, and has neither
 * a write nor a flush begun since? One that begins later finds the placeholder. */
bool front_write_is_alone_mt(struct front_cells *cells, uint64_t hash,
			     const struct front_seen *own);
void front_write_end_mt(struct front_cells *cells, uint64_t hash);
/* It may be done, at any later time, or never. */
void front_write_lost_mt(struct front_cells *cells, uint64_t hash);

/* ---- flushes ---- */

/* Before what is stored is flushed. */
void front_flush_begin_mt(struct front_cells *cells);
void front_flush_end_mt(struct front_cells *cells);

#endif
