/*
 * save_io.h - a file read or written in slots, several at once, past the kernel's cache.
 *
 * Shape:  slot i of the file is SAVE_SLOT_BYTES from i times that on; slots go through
 *         SAVE_IO_DEPTH buffers in turn. io_uring and O_DIRECT where kernel and file system
 *         have them; else pread and pwrite, one at a time, and the kernel's cache.
 *
 * Owner:  the caller's memory, SAVE_IO_BYTES of it at a multiple of SAVE_ALIGN; the file is its
 *         own descriptor.
 *
 * Thread: one.
 *
 * Errors: a negative errno. Where the kernel does not end a transfer, that and all that follow are
 *         -EIO.
 *
 * Bounds: SAVE_IO_DEPTH slots under way.
 */
#ifndef CLOCKOO_SAVE_IO_H
#define CLOCKOO_SAVE_IO_H

#include "save_format.h"

#include <liburing.h>

#define SAVE_IO_DEPTH 16u
#define SAVE_IO_BYTES ((size_t)SAVE_IO_DEPTH * SAVE_SLOT_BYTES)

struct save_io {
	int fd;
	bool uring, direct;
	bool writes;
	bool broken; /* transfers whose end did not come are the kernel's: no buffer is used again
		      */
	uint8_t *memory;
	struct io_uring ring;
	struct save_transfer {
		uint32_t len; /* asked for; 0: none is under way, and done is what came of it */
		int32_t done; /* bytes or -errno */
	} at[SAVE_IO_DEPTH];
};

/* flags: of open(2), without O_DIRECT; mode 0600. uring: try it. Returns 0, or -errno. */
int save_io_open(struct save_io *io, const char *path, int flags, bool uring, void *memory);
/* "io_uring, O_DIRECT" and the like. */
const char *save_io_words(const struct save_io *io);

static inline uint8_t *
save_io_buffer(const struct save_io *io, uint64_t slot)
{
	return io->memory + slot % SAVE_IO_DEPTH * SAVE_SLOT_BYTES;
}

/* Write the slot's buffer, or read into it; len is a multiple of SAVE_ALIGN. The buffer's transfer
 * before has been waited for. */
void save_io_begin(struct save_io *io, uint64_t slot, uint32_t len);
/* Its end: the bytes, which are fewer than asked for at the end of a file only, or -errno. 0 too if
 * none is under way. */
int32_t save_io_wait(struct save_io *io, uint64_t slot);
/* All that is written lies on the disk. */
int save_io_sync(struct save_io *io);
void save_io_close(struct save_io *io);

#endif
