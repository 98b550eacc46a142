/*
 * tier_io.h - the tier's flash devices: rings of io_uring, or queues that helper threads serve.
 *
 * Shape:  the first device is the writer's, then each core has one. flash.io chooses the kind.
 *         `auto` chooses io_uring, or threads where the kernel refuses a ring, as with Docker's
 *         default seccomp profile. Some helpers serve the cores and others the writer, so that no
 *         read waits behind the write of a segment.
 * Owner:  the caller. The memory is a mapping of its own: it stays if a helper hangs in the kernel.
 * Thread: main; each device has one user. Helpers run on the control thread's CPU.
 * Errors: struct error.
 * Bounds: TIER_IO_READERS and TIER_IO_WRITERS threads; a close waits FLASH_CLOSE_S for them.
 */
#ifndef CLOCKOO_TIER_IO_H
#define CLOCKOO_TIER_IO_H

#include "config/config_flash.h"
#include "config/errors.h"
#include "flash/flash_threads.h"
#include "flash/flash_uring.h"

/* Number of helpers that read. Each waits for one read, so the number bounds the reads per second.
 * On a virtual disk, 4, 8, 16 and 32 helpers made 41,000, 61,000, 83,000 and 94,000 reads per
 * second (io_uring 112,000). A single read took 65, 71, 97 and 117 us, since more helpers sleep
 * deeper. With two helpers that write, the next 2 MiB are in flight when a transfer ends. */
#define TIER_IO_READERS 16u
#define TIER_IO_WRITERS 2u

struct config;
struct process;
struct tier_io;

/* Memory of a device's transfers, aligned to FLASH_PAGE, and the number of transfers in flight at
 * most. */
struct tier_io_part {
	void *memory;
	size_t bytes;
	uint32_t depth;
};

/* Opens a device per part. kind is flash.io. Prints a line with the reason if threads are used
 * though rings were allowed. NULL with *err set on failure. */
struct tier_io *tier_io_open(const struct process *process, enum config_flash_io kind,
			     const struct flash_file *file, const struct tier_io_part *parts,
			     uint32_t count, struct error *err);
struct flash_device *tier_io_device(struct tier_io *io, uint32_t i);
/* Returns "io_uring" or "threads". */
const char *tier_io_name(const struct tier_io *io);
/* Returns words for the log, as "io_uring, O_DIRECT, registered buffers". */
const char *tier_io_words(const struct tier_io *io);
/* Closes the devices, and drops transfers that no helper has begun. False if a transfer hangs; the
 * file then stays open. */
bool tier_io_close(struct tier_io *io);

#define TIER_IO_CHECK_BYTES 120u
struct tier_io_check {
	int refused; /* errno with which the kernel refuses io_uring; 0: it was not asked, or agrees
		      */
	char words[TIER_IO_CHECK_BYTES]; /* "threads: 16 read, 2 write (io_uring: ...)" */
};

/* Finds out what a start would use. False if a start would fail, for the reason in err. */
bool tier_io_check(struct tier_io_check *check, const struct config *cfg, struct error *err);

#endif
