/*
 * mem_flash.h - a flash device in memory. The test controls its clock, latencies, faults and loss
 * of power.
 *
 * Shape:  each page is kept twice: as reads find it, and as loss of power leaves it if no sync has
 *         covered it. A transfer ends when the clock has reached its end. A write takes the data as
 *         they are then; a read's buffer contains garbage until then.
 * Units:  nanoseconds of the clock that mem_flash_tick sets; shares are parts of a million.
 * Owner:  the caller, until mem_flash_close.
 * Thread: one.
 * Errors: as in flash_device.h, drawn from the seed with the shares of the faults.
 * Bounds: FLASH_DEPTH_MAX transfers; two bytes of memory for each byte of the device, and 8 for
 *         each page.
 */
#ifndef CLOCKOO_MEM_FLASH_H
#define CLOCKOO_MEM_FLASH_H

#include "flash/flash_device.h"
#include "sim_rng.h"

#include <stdbool.h>

struct mem_flash_faults {
	uint64_t read_ns, write_ns, sync_ns; /* minimum latencies */
	uint64_t page_ns;                    /* added for each page */
	uint64_t jitter_ns;                  /* largest random time added */
	uint32_t slow;                       /* share of transfers that take slow_ns longer */
	uint64_t slow_ns;
	uint32_t read_errors, write_errors, sync_errors; /* shares that end with -EIO */
	uint32_t flips; /* share of reads with a wrong bit and no error */
	uint32_t hangs; /* share that ends only after mem_flash_release */
	bool gone;      /* every transfer ends with -ENODEV */
};

struct mem_flash {
	struct flash_device device;
	struct mem_flash_faults faults;
	struct sim_rng rng;
	uint64_t now_ns;
	uint8_t *now, *kept; /* pages as read, and as a loss of power may leave them */
	uint64_t *changed;   /* per page: the number of its last write; 0: synced */
	uint64_t order;
	uint32_t under_way;
	uint64_t reads, writes, syncs, read_bytes, write_bytes; /* submitted */
	struct mem_flash_transfer {
		struct flash_io io;
		uint64_t end_ns;
		uint64_t upto; /* last write that a sync covers */
		int32_t error;
		bool hangs, flips;
	} at[FLASH_DEPTH_MAX];
};

void mem_flash_open(struct mem_flash *m, uint64_t bytes, uint32_t depth, uint64_t seed);
void mem_flash_close(struct mem_flash *m);

/* Sets the clock, which never decreases. */
void mem_flash_tick(struct mem_flash *m, uint64_t now_ns);
/* Returns when the next transfer ends; UINT64_MAX: none does. */
uint64_t mem_flash_next(const struct mem_flash *m);
/* Lets hanging transfers end. */
void mem_flash_release(struct mem_flash *m);

/* Loses power and starts again: no transfer is under way, and each page that no sync covers is in
 * its old state, written, or torn. */
void mem_flash_cut(struct mem_flash *m);

#endif
