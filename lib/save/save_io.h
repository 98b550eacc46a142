/*
 * save_io.h - reads or writes a file in slots, several at once, without the kernel's cache.
 *
 * Shape:  slot i of the file is the SAVE_SLOT_BYTES from i * SAVE_SLOT_BYTES on; slots use
 *         SAVE_IO_DEPTH buffers in turn. io_uring and O_DIRECT are used if kernel and file system
 *         support them; otherwise pread and pwrite, one slot at a time, with the kernel's cache.
 *
 * Owner:  the caller's memory, SAVE_IO_BYTES of it at a multiple of SAVE_ALIGN; the struct owns
 *         the descriptor, unless it is lent.
 *
 * Thread: one.
 *
 * Errors: a negative errno. If the kernel does not complete a transfer, it and all later ones
 *         give -EIO.
 *
 * Bounds: SAVE_IO_DEPTH slots in progress.
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
	bool lent; /* the descriptor is the caller's */
	/* A transfer did not complete, so the kernel may still use its buffer; no buffer is used
	 * again. */
	bool broken;
	uint8_t *memory;
	struct io_uring ring;
	struct save_transfer {
		/* Bytes requested; 0: no transfer is in progress, and done is the result. */
		uint32_t len;
		int32_t done; /* bytes or -errno */
	} at[SAVE_IO_DEPTH];
};

/* Opens the file with the flags of open(2), without O_DIRECT; a new file has mode 0600. uring:
 * try io_uring. Returns 0, or -errno. */
int save_io_open(struct save_io *io, const char *path, int flags, bool uring, void *memory);
/* Uses an empty file that the caller has opened for writing, and bypasses the kernel's cache if the
 * file can. save_io_close leaves the caller's descriptor open. */
void save_io_use(struct save_io *io, int fd, bool uring, void *memory);
/* Returns the way of access, such as "io_uring, O_DIRECT". */
const char *save_io_words(const struct save_io *io);

static inline uint8_t *
save_io_buffer(const struct save_io *io, uint64_t slot)
{
	return io->memory + slot % SAVE_IO_DEPTH * SAVE_SLOT_BYTES;
}

/* Begins to write the slot's buffer, or to read into it; len is a multiple of SAVE_ALIGN. The
 * caller has waited for the buffer's previous transfer. */
void save_io_begin(struct save_io *io, uint64_t slot, uint32_t len);
/* Waits for the slot's transfer. Returns its bytes, which are fewer than requested only at the end
 * of a file; or -errno. Returns 0 if no transfer is in progress. */
int32_t save_io_wait(struct save_io *io, uint64_t slot);
/* Waits until all that was written is on the disk. */
int save_io_sync(struct save_io *io);
void save_io_close(struct save_io *io);

#endif
