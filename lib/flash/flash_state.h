/*
 * flash_state.h - the tier's state that outlives a killed process: struct flash_kept of each shard,
 * the intents, the buffers, and the rows of columns. It is in a memory file (flash.state).
 *
 * Shape:  a start opens the state first; id and words describe what it found. From them and the
 *         superblock, flash_start_of chooses the start. Then come flash_start_kept, the recovery,
 *         and the superblock of this process. Last is flash_state_begin, by which the content
 *         becomes that of this process. If the process is killed before that, the next start is
 *         cold.
 * Units:  bytes. The layout of the file may differ between builds, so content of another build is
 *         not kept.
 * Owner:  the caller, from flash_state_open to flash_state_close. Without a path the memory is
 *         private, and nothing is kept.
 * Thread: main; flash_state_beat: the control thread. kept, intents and pages: as the shards use
 *         them.
 * Errors: struct error: another process uses the file, or the file is not trustworthy. If the
 *         content is not kept, `words` has the reason in one line.
 * Bounds: FLASH_SHARDS_MAX shards.
 */
#ifndef CLOCKOO_FLASH_STATE_H
#define CLOCKOO_FLASH_STATE_H

#include "flash_shard.h"
#include "flash_super.h"

#include "memfile/memory_file.h"

#define FLASH_STATE_OPTION "--flash-state"

#define FLASH_STATE_MAGIC 0x31747374736c6663ull /* "cflstst1": the first word of the file */

struct flash_state_config {
	const char *path; /* NULL: no file */
	uint32_t shards, segment_pages;
	size_t rows_bytes; /* of all shards' columns together (flash_rows.h) */
	uid_t other_uid;   /* memory_file.h */
	uint32_t wait_ms;  /* most milliseconds to wait for another process to end */
	uint32_t keep_for_s;
	uint32_t pid; /* this process's */
};

struct flash_state {
	struct memory_file file;  /* fd -1: none */
	struct memory_page *page; /* in the file; NULL: none */
	/* Identity of the previous process; incarnation 0: nothing is kept. */
	struct flash_state_id id;
	/* The gap since that process served; valid if something is kept. */
	struct gap gap;
	/* Second, on the store's clock, of a delayed flush that the process had; 0: none. */
	uint64_t flush_due;
	char words[MEMORY_PAGE_WORDS]; /* why nothing is kept; empty if something is */
	/* Memory for the shards, in their order. */
	struct flash_intents *intents;
	struct flash_kept *kept;
	uint8_t *pages; /* for each shard, FLASH_BUFFERS x segment_pages pages */
	size_t pages_bytes;
	uint8_t *rows; /* rows_bytes for all shards, aligned to a page */
	uint8_t *base;
	size_t bytes;
	uint32_t pid;
	bool is_attempt;       /* this start is still counted as an attempt */
	_Atomic uint64_t *due; /* this process's flush_due */
};

/* Returns the bytes of memory that the state takes. */
size_t flash_state_bytes(uint32_t shards, uint32_t segment_pages, size_t rows_bytes);

/* Locks, maps and populates the file, and checks its content. If content is kept, the start counts
 * as an attempt until flash_state_begin, or until it ends other than by a kill. If not, everything
 * is zero except the buffers' pages and the rows. */
bool flash_state_open(struct flash_state *s, const struct flash_state_config *config,
		      const struct gap_now *now, struct error *err);

/* Discards the content that flash_state_open found. */
void flash_state_forget(struct flash_state *s);

/* Makes the content this process's, after its superblock was written. due_s: second, on the store's
 * clock, of a delayed flush; 0: none. */
void flash_state_begin(struct flash_state *s, const struct flash_state_id *id,
		       const struct gap_now *now, uint64_t due_s);

/* Notes the clocks, and clears a flush that has become due. Called ten times a second. */
void flash_state_beat(struct flash_state *s, const struct beat *beat);

/* Invalidates the content: at a graceful stop, before the superblock becomes CLEAN, or when the
 * tier turns off. */
void flash_state_end(struct flash_state *s);
void flash_state_close(struct flash_state *s);

#endif
