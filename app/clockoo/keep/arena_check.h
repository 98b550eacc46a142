/*
 * arena_check.h - judges whether a start would keep the items in a file of --memory-file. Used by
 * the start itself, and by --check, doctor and `clockoo arena`, which only read.
 *
 * Shape:  a state and words for an operator, without a line end.
 * Units:  bytes.
 * Thread: main.
 * Errors: a file that cannot be read is a state too.
 * Bounds: `arena list` shows ARENA_LIST_MAX files of a folder.
 */
#ifndef CLOCKOO_ARENA_CHECK_H
#define CLOCKOO_ARENA_CHECK_H

#include "memfile/memory_file.h"
#include "memfile/memory_place.h"
#include "image/store_image.h"

#include <stdio.h>

#define MEMORY_OPTION  "--memory-file"
#define ARENA_WORDS    MEMORY_PAGE_WORDS
#define ARENA_LIST_MAX 1024u

enum arena_state {
	ARENA_ABSENT,
	ARENA_UNKNOWN, /* this user may not read it */
	ARENA_IN_USE,
	ARENA_WHOLE, /* would be kept, as far as its first pages show */
	ARENA_LOST,  /* would be lost */
};

struct arena_check {
	enum arena_state state;
	uint32_t pid;       /* in the page; 0: none */
	bool dirty;         /* a start would repair it first */
	uint64_t bytes;     /* size of the file */
	uint64_t allocated; /* bytes of it that take memory */
	char words[ARENA_WORDS];
};

/* Returns the store's memory. Its own tables need a minimum, however small -m is. */
size_t arena_store_bytes(const struct config *cfg);
/* Returns the size of --memory-file, 0 without one. */
size_t arena_file_bytes(const struct config *cfg);

void arena_gap_now(struct gap_now *now);

/* Judges a file. bytes: the size that a start would give it, or 0 for any. */
void arena_check(struct arena_check *check, const struct config *cfg, const char *path,
		 uint64_t bytes);
/* Judges the file of cfg at the size that a start would give it. */
void arena_check_configured(struct arena_check *check, const struct config *cfg);

/* Writes warnings about the place of cfg's file (memory_place.h); returns their number. */
uint32_t arena_place_warnings(const struct config *cfg,
			      struct memory_warning out[MEMORY_PLACE_WARNINGS_MAX]);

/* Returns the hugepage bytes that a start takes for the file beyond those that it already has. */
uint64_t arena_huge_bytes_needed(const struct config *cfg);

/* Run `clockoo arena list` and `remove`. Return the program's exit status. */
int arena_list(const struct config *cfg, FILE *out, struct error *err);
int arena_remove(const struct config *cfg, FILE *out, struct error *err);

#endif
