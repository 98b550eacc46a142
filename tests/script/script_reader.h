/*
 * script_reader.h - the state of a script while it is read, shared by script_text.c and
 * script_verbs.c.
 *
 * Thread: one.
 * Errors: false: the line is wrong, and book->error names the place and what was expected.
 */
#ifndef CLOCKOO_SCRIPT_READER_H
#define CLOCKOO_SCRIPT_READER_H

#include "script.h"
#include "script_words.h"

/* The state of the reader within the text. */
struct reader {
	struct script_book *book;
	struct words w;
	struct script_where at;
	struct script_steps *into; /* steps are added here; NULL: no script has begun */
	struct script *script;     /* NULL: steps of a define */
	uint32_t depth;
};

/* ---- script_text.c ---- */

/* Reports that the line is wrong; returns false. */
bool reader_bad(struct reader *r, const char *expected);
void reader_add(struct reader *r, const struct script_step *step);

/* ---- script_verbs.c ---- */

/* Reads a line that is a step. */
bool reader_step(struct reader *r);
bool reader_u32(struct reader *r, uint32_t *to);
bool reader_time(struct reader *r, uint64_t *ns);

#endif
