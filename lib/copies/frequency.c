/*
 * frequency.c - four rows of 32 counters, 16 of them in a word.
 */
#include "frequency.h"

#include "base/check.h"

#define BITS_A_ROW    5u /* one selects the word, four the counter in it */
#define COUNTER_BITS  4u
#define COUNTERS      16u
#define HALVED_LOWEST 0x7777777777777777ull

static uint64_t
word_at(const struct frequency *f, uint32_t word)
{
	return atomic_load_explicit(&f->words[word], memory_order_relaxed);
}

static uint32_t
counter_word(uint32_t bits, uint32_t row)
{
	return 2 * row + (bits >> (BITS_A_ROW * row + COUNTER_BITS) & 1);
}

static uint32_t
shift_of(uint32_t bits, uint32_t row)
{
	return COUNTER_BITS * (bits >> BITS_A_ROW * row & (COUNTERS - 1));
}

uint32_t
frequency_estimate(const struct frequency *f, uint32_t bits)
{
	uint32_t least = FREQUENCY_MAX;

	for (uint32_t row = 0; row < FREQUENCY_ROWS; row++) {
		const uint32_t count =
			(uint32_t)(word_at(f, counter_word(bits, row)) >> shift_of(bits, row)) &
			FREQUENCY_MAX;

		least = count < least ? count : least;
	}
	return least;
}

void
frequency_raise(struct frequency *f, uint32_t bits, uint32_t count)
{
	ensure(count <= FREQUENCY_MAX);
	for (uint32_t row = 0; row < FREQUENCY_ROWS; row++) {
		const uint32_t i = counter_word(bits, row), shift = shift_of(bits, row);
		const uint64_t word = word_at(f, i);

		if ((word >> shift & FREQUENCY_MAX) < count)
			atomic_store_explicit(&f->words[i],
					      (word & ~((uint64_t)FREQUENCY_MAX << shift)) |
						      (uint64_t)count << shift,
					      memory_order_relaxed);
	}
}

void
frequency_halve(struct frequency *f)
{
	for (uint32_t i = 0; i < 2 * FREQUENCY_ROWS; i++)
		atomic_store_explicit(&f->words[i], word_at(f, i) >> 1 & HALVED_LOWEST,
				      memory_order_relaxed);
}
