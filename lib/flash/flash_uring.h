/*
 * flash_uring.h - a flash device over io_uring: a file or a block device, bypassing the kernel's
 * cache.
 *
 * Shape:  all rings share a file (flash_file.h). A ring belongs to one core. Its memory and the
 *         file are registered with the kernel once.
 * Owner:  the caller owns the descriptor, and the memory, which stays until flash_uring_close.
 * Thread: one thread for each ring.
 * Errors: a negative errno at open. If the process may not lock enough memory, the memory is not
 *         registered. The rest of a short transfer is transferred; -EAGAIN and -EINTR are tried
 *         FLASH_TRIES_MAX times. A file that ends too early: -EIO. If the kernel refuses a ring
 *         permanently, later transfers end with -EIO, and those that it has not taken before never
 *         end.
 * Bounds: depth entries of the ring. A submit is one system call. A poll makes one only for the
 *         rest of a transfer and for entries that the kernel temporarily refused.
 */
#ifndef CLOCKOO_FLASH_URING_H
#define CLOCKOO_FLASH_URING_H

#include "flash_device.h"
#include "flash_file.h"

#include <liburing.h>

#define FLASH_CLOSE_S 10u

/* Returns 0, or the negative errno with which the kernel refuses a ring. */
int flash_uring_probe(void);

struct flash_uring {
	struct flash_device device;
	struct io_uring ring;
	uint8_t *memory;
	size_t memory_bytes;
	int fd;
	bool fixed;  /* the memory is registered with the kernel */
	bool unsent; /* the ring has entries that the kernel temporarily refused */
	/* 0, or the negative errno with which the kernel refuses the ring permanently. */
	int32_t broken;
	uint32_t under_way; /* entries without a completion */
	uint32_t unused;    /* first of the list of free slots */
	uint32_t ended;     /* first of the list of slots that end without the kernel */
	struct flash_uring_slot {
		struct flash_io io;
		uint32_t done, tries, next;
		int32_t error;
	} slots[FLASH_DEPTH_MAX];
};

/* Opens a ring. memory: aligned to FLASH_PAGE, with the data of all transfers. Returns 0, or a
 * negative errno. */
int flash_uring_open(struct flash_uring *u, const struct flash_file *file, uint32_t depth,
		     void *memory, size_t memory_bytes);

/* Waits for the transfers in progress, at most FLASH_CLOSE_S from one end to the next; so not for
 * use in a turn. False: the kernel still uses the memory, which stays mapped. */
bool flash_uring_close(struct flash_uring *u);

/* Returns how the file is accessed, such as "io_uring, O_DIRECT, registered buffers". */
const char *flash_uring_words(const struct flash_uring *u);

#endif
