/*
 * versions.h - which keys are being written, and whether one was written since a given moment:
 * what makes copies coherent.
 *
 * Shape:  a version word has 64 bits: version number 32, tag 16, unknown 1, writers 15. A key's
 *         hash determines its word. Keys that share a word cause each other extra gets and no
 *         other harm. One more word counts flushes: epoch 48, flushes in progress 16. A write adds
 *         a writer and increments the number before it is sent, and removes the writer when its
 *         outcome is known. If the outcome is never known, the word stays unknown: all its keys
 *         then count as being written.
 * Units:  hashes are the store's.
 * Owner:  the caller: one struct versions for all cores of a front, set up once.
 * Thread: init: one thread. All others: any.
 * Errors: version_write_begin_mt(): false, the word has VERSION_WRITERS_MAX writers.
 * Bounds: constant time, except for atomics that are tried again; one line of memory.
 * Source: COHERENCE.md: W1, W5, F2, J2, M.
 *
 * Order: the version word orders changes to copies. A fetch stores its lease and then calls
 * version_load_ordered_mt(); a write begins and then removes the key's copy or lease. One of the
 * two sees the other, as both change the word.
 */
#ifndef CLOCKOO_VERSIONS_H
#define CLOCKOO_VERSIONS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define VERSION_WORDS       65536u
#define VERSION_WRITERS_MAX 30000u
#define VERSIONS_OPENED_MAX 0xffffu

struct versions {
	alignas(64) _Atomic uint64_t flushes;
	_Atomic uint32_t opened;   /* connections opened, at most VERSIONS_OPENED_MAX */
	_Atomic uint64_t fresh_ns; /* shared mode: no copy was requested before this time */
	atomic_bool renewing;      /* a core is moving that time forward */
	alignas(64) _Atomic uint64_t word[VERSION_WORDS];
};

/* The version of a key at one moment. */
struct version {
	uint64_t flushes;
	uint32_t number;
	bool clean; /* the key had no writer, and no flush was in progress */
};

void versions_init(struct versions *versions);

/* ---- reads ---- */

/* Reads the version by a load, before a pending fetch is joined or sent. */
struct version version_load_mt(struct versions *versions, uint64_t hash);
/* Reads the version by an atomic that changes nothing, after a lease was stored. */
struct version version_load_ordered_mt(struct versions *versions, uint64_t hash);
/* True if *seen was clean, and since then the key was not written, no miss of it was reported,
 * and no flush began. */
bool version_is_current_mt(struct versions *versions, uint64_t hash, const struct version *seen);
/* Records a reported miss: fetches sent before it are not joined any more. */
void version_advance_mt(struct versions *versions, uint64_t hash);
/* Records a miss of all keys. */
void versions_advance_mt(struct versions *versions);

/* ---- shared mode ---- */

/* True if no copy is older than life_ns. */
bool versions_are_fresh_mt(struct versions *versions, uint64_t now_ns, uint64_t life_ns);
/* Claims the removal of old copies for this core alone. False: another core is removing them. */
bool versions_renew_begin_mt(struct versions *versions);
/* Ends the claim. done: no copy is left that was requested before now_ns. */
void versions_renew_end_mt(struct versions *versions, bool done, uint64_t now_ns);

/* ---- connections ---- */

uint32_t versions_opened_mt(const struct versions *versions);
/* Counts a new connection. False: the number that can be distinguished is reached. */
bool versions_open_mt(struct versions *versions);
/* Restarts the count at 0, once no copy has a number. False: another core has done that. */
bool versions_reopen_mt(struct versions *versions);

/* ---- writes ---- */

/* Adds a writer. *own is the version with it; clean: the key has no other writer, and no flush is
 * in progress. */
bool version_write_begin_mt(struct versions *versions, uint64_t hash, struct version *own);
/* Checks the version, by an atomic that changes nothing, after the write's lease was stored. True
 * if the write was alone, and neither a write nor a flush has begun since. A later write finds the
 * lease. */
bool version_write_is_alone_mt(struct versions *versions, uint64_t hash, const struct version *own);
void version_write_end_mt(struct versions *versions, uint64_t hash);
/* Ends a write that the server may execute at any later time, or never. */
void version_write_lost_mt(struct versions *versions, uint64_t hash);

/* ---- flushes ---- */

/* Call before stored items are flushed. */
void versions_flush_begin_mt(struct versions *versions);
void versions_flush_end_mt(struct versions *versions);

#endif
