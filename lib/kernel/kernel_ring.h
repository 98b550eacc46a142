/*
 * kernel_ring.h - copies of frames on their way between a core and the thread of the kernel's
 * interface.
 *
 * Shape:  KERNEL_RING slots of one frame each, between one writer and one reader. The writer fills
 *         the slot of kernel_ring_begin() and commits it; the reader reads the oldest and pops it.
 * Units:  bytes; indices run freely, a slot is index % KERNEL_RING.
 * Owner:  the ring owns its slots. It holds copies, so a reader that is late keeps no frame from a
 *         port's pool.
 * Thread: begin and commit by the writer, first and pop by the reader.
 * Errors: NULL: the ring is full, or empty.
 * Bounds: KERNEL_RING frames.
 */
#ifndef CLOCKOO_KERNEL_RING_H
#define CLOCKOO_KERNEL_RING_H

#include "base/check.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_RING 256u /* a power of two */

struct kernel_ring {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t tail; /* written by the writer */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t head; /* written by the reader */
	_Alignas(CACHE_LINE_BYTES) uint8_t *slots;        /* NULL: the ring is not in use */
	uint32_t slot_bytes;
	uint32_t len[KERNEL_RING];
};

static inline uint8_t *
kernel_ring_slot(const struct kernel_ring *r, uint32_t at)
{
	return r->slots + (size_t)(at % KERNEL_RING) * r->slot_bytes;
}

/* Returns the slot for the next frame. */
static inline uint8_t *
kernel_ring_begin(const struct kernel_ring *r)
{
	const uint32_t tail = atomic_load_explicit(
		&r->tail, memory_order_relaxed); /* only this thread writes it */

	/* Pairs with the release in kernel_ring_pop: the reader no longer needs the slot. */
	if (tail - atomic_load_explicit(&r->head, memory_order_acquire) == KERNEL_RING)
		return NULL;
	return kernel_ring_slot(r, tail);
}

/* Passes the frame in the slot of kernel_ring_begin() to the reader. */
static inline void
kernel_ring_commit(struct kernel_ring *r, uint32_t len)
{
	const uint32_t tail = atomic_load_explicit(
		&r->tail, memory_order_relaxed); /* only this thread writes it */

	r->len[tail % KERNEL_RING] = len;
	/* Pairs with the acquire in kernel_ring_first: the slot is complete. */
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
}

/* Returns the oldest frame, which stays in the ring. */
static inline const uint8_t *
kernel_ring_first(const struct kernel_ring *r, uint32_t *len)
{
	const uint32_t head = atomic_load_explicit(
		&r->head, memory_order_relaxed); /* only this thread writes it */

	/* Pairs with the release in kernel_ring_commit. */
	if (atomic_load_explicit(&r->tail, memory_order_acquire) == head)
		return NULL;
	*len = r->len[head % KERNEL_RING];
	return kernel_ring_slot(r, head);
}

static inline void
kernel_ring_pop(struct kernel_ring *r)
{
	const uint32_t head = atomic_load_explicit(
		&r->head, memory_order_relaxed); /* only this thread writes it */

	/* Pairs with the acquire in kernel_ring_begin: the slot may be written again. */
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

#endif
