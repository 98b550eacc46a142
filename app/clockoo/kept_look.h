/*
 * kept_look.h - would a start keep what lies in a file of --memory-file? For the start itself, and
 * for --check, doctor and `clockoo arena`, which only read.
 *
 * Shape:  a state and words for an operator, without a line end.
 * Units:  bytes.
 * Thread: main.
 * Errors: what cannot be read is a state too.
 * Bounds: `arena list` shows ARENA_LIST_MAX files of a folder.
 */
#ifndef CLOCKOO_KEPT_LOOK_H
#define CLOCKOO_KEPT_LOOK_H

#include "memfile/memory_file.h"
#include "memfile/memory_place.h"
#include "store/store_image.h"

#include <stdio.h>

#define MEMORY_OPTION  "--memory-file"
#define KEPT_WORDS     MEMORY_PAGE_WORDS
#define ARENA_LIST_MAX 1024u

enum kept_state {
	KEPT_ABSENT,
	KEPT_UNKNOWN, /* not readable for this user */
	KEPT_IN_USE,
	KEPT_WHOLE, /* would be kept, judged by its first pages */
	KEPT_LOST,  /* would not */
};

struct kept_look {
	enum kept_state state;
	uint32_t pid;       /* of the page; 0: it has none */
	bool dirty;         /* it would be repaired first */
	uint64_t bytes;     /* of the file */
	uint64_t allocated; /* of them, in memory */
	char words[KEPT_WORDS];
};

void kept_now(struct gap_now *now);

/* cfg names the file; bytes: the size that a start would give it, or 0 for any. */
void kept_look(struct kept_look *look, const struct config *cfg, const char *path, uint64_t bytes);
/* The file of cfg, of the size that follows from it. */
void kept_look_at_configured(struct kept_look *look, const struct config *cfg);

/* Writes warnings about the place of cfg's file (memory_place.h); returns their number. */
uint32_t kept_place_warnings(const struct config *cfg,
			     struct memory_warning out[MEMORY_PLACE_WARNINGS_MAX]);

/* Hugepages that a start takes for the file beyond those that it has. */
uint64_t kept_huge_bytes_needed(const struct config *cfg);

/* `clockoo arena list` and `remove`; return the program's exit status. */
int arena_list(const struct config *cfg, FILE *out, struct error *err);
int arena_remove(const struct config *cfg, FILE *out, struct error *err);

#endif
