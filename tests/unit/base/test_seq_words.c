/*
 * Words under a sequence lock. Goal: a copy is of one write, whole, wherever reader and writer
 * meet, and a reader gives up after SEQ_READS tries. Method: the writer stops after each word to
 * let a reader copy. Built again with a writer that does not make the version odd, and with a
 * reader that does not check the version again (SEQ_MUTANT), it must fail.
 */
#include "support/test.h"

static void met(void);
#define SEQ_GAP() met()
#include "base/seq_words.h"

#define WORDS 5u

static _Atomic uint64_t version, words[WORDS];
static uint32_t looks, torn;

static void
look(void)
{
	uint64_t copy[WORDS] = {0};

	looks++;
	if (!seq_words_read(&version, words, 0, copy, sizeof copy))
		return;
	for (uint32_t i = 1; i < WORDS; i++)
		torn += copy[i] != copy[0];
}

static void
met(void)
{
	look();
}

static void
put(uint64_t n)
{
	uint64_t all[WORDS];

	for (uint32_t i = 0; i < WORDS; i++)
		all[i] = n;
	seq_words_write(&version, words, all, sizeof all);
}

TEST(a_reader_amid_a_writing_is_refused)
{
	for (uint64_t n = 1; n <= 100; n++)
		put(n);
	check_eq(looks, 100 * WORDS);
	check_eq(torn, 0);
}

TEST(what_is_written_is_read_from_any_word_on)
{
	uint64_t copy[2] = {0};

	put(7);
	check(seq_words_read(&version, words, 3, copy, sizeof copy));
	check_eq(copy[0], 7);
	check_eq(copy[1], 7);
	check_eq(version % 2, 0);
}
