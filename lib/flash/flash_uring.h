/*
 * flash_uring.h - a flash device over io_uring: a file or a block device, past the kernel's cache.
 *
 * Shape:  all rings share a file (flash_file.h); a ring is one core's, with a memory that the
 *         kernel maps once (registered buffers) beside the file.
 * Owner:  the caller: the descriptor, and the memory until flash_uring_close.
 * Thread: one a ring.
 * Errors: a negative errno at open. Registered buffers are done without where the limit of locked
 *         memory forbids them. A short transfer goes on with its rest;
 *         -EAGAIN and -EINTR are tried FLASH_TRIES_MAX times. A file that ends too early: -EIO.
 *         A ring that the kernel refuses for good ends what is submitted from then on with -EIO;
 *         what it has not taken before hangs.
 * Bounds: depth entries of the ring; one system call a submit, none a poll, but for rests and for
 *         what the kernel refused for a while.
 */
#ifndef CLOCKOO_FLASH_URING_H
#define CLOCKOO_FLASH_URING_H

#include "flash_device.h"
#include "flash_file.h"

#include <liburing.h>

#define FLASH_CLOSE_S 10u

/* Returns 0, or why the kernel refuses a ring: a negative errno. */
int flash_uring_probe(void);

struct flash_uring {
	struct flash_device device;
	struct io_uring ring;
	uint8_t *memory;
	size_t memory_bytes;
	int fd;
	bool fixed;         /* the kernel has the memory registered */
	bool unsent;        /* entries of the ring lie there that the kernel refused for a while */
	int32_t broken;     /* 0, or why the ring takes nothing more */
	uint32_t under_way; /* entries whose completion has not come */
	uint32_t unused;    /* the first of a list of slots */
	uint32_t ended;     /* likewise: those whose end needs no kernel */
	struct flash_uring_slot {
		struct flash_io io;
		uint32_t done, tries, next;
		int32_t error;
	} slots[FLASH_DEPTH_MAX];
};

/* memory: at a multiple of FLASH_PAGE, where all transfers' data lies. Returns 0, or -errno. */
int flash_uring_open(struct flash_uring *u, const struct flash_file *file, uint32_t depth,
		     void *memory, size_t memory_bytes);

/* Waits for what is under way, FLASH_CLOSE_S from one end to the next: not for a turn. False: the
 * kernel still has the memory, which stays mapped then. */
bool flash_uring_close(struct flash_uring *u);

/* "io_uring, O_DIRECT, registered buffers" and the like. */
const char *flash_uring_words(const struct flash_uring *u);

#endif
