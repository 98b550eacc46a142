/*
 * arena_check.h - finds out whether a start would keep the items in a file of --memory-file. The
 * start itself uses it; so do --check, doctor and `clockoo arena`, which only read.
 *
 * Shape:  the result is a state, and words for an operator without a line end.
 * Units:  bytes.
 * Thread: main.
 * Errors: a file that cannot be read is a state of its own.
 * Bounds: `arena list` shows ARENA_LIST_MAX files of a folder at most.
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
	ARENA_UNKNOWN, /* this user may not read the file */
	ARENA_IN_USE,
	ARENA_WHOLE, /* the items would be kept, by what the first pages show */
	ARENA_LOST,  /* the items would be lost */
};

struct arena_check {
	enum arena_state state;
	uint32_t pid;       /* process of the file's page; 0: none */
	bool dirty;         /* a start would have to repair it */
	uint64_t bytes;     /* of the file */
	uint64_t allocated; /* bytes of the file that take memory */
	char words[ARENA_WORDS];
};

/* Returns the bytes of the store's memory: -m, but the minimum that its tables need at least. */
size_t arena_store_bytes(const struct config *cfg);
/* Returns the size of the file of --memory-file in bytes; 0 without the option. */
size_t arena_file_bytes(const struct config *cfg);

void arena_gap_now(struct gap_now *now);

/* Judges a file. bytes is the size that a start would give it; 0: any size. */
void arena_check(struct arena_check *check, const struct config *cfg, const char *path,
		 uint64_t bytes);
/* Judges the configured file, at the size that a start would give it. */
void arena_check_configured(struct arena_check *check, const struct config *cfg);

/* Writes warnings about the place of the configured file (memory_place.h), and returns their
 * number. */
uint32_t arena_place_warnings(const struct config *cfg,
			      struct memory_warning out[MEMORY_PLACE_WARNINGS_MAX]);

/* Returns the hugepage bytes that a start would add to those that the file already has. */
uint64_t arena_huge_bytes_needed(const struct config *cfg);

/* Run `clockoo arena list` and `clockoo arena remove`. Return the exit status. */
int arena_list(const struct config *cfg, FILE *out, struct error *err);
int arena_remove(const struct config *cfg, FILE *out, struct error *err);

#endif
