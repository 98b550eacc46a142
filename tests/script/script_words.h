/*
 * script_words.h - one line of a script, word by word. Signs (+ : , / < > *) are words of their
 * own; a # begins a comment.
 *
 * Owner:  the line is the caller's and is changed while it is read.
 * Thread: one.
 * Errors: false or 0, and nothing is taken.
 */
#ifndef CLOCKOO_SCRIPT_WORDS_H
#define CLOCKOO_SCRIPT_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define WORD_BYTES 96u

struct words {
	const char *at;
	char next[WORD_BYTES]; /* "": the end */
	char rest[WORD_BYTES * 4];
};

void words_begin(struct words *w, char *line);
bool words_end(const struct words *w);
/* Returns the next word, without taking it. */
const char *words_next(const struct words *w);
bool words_skip(struct words *w); /* returns true */
/* True if the next word is this one, which is then taken. `x` also begins x12. */
bool words_is(struct words *w, const char *word);
bool words_is_number(const struct words *w);
bool words_number(struct words *w, int64_t *to);                 /* -12, 0x7f */
bool words_time(struct words *w, uint64_t *ns);                  /* 40ms, 1.5s */
uint32_t words_hex(struct words *w, uint8_t *to, uint32_t room); /* 0204ff */
/* Returns the rest of the line, without spaces around it. */
const char *words_rest(const struct words *w);
const char *words_take_rest(struct words *w);

#endif
