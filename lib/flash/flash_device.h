/*
 * flash_device.h - a device of pages with transfers: submit, poll, never wait.
 *
 * It is the only interface between the libraries and a disk under the tier. Three implement it:
 * flash_uring by io_uring, flash_threads by helper threads where the kernel refuses io_uring, and
 * tests/sim in memory, with a clock that is passed in.
 *
 * Shape:  a transfer reads or writes pages between the device and its owner's memory, or syncs.
 *         It is accepted by submit, ends once, and its end is a result with its tag.
 * Units:  offset and len in bytes, multiples of FLASH_PAGE. error: 0 or a negative errno.
 * Owner:  data[0 .. len) belongs to the device from submit to the result: the caller does not
 *         change a write's, nor read a read's. It lies in the memory that the device was opened
 *         with; other memory (a start's) costs more.
 * Thread: one thread; several cores open one each on the same file.
 * Errors: only results: -EIO and the like for a transfer, -ENODEV for a device that was removed.
 *         After a failed read its data are undefined, after a failed write its pages. A transfer
 *         that hangs has no result and counts in depth: its waiter has a deadline of its own, and
 *         does not touch the data until the result arrives.
 * Bounds: depth transfers in progress, FLASH_TRANSFER_MAX bytes each.
 *
 * Invariants (tests/unit/flash/test_flash_device, all devices):
 * - An accepted transfer ends at most once, only by poll, and with its tag; one that was not
 *   accepted has no effect. A result without an error covers all bytes: none is short.
 * - Neither ends nor transfers in progress have an order: if two overlap and one is a write, the
 *   outcome is a mixture, which the caller must avoid.
 * - A read that is submitted after the result of a write without an error returns what was
 *   written.
 * - After loss of power a page is as before the write, or as written, or torn: each sector of
 *   FLASH_SECTOR bytes is of either. Writes whose result came before a sync was submitted that
 *   ended without an error are present and complete, unless a later write was torn over them.
 * - submit and poll do work bounded by count, and never sleep. (A file system may make a
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
#define FLASH_TRIES_MAX    8u /* of a transfer that the kernel temporarily refuses */

enum flash_io_kind {
	FLASH_READ,
	FLASH_WRITE,
	FLASH_SYNC /* has no data */
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
	/* Submits transfers. Returns how many were accepted, from the front; the others may be
	 * submitted again later. */
	uint32_t (*submit)(struct flash_device *device, const struct flash_io *ios, uint32_t count);

	/* Overwrites results with at most count ends. Returns their number. */
	uint32_t (*poll)(struct flash_device *device, struct flash_result *results, uint32_t count);
};

/* A device of transfers; the first member of every implementation's own struct. Immutable after it
 * is opened. */
struct flash_device {
	const struct flash_device_ops *ops;
	uint64_t bytes; /* a multiple of FLASH_PAGE */
	uint32_t depth; /* most transfers in progress, 1 .. FLASH_DEPTH_MAX */
};

/* True if io is whole pages within the device, with memory at whole pages. A sync always is. */
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
