/*
 * save_live.h - writes a snapshot of a store (store_saved.h) to a file while its cores serve.
 *
 * Shape:  a slice is one turn of the caller's store core: it copies some short values, or pins one
 *         long value. The core is offline while the slice is written, so a slow disk delays no
 *         grace period. The file has the format of save_write.h, for the same readers.
 *
 * Units:  ns on any clock that does not go back; seconds on the store's clock.
 *
 * Owner:  the caller's memory, a multiple of SAVE_ALIGN, and the descriptor.
 *
 * Thread: the one that owns the store's core for loads, which is offline before and after.
 *
 * Errors: struct error; then the file is useless. It is also an error if go_on returns false.
 *
 * Bounds: a slice takes LIVE_STEPS steps of a walk, and copies LIVE_STAGE_BYTES and at most one
 *         more value; at most one value is pinned.
 */
#ifndef CLOCKOO_SAVE_LIVE_H
#define CLOCKOO_SAVE_LIVE_H

#include "config/config.h"
#include "save_blocks.h"

#define LIVE_STEPS       64u
#define LIVE_STAGE_BYTES (64u << 10)
#define LIVE_COPY_BYTES  (16u << 10) /* a longer value is pinned */

struct save_live_ask {
	struct store *store;
	struct store_core *core;
	int fd;           /* of an empty file */
	const char *path; /* for errors */
	struct beat beat; /* the clocks before the call */
	const char *boot_id;
	uint64_t file;  /* a random number */
	uint32_t level; /* of igzip, or SAVE_UNPACKED */
	bool uring;     /* if the kernel supports it */
	void *memory;   /* of save_live_bytes */
	uint32_t (*now_s)(void *arg);
	uint64_t (*now_ns)(void *arg);
	bool (*go_on)(void *arg, const struct save_result *result); /* it may sleep */
	void *arg;
};

size_t save_live_bytes(void);
/* Writes the file, complete and on the disk. */
bool save_live(const struct save_live_ask *ask, struct save_result *result, struct error *err);

#endif
