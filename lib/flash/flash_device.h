/*
 * flash_device.h - a device of pages: transfers are submitted and polled, and no call waits.
 *
 * It is the only interface between the libraries and a disk under the tier. There are three
 * implementations: flash_uring uses io_uring; flash_threads uses helper threads, where the kernel
 * refuses io_uring; the one of tests/sim is memory, with a clock that is passed in.
 *
 * Shape:  a transfer reads or writes pages between the device and its owner's memory, or is a sync.
 *         After submit has accepted it, it ends once, with a result that poll returns with its tag.
 * Units:  offset and len in bytes, multiples of FLASH_PAGE. error: 0 or a negative errno.
 * Owner:  data[0 .. len) belongs to the device from submit to the result: the caller does not
 *         change the bytes of a write, nor read those of a read. The bytes are in the memory with
 *         which the device was opened. Other memory is possible but slower; only a start uses it.
 * Thread: one thread for each device. Several cores open a device each over the same file.
 * Errors: only results: -EIO and the like for a transfer, -ENODEV for a device that was removed.
 *         After a failed read its data are undefined, after a failed write its pages. A transfer
 *         that hangs has no result, and continues to count in depth. A caller that waits for it has
 *         a deadline of its own, and does not touch the data until the result arrives.
 * Bounds: depth transfers in progress, FLASH_TRANSFER_MAX bytes each.
 *
 * Invariants (tests/unit/flash/test_flash_device, all devices):
 * - An accepted transfer ends at most once, only by poll, and with its tag; one that was not
 *   accepted has no effect. After a result without an error all bytes are transferred.
 * - Transfers in progress are made, and end, in any order. If two overlap and one is a write, the
 *   outcome is a mixture, which the caller must avoid.
 * - A read that is submitted after the result of a write without an error returns what was
 *   written.
 * - After loss of power a page is as before the write, or as written, or torn: each sector of
 *   FLASH_SECTOR bytes is one or the other. If a sync was submitted after a write's result, and has
 *   ended without an error, the write is complete, unless a later one to the same page was torn.
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
#define FLASH_TRIES_MAX    8u /* tries of a transfer that the kernel temporarily refuses */

enum flash_io_kind {
	FLASH_READ,
	FLASH_WRITE,
	FLASH_SYNC /* has no data */
};

struct flash_io {
	uint64_t tag; /* chosen by the caller */
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
	/* Submits transfers. Returns how many were accepted, which are the first of ios. The caller
	 * may submit the rest again later. */
	uint32_t (*submit)(struct flash_device *device, const struct flash_io *ios, uint32_t count);

	/* Writes up to count results of ended transfers to results. Returns how many. */
	uint32_t (*poll)(struct flash_device *device, struct flash_result *results, uint32_t count);
};

/* A device. It is the first member of each implementation's struct, and does not change after it is
 * opened. */
struct flash_device {
	const struct flash_device_ops *ops;
	uint64_t bytes; /* a multiple of FLASH_PAGE */
	uint32_t depth; /* limit of transfers in progress, 1 .. FLASH_DEPTH_MAX */
};

/* True if io is about whole pages of the device, and memory aligned to pages. A sync has no
 * pages. */
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
