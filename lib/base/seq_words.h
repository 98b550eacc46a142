/*
 * seq_words.h - words that one thread writes and others copy whole, without a lock: a sequence
 * lock.
 *
 * The version is odd while the words are written. A reader loads the version before and after it
 * copies the words; the copy is consistent if both loads gave the same even number.
 *
 * Shape:  a version and words, all zero at start; copies are of bytes in multiples of 8.
 * Thread: written by one thread; read by any, which never delays the writer.
 * Bounds: SEQ_READS tries of a reader; false if a writer interfered with every try.
 * Source: H.-J. Boehm, "Can seqlocks get along with programming language memory models?", 2012.
 */
#ifndef CLOCKOO_SEQ_WORDS_H
#define CLOCKOO_SEQ_WORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SEQ_READS 8u

/* For the test: which step is left out, and for how long a copy is delayed. */
#ifndef SEQ_MUTANT
#define SEQ_MUTANT 0
#endif
#ifndef SEQ_GAP
#define SEQ_GAP() ((void)0)
#endif

static inline void
seq_words_write(_Atomic uint64_t *version, _Atomic uint64_t *words, const void *from, size_t bytes)
{
	const uint64_t v = atomic_load_explicit(version, memory_order_relaxed);

	if (SEQ_MUTANT != 1)
		atomic_store_explicit(version, v + 1, memory_order_relaxed);
	/* Release: pairs with the acquire fence in seq_words_read. A reader that sees any of these
	 * words sees the odd version, or a later one. */
	atomic_thread_fence(memory_order_release);
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word;

		memcpy(&word, (const uint8_t *)from + i, 8);
		atomic_store_explicit(&words[i / 8], word, memory_order_relaxed);
		SEQ_GAP();
	}
	/* Release: pairs with the acquire load in seq_words_read. */
	atomic_store_explicit(version, v + 2, memory_order_release);
}

/* Copies `bytes` bytes from word `first` on. False: the words changed during every try, and `to` is
 * incomplete. */
static inline bool
seq_words_read(const _Atomic uint64_t *version, const _Atomic uint64_t *words, size_t first,
	       void *to, size_t bytes)
{
	for (uint32_t reads = 0; reads < SEQ_READS; reads++) {
		/* Pairs with the release store in seq_words_write. */
		const uint64_t v = atomic_load_explicit(version, memory_order_acquire);

		for (size_t i = 0; i < bytes; i += 8) {
			const uint64_t word =
				atomic_load_explicit(&words[first + i / 8], memory_order_relaxed);

			memcpy((uint8_t *)to + i, &word, 8);
		}
		/* Pairs with the release fence in seq_words_write. */
		atomic_thread_fence(memory_order_acquire);
		if (SEQ_MUTANT == 2 ||
		    ((v & 1) == 0 && atomic_load_explicit(version, memory_order_relaxed) == v))
			return true;
	}
	return false;
}

#endif
