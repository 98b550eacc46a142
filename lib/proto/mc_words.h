/*
 * mc_words.h - a command line as words.
 *
 * For lib/proto alone, but through mc_straight.h. Words are separated by runs of spaces and by
 * nothing else: a tab, a NUL or a lone carriage return is part of a word (memcached's tokenizer).
 *
 * Shape:  words are views into the line; the line's end is not part of it.
 * Thread: pure functions.
 * Bounds: the first MC_WORDS_KEPT words and the last one are kept, all are counted.
 */
#ifndef CLOCKOO_MC_WORDS_H
#define CLOCKOO_MC_WORDS_H

#include "base/bytes.h"
#include "base/check.h"

#include <emmintrin.h>

/* A meta command with all its flags. */
#define MC_WORDS_KEPT 20u

struct mc_words {
	uint32_t count;
	struct view word[MC_WORDS_KEPT];
	struct view last;
};

/* Bit i: p[i] is a space or a line feed, of the 16 bytes at p. */
static inline uint32_t
mc_word_ends(const uint8_t *p)
{
	const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
	const __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')),
					  _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')));

	return (uint32_t)_mm_movemask_epi8(ends);
}

/* Offset of the first space or line feed from at on; len if there is none. */
static inline uint32_t
mc_word_end(const uint8_t *p, uint32_t at, uint32_t len)
{
	for (; at + 16 <= len; at += 16) {
		const uint32_t ends = mc_word_ends(p + at);

		if (ends != 0)
			return at + (uint32_t)__builtin_ctz(ends);
	}
	if (at < len && len >= 16) {
		/* What is left, as the end of 16 bytes that overlap those before. */
		const uint32_t ends = mc_word_ends(p + len - 16) >> (at + 16 - len);

		return ends != 0 ? at + (uint32_t)__builtin_ctz(ends) : len;
	}
	while (at < len && p[at] != ' ' && p[at] != '\n')
		at++;
	return at;
}

static inline uint32_t
mc_spaces_end(const uint8_t *p, uint32_t at, uint32_t len)
{
	while (at < len && p[at] == ' ')
		at++;
	return at;
}

/* At most to the first line feed. */
static inline void
mc_words_split(struct mc_words *w, const uint8_t *line, uint32_t len)
{
	uint32_t at = mc_spaces_end(line, 0, len);
	uint32_t begin = 0, end = 0, count = 0;

	while (at < len && line[at] != '\n') {
		begin = at;
		end = mc_word_end(line, at, len);
		/* Field by field: copied as a whole, a word would wait for its two stores. */
		if (count < MC_WORDS_KEPT) {
			w->word[count].data = line + begin;
			w->word[count].len = end - begin;
		}
		count++;
		at = mc_spaces_end(line, end, len);
	}
	w->count = count;
	w->last.data = line + begin;
	w->last.len = end - begin;
}

static inline bool
mc_word_is(struct view word, const char *text, uint32_t len)
{
	return word.len == len && memcmp(word.data, text, len) == 0;
}

#endif
