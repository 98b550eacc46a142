/*
 * front_warm.h - which keys may still be handed over after a change of the fleet, and how many adds
 * of them are in progress.
 *
 * A key that moved from server A to server B is handed over by an `add` at B of the value that A
 * has. That is right only while nothing newer is known of the key: since the change no write of it
 * was sent, and no miss of it was reported. The first of these settles the key. The core that
 * settles it waits until no add of the key is in progress.
 *
 * A second change within the time of the first is chained to it: a key that was not settled between
 * the two may still be at the server that had it before both.
 *
 * Shape:  a word has 16 bits: settled 1, settled before a chained change 1, adds in progress 14. A
 *         key's hash names its word. Keys with the same word cause each other misses and short
 *         waits, and no other harm. The gate has 64 bits: closed 1, flushed 1, adds of unknown
 *         outcome 30, adds in progress 32. A flush or the control thread closes it; it stays closed
 *         until the next change.
 * Owner:  the caller: one struct front_warm, zeros at first, for all cores of a front.
 * Thread: _mt: any. The others: the control thread. front_warm_open without a chain: while no core
 *         uses words.
 * Errors: front_warm_add_begin_mt: false: the add must not be sent.
 * Bounds: constant time, except for an exchange that is tried again.
 *
 * Order: settling a key and beginning an add of it change the same word, so the later one sees the
 * earlier one. The same holds for a flush and an add, with the gate.
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
#define FRONT_WARM_ADDS      0xffffffffull /* bits of the gate: adds in progress */
#define FRONT_WARM_UNKNOWN   (1ull << 32)  /* one add of unknown outcome */
#define FRONT_WARM_FLUSHED   (1ull << 62)
#define FRONT_WARM_CLOSED    (1ull << 63)
#define FRONT_WARM_HASH_FROM 20u /* lower bits of a hash choose other things */

struct front_warm {
	_Atomic uint64_t gate;
	_Atomic uint16_t word[FRONT_WARM_WORDS];
};

static inline _Atomic uint16_t *
front_warm_word(struct front_warm *w, uint64_t hash)
{
	return &w->word[hash >> FRONT_WARM_HASH_FROM & (FRONT_WARM_WORDS - 1)];
}

/* Closes the gate: adds that have not begun never will. False: an add is in progress. */
static inline bool
front_warm_close(struct front_warm *w)
{
	return (atomic_fetch_or_explicit(&w->gate, FRONT_WARM_CLOSED, memory_order_acq_rel) &
		FRONT_WARM_ADDS) == 0;
}

/* Opens the time in which a flush prevents the hand-overs of the next change. To be called before
 * the state that refuses the keys which move: a flush from then on may still be in progress when
 * these keys are handed over. */
static inline void
front_warm_prepare(struct front_warm *w)
{
	atomic_fetch_and_explicit(&w->gate, ~FRONT_WARM_FLUSHED, memory_order_acq_rel);
}

/* True if the next change may be chained to the present one: no flush has ended its hand-overs, and
 * no add has an unknown outcome. */
static inline bool
front_warm_may_chain(const struct front_warm *w)
{
	return (atomic_load_explicit(&w->gate, memory_order_relaxed) & ~FRONT_WARM_CLOSED) == 0;
}

/* Begins a change: no key is settled. chains: keys that are settled now become "settled before".
 * During a chained change cores may settle keys that do not move by it. Such a key is not handed
 * over, whether it is settled before or after its word is changed here. */
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

/* Closes the gate for a flush. False: an add is in progress, or its outcome is unknown; the flush
 * must wait. */
static inline bool
front_warm_flush_mt(struct front_warm *w)
{
	const uint64_t over = FRONT_WARM_CLOSED | FRONT_WARM_FLUSHED;

	return (atomic_fetch_or_explicit(&w->gate, over, memory_order_acq_rel) & ~over) == 0;
}

/* True if a key of this word may be handed over, by what is known now. */
static inline bool
front_warm_may_mt(struct front_warm *w, uint64_t hash)
{
	return (atomic_load_explicit(&w->gate, memory_order_relaxed) & FRONT_WARM_CLOSED) == 0 &&
	       (atomic_load_explicit(front_warm_word(w, hash), memory_order_relaxed) &
		FRONT_WARM_SETTLED) == 0;
}

/* True if a key of this word was settled between the two changes of a chain. */
static inline bool
front_warm_was_settled_mt(struct front_warm *w, uint64_t hash)
{
	return (atomic_load_explicit(front_warm_word(w, hash), memory_order_relaxed) &
		FRONT_WARM_BEFORE) != 0;
}

/* Settles a key. To be called before a write of it is sent, or a miss of it is reported. False: an
 * add of its word is in progress; the caller must wait. */
static inline bool
front_warm_settle_mt(struct front_warm *w, uint64_t hash)
{
	return (atomic_fetch_or_explicit(front_warm_word(w, hash), FRONT_WARM_SETTLED,
					 memory_order_acq_rel) &
		FRONT_WARM_WORD_ADDS) == 0;
}

/* Ends an add. known: the server has answered it, or it was never sent. Otherwise the server may
 * execute it at any later time, so its word counts it until the next change. */
static inline void
front_warm_add_end_mt(struct front_warm *w, uint64_t hash, bool known)
{
	if (known)
		atomic_fetch_sub_explicit(front_warm_word(w, hash), 1, memory_order_acq_rel);
	atomic_fetch_add_explicit(&w->gate, (known ? 0 : FRONT_WARM_UNKNOWN) - 1,
				  memory_order_acq_rel);
}

/* Begins an add. False: the key is settled, the gate is closed, or the word has too many adds. */
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
