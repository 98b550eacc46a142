/*
 * mc_tokens.h - a command line as tokens.
 *
 * Included by lib/proto alone; others get it through mc_fast_path.h. Tokens are separated by runs
 * of spaces and by nothing else: a tab, a NUL or a lone carriage return is part of a token
 * (memcached's tokenizer).
 *
 * Shape:  tokens are views into the line; the line's end is not part of it.
 * Thread: pure functions.
 * Bounds: the first MC_TOKENS_KEPT tokens and the last one are kept, all are counted.
 */
#ifndef CLOCKOO_MC_TOKENS_H
#define CLOCKOO_MC_TOKENS_H

#include "base/bytes.h"
#include "base/check.h"
#include "base/vec16.h"

/* Enough for a meta command with all its flags. */
#define MC_TOKENS_KEPT 20u

struct mc_tokens {
	uint32_t count;
	struct view token[MC_TOKENS_KEPT];
	struct view last;
};

/* Returns the spaces and line feeds among the 16 bytes at p: bit i stands for p[i]. */
static inline uint32_t
mc_token_ends(const uint8_t *p)
{
	const vec16 bytes = vec16_load(p);

	return vec16_signs(vec16_or(vec16_equal_8(bytes, vec16_of_8(' ')),
				    vec16_equal_8(bytes, vec16_of_8('\n'))));
}

/* Returns the offset of the first space or line feed from at on, len if there is none. */
static inline uint32_t
mc_token_end(const uint8_t *p, uint32_t at, uint32_t len)
{
	for (; at + 16 <= len; at += 16) {
		const uint32_t ends = mc_token_ends(p + at);

		if (ends != 0)
			return at + (uint32_t)__builtin_ctz(ends);
	}
	if (at < len && len >= 16) {
		/* The remaining bytes are the last of the 16 at len - 16; those checked before are
		 * shifted out. */
		const uint32_t ends = mc_token_ends(p + len - 16) >> (at + 16 - len);

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

/* Splits the line up to its end or its first line feed. */
static inline void
mc_tokenize(struct mc_tokens *w, const uint8_t *line, uint32_t len)
{
	uint32_t at = mc_spaces_end(line, 0, len);
	uint32_t begin = 0, end = 0, count = 0;

	while (at < len && line[at] != '\n') {
		begin = at;
		end = mc_token_end(line, at, len);
		/* Assigned field by field: a copy of the whole token would wait for its two stores.
		 */
		if (count < MC_TOKENS_KEPT) {
			w->token[count].data = line + begin;
			w->token[count].len = end - begin;
		}
		count++;
		at = mc_spaces_end(line, end, len);
	}
	w->count = count;
	w->last.data = line + begin;
	w->last.len = end - begin;
}

static inline bool
mc_token_is(struct view word, const char *text, uint32_t len)
{
	return word.len == len && memcmp(word.data, text, len) == 0;
}

#endif
