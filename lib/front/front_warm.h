/*
 * front_warm.h - which keys may still be handed over after a change of the fleet, and by how many
 * cores at this moment.
 *
 * A key that moved from server A to B is handed over by an `add` at B of what A has. That is right
 * only while nothing newer is known of the key: no write of it was sent, and no miss of it was
 * reported, since the change. A key is settled by the first of these; the core that settles it
 * waits until no add of the key is in progress.
 *
 * A second change within the time of the first is chained to it: a key that was not settled between
 * the two may still be at the server that had it before both.
 *
 * Shape:  a word has 16 bits: settled 1, settled before a chained change 1, adds in progress 14.
 *         A key's hash determines its word.
 *         Keys that share a word cause each other misses and short waits, and no other harm. The
 *         gate has 64 bits: closed 1, flushed 1, adds of unknown outcome 30, adds in progress 32.
 *         Closed by a flush or by the control thread, it stays so until the next change.
 * Owner:  the caller: one struct front_warm for all cores of a front, zeros.
 * Thread: _mt: any. The others: the control thread; front_warm_open without a chain: while no core
 *         uses words.
 * Errors: front_warm_add_begin_mt: false, the add must not be sent.
 * Bounds: constant time, except for atomics that are tried again.
 *
 * Order: settling and beginning an add change one word, so one of the two sees the other; a flush
 * and an add change the gate likewise.
 */
#ifndef CLOCKOO_FRONT_WARM_H
#define CLOCKOO_FRONT_WARM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FRONT_WARM_WORDS     (1u << 20)
#define FRONT_WARM_SETTLED   0x8000u
#define FRONT_WARM_BEFORE    0x4000u
#define FRONT_WARM_WORD_ADDS 0x3fffu
#define FRONT_WARM_ADDS      0xffffffffull /* of the gate */
#define FRONT_WARM_UNKNOWN   (1ull << 32)  /* one add of unknown outcome */
#define FRONT_WARM_FLUSHED   (1ull << 62)
#define FRONT_WARM_CLOSED    (1ull << 63)
#define FRONT_WARM_HASH_FROM 20u /* bits of a hash below it choose other things */

struct front_warm {
	_Atomic uint64_t gate;
	_Atomic uint16_t word[FRONT_WARM_WORDS];
};

static inline _Atomic uint16_t *
front_warm_word(struct front_warm *w, uint64_t hash)
{
	return &w->word[hash >> FRONT_WARM_HASH_FROM & (FRONT_WARM_WORDS - 1)];
}

/* Ends all hand-overs that have not begun their add. False: an add is in progress. */
static inline bool
front_warm_close(struct front_warm *w)
{
	return (atomic_fetch_or_explicit(&w->gate, FRONT_WARM_CLOSED, memory_order_acq_rel) &
		FRONT_WARM_ADDS) == 0;
}

/* Precedes the state that refuses the keys that move: a flush from now on may still be in progress
 * when they are handed over, which it prevents. */
static inline void
front_warm_prepare(struct front_warm *w)
{
	atomic_fetch_and_explicit(&w->gate, ~FRONT_WARM_FLUSHED, memory_order_acq_rel);
}

/* True if hand-overs of the present change have not been ended by a flush, and no add has an
 * unknown outcome: the next change may be chained to it. */
static inline bool
front_warm_may_chain(const struct front_warm *w)
{
	return (atomic_load_explicit(&w->gate, memory_order_relaxed) & ~FRONT_WARM_CLOSED) == 0;
}

/* Begins a change: no key is settled. chains: keys that are settled now count as settled before it.
 * Cores may settle keys meanwhile that do not move by this change. Settled before or after its word
 * is changed, such a key is not handed over. */
