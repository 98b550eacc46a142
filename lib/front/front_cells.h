/*
 * front_cells.h - records which keys are being written, and whether one was written since a given
 * moment; this makes copies safe.
 *
 * Shape:  a word of 64 bits a cell: version 32, print 16, unknown 1, writers 15. A key's hash
 *         determines its cell; keys that share a cell cause each other extra gets and no other
 *         harm. There is also a word of flushes: epoch 48, flushes in progress 16; and a count of
 *         connections to servers. A write adds a writer and increments the version before it is
 *         sent, and removes the writer when its fate is known. If the fate never is, the cell
 *         stays unknown: all its keys then count as being written.
 * Units:  hashes are the store's.
 * Owner:  the caller: one struct front_cells for all cores of a front, set up once.
 * Thread: init: one thread. All others: any.
 * Errors: front_write_begin_mt(): false, the cell has FRONT_WRITERS_MAX writers.
 * Bounds: constant time, except for atomics that are tried again; one line of memory.
 * Source: FRONT.md 3: W1, W5, F2, J2, M.
 *
 * Order: the cell's word orders changes to copies. A fill puts its placeholder into the store and
 * then calls front_cell_look_mt(); a write begins and then removes the key's copy or placeholder.
 * One of the two sees the other, as both change the word.
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
	_Atomic uint32_t opened;   /* connections opened, at most FRONT_OPENED_MAX */
	_Atomic uint64_t fresh_ns; /* shared mode: no copy was requested before this time */
	atomic_bool renewing;      /* a core is moving that time forward */
	alignas(64) _Atomic uint64_t cell[FRONT_CELLS];
};

/* The state of a key's cell at one moment. */
struct front_seen {
	uint64_t flushes;
	uint32_t version;
	bool clean; /* the key had no writer, and no flush was in progress */
};

void front_cells_init(struct front_cells *cells);

/* ---- reads ---- */

/* Reads the cell by a load, before a flight is joined or counted. */
struct front_seen front_cell_load_mt(struct front_cells *cells, uint64_t hash);
/* Reads the cell by an atomic that changes nothing, after a placeholder was stored. */
struct front_seen front_cell_look_mt(struct front_cells *cells, uint64_t hash);
/* True if *seen was clean, and since then the key was not written, no miss of it was reported,
 * and no flush began. */
bool front_cell_stands_mt(struct front_cells *cells, uint64_t hash, const struct front_seen *seen);
/* Records a reported miss: older flights are not joined any more. */
void front_cell_step_mt(struct front_cells *cells, uint64_t hash);
/* Records a miss of all keys. */
void front_cells_step_mt(struct front_cells *cells);

/* ---- shared mode ---- */

/* True if no copy is older than life_ns. */
bool front_cells_fresh_mt(struct front_cells *cells, uint64_t now_ns, uint64_t life_ns);
/* Claims the removal of old copies for this core alone. False: another core is removing them. */
bool front_cells_renew_mt(struct front_cells *cells);
/* Ends the claim. done: no copy is left that was requested before now_ns. */
void front_cells_renewed_mt(struct front_cells *cells, bool done, uint64_t now_ns);

/* ---- connections ---- */

uint32_t front_cells_opened_mt(const struct front_cells *cells);
/* Counts a new connection. False: the number that can be distinguished is reached. */
bool front_cells_open_mt(struct front_cells *cells);
/* Restarts the count at 0, once no copy has a number. False: another core has done that. */
bool front_cells_open_anew_mt(struct front_cells *cells);

/* ---- writes ---- */

/* Adds a writer. *own is the cell with it; clean: the key has no other writer, and no flush is in
 * progress. */
bool front_write_begin_mt(struct front_cells *cells, uint64_t hash, struct front_seen *own);
/* Checks the cell, by an atomic that changes nothing, after the write's placeholder was stored.
 * True if the write was alone, and neither a write nor a flush has begun since. A later write
 * finds the placeholder. */
bool front_write_is_alone_mt(struct front_cells *cells, uint64_t hash,
			     const struct front_seen *own);
void front_write_end_mt(struct front_cells *cells, uint64_t hash);
/* Ends a write that the server may execute at any later time, or never. */
void front_write_lost_mt(struct front_cells *cells, uint64_t hash);

/* ---- flushes ---- */

/* Call before stored items are flushed. */
void front_flush_begin_mt(struct front_cells *cells);
void front_flush_end_mt(struct front_cells *cells);

#endif
