/*
 * save_write.h - all live items of a store go into a file.
 *
 * Shape:  slots are filled and written while the next ones are filled; the front comes last, so a
 *         file that was not finished has none.
 *
 * Owner:  the caller's memory, SAVE_WRITE_ALIGN aligned, for the time of the call.
 *
 * Thread: one, when no thread changes the store any more.
 *
 * Errors: struct error; the file is of no use then. go_on that says no is no error: the items so
 *         far are in the file, and the floors of all.
 *
 * Bounds: save_io.h.
 */
#ifndef CLOCKOO_SAVE_WRITE_H
#define CLOCKOO_SAVE_WRITE_H

#include "config/config.h"
#include "save_io.h"

struct save_told {
	uint64_t items, value_bytes; /* saved; of their keys and values */
	uint64_t file_bytes;
	const char *how;
	bool finished; /* nothing is missing */
};

struct save_ask {
	struct store *store;
	const char *path;
	uint32_t now_s;
	struct beat beat; /* when the cache last served */
	const char *boot_id;
	uint64_t file;                                          /* a random number */
	uint32_t level;                                         /* of igzip, or SAVE_UNPACKED */
	bool uring;                                             /* where the kernel has it */
	void *memory;                                           /* save_write_bytes */
	bool (*go_on)(void *arg, const struct save_told *told); /* after each slot; may be NULL */
	void *arg;
};

size_t save_write_bytes(void);
/* A new file of that name, whole and on the disk. */
bool save_write(const struct save_ask *ask, struct save_told *told, struct error *err);

#endif