static inline void
front_warm_open(struct front_warm *w, bool chains)
{
	uint64_t gate = atomic_load_explicit(&w->gate, memory_order_relaxed);

	for (uint32_t i = 0; i < FRONT_WARM_WORDS; i++) {
		uint16_t is = atomic_load_explicit(&w->word[i], memory_order_relaxed);

		while (is != 0 &&
		       !atomic_compare_exchange_weak_explicit(
			       &w->word[i], &is,
			       chains && (is & FRONT_WARM_SETTLED) != 0 ? FRONT_WARM_BEFORE : 0,
			       memory_order_relaxed, memory_order_relaxed))
			;
	}
	while (!atomic_compare_exchange_weak_explicit(
		&w->gate, &gate, (gate & FRONT_WARM_FLUSHED) != 0 ? FRONT_WARM_CLOSED : 0,
		memory_order_acq_rel, memory_order_relaxed))
		;
}

/* Closes the gate for a flush. False: an add is in progress, or its outcome is unknown, so that the
 * flush must wait. */
static inline bool
front_warm_flush_mt(struct front_warm *w)
{
	const uint64_t over = FRONT_WARM_CLOSED | FRONT_WARM_FLUSHED;

	return (atomic_fetch_or_explicit(&w->gate, over, memory_order_acq_rel) & ~over) == 0;
}

/* True if a key of this word may be handed over, as far as known now. */
static inline bool
front_warm_may_mt(struct front_warm *w, uint64_t hash)
{
	return (atomic_load_explicit(&w->gate, memory_order_relaxed) & FRONT_WARM_CLOSED) == 0 &&
	       (atomic_load_explicit(front_warm_word(w, hash), memory_order_relaxed) &
		FRONT_WARM_SETTLED) == 0;
}

/* True if a key of this word was settled before the change that is chained to another. */
static inline bool
front_warm_was_settled_mt(struct front_warm *w, uint64_t hash)
{
	return (atomic_load_explicit(front_warm_word(w, hash), memory_order_relaxed) &
		FRONT_WARM_BEFORE) != 0;
}

/* Settles a key, before a write of it is sent or a miss reported. False: an add of the word is in
 * progress, so the caller must wait. */
static inline bool
front_warm_settle_mt(struct front_warm *w, uint64_t hash)
{
	return (atomic_fetch_or_explicit(front_warm_word(w, hash), FRONT_WARM_SETTLED,
					 memory_order_acq_rel) &
		FRONT_WARM_WORD_ADDS) == 0;
}

/* Ends an add. known: the server has answered it, or it was never sent; otherwise it may be
 * executed at any later time, and its word is held until the next change. */
static inline void
front_warm_add_end_mt(struct front_warm *w, uint64_t hash, bool known)
{
	if (known)
		atomic_fetch_sub_explicit(front_warm_word(w, hash), 1, memory_order_acq_rel);
	atomic_fetch_add_explicit(&w->gate, (known ? 0 : FRONT_WARM_UNKNOWN) - 1,
				  memory_order_acq_rel);
}

/* Begins an add of a key that is not settled. */
static inline bool
front_warm_add_begin_mt(struct front_warm *w, uint64_t hash)
{
	_Atomic uint16_t *word = front_warm_word(w, hash);
	uint64_t gate = atomic_load_explicit(&w->gate, memory_order_relaxed);
	uint16_t is = atomic_load_explicit(word, memory_order_relaxed);

	do {
		if ((gate & FRONT_WARM_CLOSED) != 0)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&w->gate, &gate, gate + 1, memory_order_acq_rel, memory_order_relaxed));
	do {
		if ((is & FRONT_WARM_SETTLED) != 0 ||
		    (is & FRONT_WARM_WORD_ADDS) == FRONT_WARM_WORD_ADDS) {
			atomic_fetch_sub_explicit(&w->gate, 1, memory_order_acq_rel);
			return false;
		}
	} while (!atomic_compare_exchange_weak_explicit(
		word, &is, (uint16_t)(is + 1), memory_order_acq_rel, memory_order_relaxed));
	return true;
}

#endif
