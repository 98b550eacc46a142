/*
 * flash_threads.h - flash devices whose transfers are made by helper threads, for kernels and
 * containers that refuse io_uring.
 *
 * Shape:  a queue is the device of one owner. Its owner submits transfers to a ring, and polls for
 *         their ends. Helpers take the transfers from the ring one by one, make each with preadv,
 *         pwritev or fdatasync, and push it onto the queue's list of ends. One group of helpers
 *         serves the queues of an array in turn, and sleeps while all are empty.
 * Owner:  the caller owns the file, the memory of both structs, the data, and the threads, which
 *         stay in flash_threads_help until flash_threads_end.
 * Thread: submit and poll of a queue: its owner. flash_threads_work, _help, _end: any.
 * Errors: results. The rest of a short transfer is transferred; EAGAIN and EINTR are tried
 *         FLASH_TRIES_MAX times. A file that ends too early: -EIO.
 * Bounds: depth transfers a queue; no lock, no allocation. A submit makes one system call, a futex
 *         wake, and only while a helper sleeps; a poll makes none. A helper makes one transfer at a
 *         time, so a group has as many in progress as it has threads. A transfer that hangs
 *         occupies one thread.
 *
 * Invariants (tests/unit/flash/test_flash_threads, with mutants of all four):
 * - A transfer that was submitted is taken by one helper.
 * - Every end is polled, also if helpers push meanwhile.
 * - While a transfer waits in a ring, a helper is awake or is being woken.
 * - After flash_threads_end no helper begins a transfer. A transfer that was not begun has no
 *   result.
 */
#ifndef CLOCKOO_FLASH_THREADS_H
#define CLOCKOO_FLASH_THREADS_H

#include "flash_device.h"
#include "flash_file.h"

#include "base/check.h"

#include <stdatomic.h>

struct flash_queue_slot {
	struct flash_io io;
	uint32_t next;
	int32_t error;
};

struct flash_queue {
	struct flash_device device;
	struct flash_threads *threads;
	int fd;
	uint32_t unused; /* first of the list of free slots */
	/* First of the list of results that the owner has taken and not yet returned. */
	uint32_t ended;
	/* Slots ring[taken .. submitted), modulo the ring's size, wait for a helper. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t submitted; /* written by the owner */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t taken;     /* written by helpers */
	/* First of the list of ends that helpers push to. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t done;
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t ring[FLASH_DEPTH_MAX];
	struct flash_queue_slot slots[FLASH_DEPTH_MAX];
};

struct flash_threads {
	struct flash_queue *queues;
	uint32_t count;
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t asleep; /* number of sleeping helpers */
	_Atomic uint32_t signal; /* incremented with each wake; helpers sleep on it */
	_Atomic bool over;
};

/* Initialise the group and its queues. All queues are opened before the first helper enters. */
void flash_threads_init(struct flash_threads *threads, struct flash_queue *queues, uint32_t count);
void flash_queue_open(struct flash_queue *queue, struct flash_threads *threads,
		      const struct flash_file *file, uint32_t depth);

/* Makes one transfer of the first queue that has one, searching from *at on. *at becomes the queue
 * after that. False: all queues are empty. */
bool flash_threads_work(struct flash_threads *threads, uint32_t *at);
/* Makes transfers, and sleeps while there are none, until flash_threads_end. at: the first queue to
 * serve. */
void flash_threads_help(struct flash_threads *threads, uint32_t at);
void flash_threads_end(struct flash_threads *threads);

#endif
