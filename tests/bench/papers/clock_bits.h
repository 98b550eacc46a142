/*
 * clock_bits.h - MemC3's CLOCK: one bit for each place, and a hand.
 *
 * Owner:  clock_bits_create allocates, clock_bits_destroy frees.
 * Thread: clock_bits_use: any thread. clock_bits_hand: under the caller's lock; every place must
 *         be in use.
 */
#ifndef CLOCKOO_CLOCK_BITS_H
#define CLOCKOO_CLOCK_BITS_H

#include "base/check.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

struct clock_bits {
	_Atomic uint64_t *words;
	uint32_t count, hand;
};

static inline void
clock_bits_create(struct clock_bits *c, uint32_t count)
{
	*c = (struct clock_bits){.words = calloc(count / 64 + 1, sizeof(uint64_t)), .count = count};
	ensure(c->words != NULL);
}

static inline void
clock_bits_destroy(struct clock_bits *c)
{
	free((void *)c->words);
}

/* Sets a place's bit. A bit that is set is only read: cores share its line. */
static inline void
clock_bits_use(struct clock_bits *c, uint32_t place)
{
	_Atomic uint64_t *word = &c->words[place / 64];
	const uint64_t bit = 1ull << place % 64;

	if ((atomic_load_explicit(word, memory_order_relaxed) & bit) == 0)
		atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
}

/* Returns the next place that was not used since the hand passed it. */
static inline uint32_t
clock_bits_hand(struct clock_bits *c)
{
	for (;;) {
		const uint32_t place = c->hand;
		_Atomic uint64_t *word = &c->words[place / 64];
		const uint64_t bit = 1ull << place % 64;

		c->hand = place + 1 == c->count ? 0 : place + 1;
		if ((atomic_load_explicit(word, memory_order_relaxed) & bit) == 0)
			return place;
		atomic_fetch_and_explicit(word, ~bit, memory_order_relaxed);
	}
}

#endif
