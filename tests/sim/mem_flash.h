/*
 * mem_flash.h - a flash device in memory, whose clock, latencies, faults and loss of power are the
 * test's.
 *
 * Shape:  pages as reads find them, and as loss of power leaves those that no sync covers. A
 *         transfer ends when its time has come: a write is done then, from the data as they are
 *         then; a read's data are garbage until then.
 * Units:  nanoseconds of the clock that mem_flash_tick sets; shares of a million.
 * Owner:  the caller, until mem_flash_close.
 * Thread: one.
 * Errors: as flash_device.h says; which, the faults draw from the seed.
 * Bounds: FLASH_DEPTH_MAX transfers; two bytes of memory a byte of the device, and 8 a page.
 */
#ifndef CLOCKOO_MEM_FLASH_H
#define CLOCKOO_MEM_FLASH_H

#include "flash/flash_device.h"
#include "sim_rng.h"

#include <stdbool.h>

struct mem_flash_faults {
	uint64_t read_ns, write_ns, sync_ns; /* at least */
	uint64_t page_ns;                    /* a page of it more */
	uint64_t jitter_ns;                  /* evenly, more */
	uint32_t slow;                       /* share that takes slow_ns more */
	uint64_t slow_ns;
	uint32_t read_errors, write_errors, sync_errors; /* shares that end with -EIO */
	uint32_t flips; /* share of reads with a wrong bit and no error */
	uint32_t hangs; /* share that does not end before mem_flash_release */
	bool gone;      /* all ends are -ENODEV */
};

struct mem_flash {
	struct flash_device device;
	struct mem_flash_faults faults;
	struct sim_rng rng;
	uint64_t now_ns;
	uint8_t *now, *kept; /* what reads find; what no loss of power takes */
	uint64_t *changed;   /* of a page: the order of the write's end; 0: it is kept */
	uint64_t order;
	uint32_t under_way;
	uint64_t reads, writes, syncs, read_bytes, write_bytes; /* submitted */
	struct mem_flash_transfer {
		struct flash_io io;
		uint64_t end_ns;
		uint64_t upto; /* of a sync: the writes that it covers */
		int32_t error;
		bool hangs, flips;
	} at[FLASH_DEPTH_MAX];
};

void mem_flash_open(struct mem_flash *m, uint64_t bytes, uint32_t depth, uint64_t seed);
void mem_flash_close(struct mem_flash *m);

/* The clock does not go back. */
void mem_flash_tick(struct mem_flash *m, uint64_t now_ns);
/* When the next transfer ends; UINT64_MAX: none does. */
uint64_t mem_flash_next(const struct mem_flash *m);
/* What hangs ends now. */
void mem_flash_release(struct mem_flash *m);

/* Loss of power, and the next start: nothing is under way; each page that no sync covers is as
 * before, as written, or torn. */
void mem_flash_cut(struct mem_flash *m);

#endif
