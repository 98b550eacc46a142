/*
 * tier_io.h - the flash devices of the tier: rings of io_uring, or queues that helper threads
 * serve.
 *
 * Shape:  the first device is the writer's, then each core has one. flash.io says which kind they
 *         are; auto is io_uring, and threads where the kernel refuses a ring (Docker's default
 *         seccomp profile does). Readers serve the cores and writers the writer, so no read waits
 *         behind a segment that is written.
 * Owner:  the caller. Its memory is a mapping of its own, which a helper that hangs in the kernel
 *         keeps.
 * Thread: main; a device is its owner's. Helpers run where the control thread does.
 * Errors: struct error.
 * Bounds: TIER_IO_READERS and TIER_IO_WRITERS threads; a close waits FLASH_CLOSE_S for them.
 */
#ifndef CLOCKOO_TIER_IO_H
#define CLOCKOO_TIER_IO_H

#include "config/config_flash.h"
#include "config/errors.h"
#include "flash/flash_threads.h"
#include "flash/flash_uring.h"

/* Number of readers. A reader waits for the disk with one read, so their number bounds the reads a
 * second. On a virtual disk 4 readers made 41,000, 8 made 61,000, 16 made 83,000, 32 made 94,000
 * and io_uring 112,000; but more readers sleep deeper, and a single read took 65, 71, 97 and 117
 * us. With a second writer the next transfer of 2 MiB is in flight when one ends. */
#define TIER_IO_READERS 16u
#define TIER_IO_WRITERS 2u

struct config;
struct process;
struct tier_io;

/* Memory for a device's transfers, aligned to FLASH_PAGE, and the most of them in flight. */
struct tier_io_part {
	void *memory;
	size_t bytes;
	uint32_t depth;
};

/* Opens the devices. kind: of --flash-io; parts: one for each. Prints a line with the reason if
 * rings could have been used but are not. NULL with *err set on failure. */
struct tier_io *tier_io_open(const struct process *process, enum config_flash_io kind,
			     const struct flash_file *file, const struct tier_io_part *parts,
			     uint32_t count, struct error *err);
struct flash_device *tier_io_device(struct tier_io *io, uint32_t i);
/* Returns "io_uring" or "threads". */
const char *tier_io_name(const struct tier_io *io);
/* Returns words such as "io_uring, O_DIRECT, registered buffers". */
const char *tier_io_words(const struct tier_io *io);
/* Closes the devices. Transfers that no helper has begun are not made. False if one hangs: the file
 * then stays open. */
bool tier_io_close(struct tier_io *io);

#define TIER_IO_CHECK_BYTES 120u
struct tier_io_check {
	int refused; /* errno for which the kernel refuses io_uring; 0: it does not, or was not
			asked */
	char words[TIER_IO_CHECK_BYTES]; /* "threads: 16 read, 2 write (io_uring: ...)" */
};

/* Finds what a start would use. False if a start would refuse, for the reason in err. */
bool tier_io_check(struct tier_io_check *check, const struct config *cfg, struct error *err);

#endif
