/*
 * ghost.h - ghosts: parts of the hashes of keys that were evicted lately.
 *
 * A key that is stored again while its ghost is there was evicted too early (probation.h).
 *
 * Shape:  words of four entries of 16 bits; a key's hash names the word. An entry is 15 bits of the
 *         hash, and one that is set if the item was on probation; 0 is none. A new entry pushes out
 *         the oldest one of its word, so entries need no other ageing.
 *
 * Owner:  the region it was taken from.
 *
 * Thread: any core, without a lock. Two cores at one word at once may lose an entry. Entries are
 *         hints: a lost or a false one (4 in 32768 lookups) costs a few bytes of cache, no answer.
 *
 * Bounds: one word a call.
 */
#ifndef CLOCKOO_GHOST_H
#define CLOCKOO_GHOST_H

#include "base/prefetch.h"
#include "base/region.h"

#include <stdatomic.h>

#define GHOST_BITS    16u
#define GHOSTS_A_WORD (64u / GHOST_BITS)

struct ghosts {
	_Atomic uint64_t *words;
	uint32_t count; /* words; 0: none are kept */
};

enum ghost { GHOST_NONE, GHOST_OF_KEPT, GHOST_OF_NEW };

static inline void
ghosts_init(struct ghosts *g, struct region *region, uint32_t words)
{
	g->count = words;
	g->words = region_take(region, words * sizeof(uint64_t), sizeof(uint64_t));
}

/* The bits that choose the primary bucket choose the word: neighbours there are so here. */
static inline _Atomic uint64_t *
ghost_word(const struct ghosts *g, uint64_t hash)
{
	return &g->words[(hash >> 32) * g->count >> 32];
}

/* The entry of a key that was on probation; its bits of the hash are not those that choose the
 * word. */
static inline uint64_t
ghost_entry(uint64_t hash)
{
	return (hash << 1 & 0xfffe) | 1;
}

static inline void
ghost_prefetch(const struct ghosts *g, uint64_t hash)
{
	if (g->count != 0)
		prefetch((const void *)ghost_word(g, hash));
}

static inline void
ghost_add(const struct ghosts *g, uint64_t hash, enum ghost kind)
{
	if (g->count == 0 || kind == GHOST_NONE)
		return;

	_Atomic uint64_t *word = ghost_word(g, hash);
	const uint64_t entry = ghost_entry(hash) - (kind == GHOST_OF_KEPT);

	/* Relaxed: nothing is read through it. */
	atomic_store_explicit(
		word, atomic_load_explicit(word, memory_order_relaxed) << GHOST_BITS | entry,
		memory_order_relaxed);
}

/* Take out the key's ghost; the latest one if it has several. */
static inline enum ghost
ghost_take(const struct ghosts *g, uint64_t hash)
{
	if (g->count == 0)
		return GHOST_NONE;

	_Atomic uint64_t *word = ghost_word(g, hash);
	const uint64_t now = atomic_load_explicit(word, memory_order_relaxed);

	for (uint32_t shift = 0; shift < 64; shift += GHOST_BITS) {
		const uint64_t entry = now >> shift & 0xffff;

		if (entry == 0 || (entry | 1) != ghost_entry(hash))
			continue;
		atomic_store_explicit(word, now & ~(0xffffull << shift), memory_order_relaxed);
		return (entry & 1) != 0 ? GHOST_OF_NEW : GHOST_OF_KEPT;
	}
	return GHOST_NONE;
}

#endif
