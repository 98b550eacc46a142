/*
 * versions.h - says which keys are being written, and whether a key was written since a given
 * moment. Copies are coherent by it.
 *
 * Shape:  a version word has 64 bits: version number 32, tag 16, unknown 1, writers 15. A key's
 *         hash names its word. Keys with the same word cause each other extra gets, and no other
 *         harm. One more word counts flushes: epoch 48, flushes in progress 16.
 *         A write adds a writer and increments the number before it is sent, and removes the writer
 *         when its outcome is known. If the outcome can never become known, the word is marked
 *         unknown: all its keys then count as being written.
 * Units:  hashes are the store's.
 * Owner:  the caller: one struct versions for all cores of a front, set up once.
 * Thread: init: one thread. All others: any.
 * Errors: version_write_begin_mt(): false, the word has VERSION_WRITERS_MAX writers.
 * Bounds: constant time, except for an exchange that is tried again; one cache line.
 * Source: COHERENCE.md: W1, W5, F2, J2, M.
 *
 * Order: all cores agree on the order of changes to a version word. A fetch stores its lease and
 * then calls version_load_ordered_mt(). A write begins, and then removes the key's copy or lease.
 * Both change the word, so the later one sees what the earlier one did.
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
	_Atomic uint32_t opened; /* connections opened, counted up to VERSIONS_OPENED_MAX */
	/* In shared mode: every copy was requested at or after this time. */
	_Atomic uint64_t fresh_ns;
	atomic_bool renewing; /* a core is ending copies, to set a later time */
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

/* Reads the version by a load, before a fetch is sent or followed. */
struct version version_load_mt(struct versions *versions, uint64_t hash);
/* Reads the version by an atomic exchange that changes nothing, after a lease was stored. */
struct version version_load_ordered_mt(struct versions *versions, uint64_t hash);
/* True if *seen was clean, and since then the key was not written, no miss of it was reported and
 * no flush began. */
bool version_is_current_mt(struct versions *versions, uint64_t hash, const struct version *seen);
/* Records that a miss of the key is reported: no request follows fetches that were sent before. */
void version_advance_mt(struct versions *versions, uint64_t hash);
/* Records that a miss of every key is reported. */
void versions_advance_mt(struct versions *versions);

/* ---- shared mode ---- */

/* True if no copy is older than life_ns. */
bool versions_are_fresh_mt(struct versions *versions, uint64_t now_ns, uint64_t life_ns);
/* Reserves the removal of old copies for this core. False: another core is removing them. */
bool versions_renew_begin_mt(struct versions *versions);
/* Ends the reservation. done: no copy is left that was requested before now_ns. */
void versions_renew_end_mt(struct versions *versions, bool done, uint64_t now_ns);

/* ---- connections ---- */

uint32_t versions_opened_mt(const struct versions *versions);
/* Counts a new connection. False: the count has reached its limit. */
bool versions_open_mt(struct versions *versions);
/* Restarts the count at 0, once no copy has a number of connections. False: another core has done
 * that. */
bool versions_reopen_mt(struct versions *versions);

/* ---- writes ---- */

/* Adds a writer. *own becomes the version with it; it is clean if the key has no other writer and
 * no flush is in progress. */
bool version_write_begin_mt(struct versions *versions, uint64_t hash, struct version *own);
/* Checks the version by an atomic exchange that changes nothing, after the write's lease was
 * stored. True if the write was alone, and no write or flush has begun since. A write that begins
 * later finds the lease. */
bool version_write_is_alone_mt(struct versions *versions, uint64_t hash, const struct version *own);
void version_write_end_mt(struct versions *versions, uint64_t hash);
/* Ends a write that the server may execute at any later time, or never. */
void version_write_lost_mt(struct versions *versions, uint64_t hash);

/* ---- flushes ---- */

/* To be called before items of the store are flushed. */
void versions_flush_begin_mt(struct versions *versions);
void versions_flush_end_mt(struct versions *versions);

#endif
