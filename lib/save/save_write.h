/*
 * save_write.h - writes all live items of a store to a file.
 *
 * Shape:  as save_blocks.h.
 *
 * Owner:  the caller's memory, SAVE_WRITE_ALIGN aligned, for the time of the call.
 *
 * Thread: one thread, when no other changes the store any more.
 *
 * Errors: struct error; then the file is useless. If go_on returns false that is no error: the file
 *         has the items so far, and the floors of all items.
 *
 * Bounds: save_io.h.
 */
#ifndef CLOCKOO_SAVE_WRITE_H
#define CLOCKOO_SAVE_WRITE_H

#include "config/config.h"
#include "save_blocks.h"

struct save_ask {
	struct store *store;
	const char *path;
	uint32_t now_s;
	struct beat beat; /* the clocks when the cache last served */
	const char *boot_id;
	uint64_t file;  /* a random number */
	uint32_t level; /* of igzip, or SAVE_UNPACKED */
	bool uring;     /* if the kernel supports it */
	void *memory;   /* of save_blocks_bytes */
	bool (*go_on)(void *arg,
		      const struct save_result *result); /* after each slot; may be NULL */
	void *arg;
};

/* Writes a new file of that name, complete and on the disk. */
bool save_write(const struct save_ask *ask, struct save_result *result, struct error *err);

#endif
