/*
 * flash_device.h - a device of pages, seen as transfers: submit, poll, never wait.
 *
 * It is the only interface between our libraries and a disk under the tier. Three implement it:
 * flash_uring by io_uring, flash_threads by helper threads where the kernel refuses io_uring, and
 * tests/sim in memory, with a clock that is passed in.
 *
 * Shape:  a transfer reads or writes pages between the device and its owner's memory, or syncs. It
 *         is taken by submit, ends once, and its end is a result with its tag.
 * Units:  offset and len in bytes, multiples of FLASH_PAGE. error: 0 or a negative errno.
 * Owner:  data[0 .. len) is the device's from submit to the result: a write's is not changed, a
 *         read's not looked at. It lies in the memory that the device was opened with, or pays
 *         for not being known (a start's).
 * Thread: one; several cores open one each on the same file.
 * Errors: results, whatever happens: -EIO and the like of a transfer, -ENODEV of a device that is
 *         gone. A read that failed left anything in its data, a write anything in its pages. A
 *         transfer that hangs has no result, and is one of depth as long: whoever waits has a
 *         deadline of his own, and leaves its data alone until the result comes.
 * Bounds: depth transfers under way, FLASH_TRANSFER_MAX bytes each.
 *
 * Invariants (tests/unit/flash/test_flash_device, all devices):
 * - A transfer that was taken ends at most once, by poll alone, with the tag it had; one that was
 *   not taken leaves no trace. A result without an error is of all its bytes: none is short.
 * - Ends have no order, and transfers under way none either: of two that overlap, one a write, the
 *   outcome is a mixture, and not to meet is the caller's duty.
 * - A read that is submitted after the result of a write without an error finds what it wrote.
 * - After loss of power a page is as it was before, or as it was written, or torn: its sectors of
 *   FLASH_SECTOR bytes are of either. Writes whose result came before a sync was submitted that
 *   ended without an error are there, whole, unless a later write was torn over them.
 * - submit and poll do what is bounded by count, and never sleep. (A file system may make a
 *   submitted transfer wait for its own metadata: flash_file.h says when.)
 */
#ifndef CLOCKOO_FLASH_DEVICE_H
#define CLOCKOO_FLASH_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#define FLASH_PAGE         4096u
#define FLASH_SECTOR       512u
#define FLASH_TRANSFER_MAX (2u << 20)
#define FLASH_DEPTH_MAX    512u
#define FLASH_TRIES_MAX    8u /* of a transfer that the kernel refuses for a while */

enum flash_io_kind {
	FLASH_READ,
	FLASH_WRITE,
	FLASH_SYNC /* without data */
};

struct flash_io {
	uint64_t tag; /* the caller's */
	uint64_t offset;
	uint8_t *data;
	uint32_t len;
	enum flash_io_kind kind;
};

struct flash_result {
	uint64_t tag;
	int32_t error;
};

struct flash_device;

struct flash_device_ops {
	/* Returns how many were taken, from the front; the others may be submitted again later. */
	uint32_t (*submit)(struct flash_device *device, const struct flash_io *ios, uint32_t count);

	/* Overwrite results with at most count ends. Returns how many. */
	uint32_t (*poll)(struct flash_device *device, struct flash_result *results, uint32_t count);
};

/* The first member of every implementation's own struct. Immutable after it is opened. */
struct flash_device {
	const struct flash_device_ops *ops;
	uint64_t bytes; /* a multiple of FLASH_PAGE */
	uint32_t depth; /* transfers under way at most, 1 .. FLASH_DEPTH_MAX */
};

/* True if io is whole pages within the device, of memory at whole pages. A sync always is. */
static inline bool
flash_device_may_take(const struct flash_device *device, const struct flash_io *io)
{
	if (io->kind == FLASH_SYNC)
		return true;
	return io->len != 0 && io->len <= FLASH_TRANSFER_MAX && io->len % FLASH_PAGE == 0 &&
	       io->offset % FLASH_PAGE == 0 && io->offset <= device->bytes &&
	       io->len <= device->bytes - io->offset && (uintptr_t)io->data % FLASH_PAGE == 0;
}

#endif
