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

#include "config/errors.h"
#include "flash/flash_threads.h"
#include "flash/flash_uring.h"

/* A reader waits for the disk with one read, so their number bounds the reads a second: of a
 * virtual disk 4 readers made 41,000, 8 made 61,000, 16 made 83,000 and 32 made 94,000, io_uring
 * 112,000, while more readers sleep deeper: a single read took 65, 71, 97 and 117 us. A second
 * writer has the next transfer of 2 MiB under way when one ends. */
#define TIER_IO_READERS 16u
#define TIER_IO_WRITERS 2u

struct appliance;
struct config;
struct tier_io;

/* Memory of a device's transfers, at a multiple of FLASH_PAGE, and how many are under way at most.
 */
struct tier_io_part {
	void *memory;
	size_t bytes;
	uint32_t depth;
};

/* Returns NULL and an error if there are none. parts: one a device. A line says why they are not
 * rings where they might have been. */
struct tier_io *tier_io_open(const struct appliance *a, const struct flash_file *file,
			     const struct tier_io_part *parts, uint32_t count, struct error *err);
struct flash_device *tier_io_device(struct tier_io *io, uint32_t i);
/* "io_uring" or "threads". */
const char *tier_io_name(const struct tier_io *io);
/* "io_uring, O_DIRECT, registered buffers" and the like. */
const char *tier_io_words(const struct tier_io *io);
/* Transfers that no helper has begun are never made. False: one hangs, and the file stays open. */
bool tier_io_close(struct tier_io *io);

#define TIER_IO_LOOK_BYTES 120u
struct tier_io_look {
	int refused;                    /* why the kernel refuses io_uring, if it was asked; or 0 */
	char words[TIER_IO_LOOK_BYTES]; /* "threads: 16 read, 2 write (io_uring: ...)" */
};

/* Finds what a start would use. False: a start would refuse, for the reason in err. */
bool tier_io_look(struct tier_io_look *look, const struct config *cfg, struct error *err);

#endif
