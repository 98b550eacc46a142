/*
 * flash_state.h - what a killed process leaves of the tier beside its device: struct flash_kept of
 * each shard, the intents, the buffers, and the rows of columns, in a memory file (flash.state).
 *
 * Shape:  opened before anything is decided; id and words say what lay there. With that and the
 *         superblock flash_start_of chooses the start; flash_start_kept, recovery; then the
 *         superblock of this process is on the device, and then flash_state_begin says that what is
 *         kept belongs to it. A process that is killed before that leaves a cold start.
 * Units:  bytes; the file's layout is this build's own: another one is not kept.
 * Owner:  the caller, from flash_state_open to flash_state_close. Without a path it is memory of
 *         this process alone, and nothing is kept.
 * Thread: main; flash_state_beat: the control thread. kept, intents and pages: the shards'.
 * Errors: struct error: the file is another process's, or no file that may be believed. What lay
 *         there and is not kept is one line.
 * Bounds: FLASH_SHARDS_MAX shards.
 */
#ifndef CLOCKOO_FLASH_STATE_H
#define CLOCKOO_FLASH_STATE_H

#include "flash_shard.h"
#include "flash_super.h"

#include "memfile/memory_file.h"

#define FLASH_STATE_OPTION "--flash-state"

#define FLASH_STATE_MAGIC 0x31747374736c6663ull /* "cflstst1": the first word of its file */

struct flash_state_config {
	const char *path; /* NULL: none */
	uint32_t shards, segment_pages;
	size_t rows_bytes; /* of all shards' columns (flash_rows.h) */
	uid_t other_uid;   /* memory_file.h */
	uint32_t wait_ms;  /* for another process to end */
	uint32_t keep_for_s;
	uint32_t pid; /* of this process */
};

struct flash_state {
	struct memory_file file;       /* fd -1: none */
	struct memory_page *page;      /* in it; NULL: none */
	struct flash_state_id id;      /* of the process before; incarnation 0: nothing is kept */
	struct gap gap;                /* since it served; of what is kept */
	uint64_t flush_due;            /* on the store's clock, s: of that process; 0: none */
	char words[MEMORY_PAGE_WORDS]; /* why nothing is kept; else empty */
	/* For the shards, in their order. */
	struct flash_intents *intents;
	struct flash_kept *kept;
	uint8_t *pages; /* FLASH_BUFFERS x segment_pages pages of each */
	size_t pages_bytes;
	uint8_t *rows; /* rows_bytes of them, at a page */
	uint8_t *base;
	size_t bytes;
	uint32_t pid;
	bool is_attempt;       /* this start counts as one yet */
	_Atomic uint64_t *due; /* this process's */
};

/* Of the memory that it takes. */
size_t flash_state_bytes(uint32_t shards, uint32_t segment_pages, size_t rows_bytes);

/* Locks, maps and populates the file, and judges what lies there. What is kept counts as an attempt
 * until flash_state_begin, or a start that ends by itself; else all but the buffers' and the rows'
 * bytes is zero. */
bool flash_state_open(struct flash_state *s, const struct flash_state_config *config,
		      const struct gap_now *now, struct error *err);

/* What was found is not to be kept, whatever it is: the same. */
void flash_state_forget(struct flash_state *s);

/* From now on it is this process's, whose superblock is on the device. */
/* due_s: a flush to come, on the store's clock; 0: none. */
void flash_state_begin(struct flash_state *s, const struct flash_state_id *id,
		       const struct gap_now *now, uint64_t due_s);

/* How the clocks stand, ten times a second. A flush that was due is so no more. */
void flash_state_beat(struct flash_state *s, const struct beat *beat);

/* A graceful stop, before the superblock says so; or the tier is off: nothing here counts. */
void flash_state_end(struct flash_state *s);
void flash_state_close(struct flash_state *s);

#endif
