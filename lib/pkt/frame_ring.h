/*
 * frame_ring.h - frames on their way from one core to another.
 *
 * Shape:  a ring of SIZE entries between one writer and one reader, each with its index on a cache
 *         line of its own.
 * Units:  indices run freely; an entry is index % HANDOVER_RING.
 * Owner:  an entry's frame belongs to the ring from push to pop.
 * Thread: push by the writer, peek and pop by the reader.
 * Errors: a short count: the ring is full, or empty.
 */
#ifndef CLOCKOO_FRAME_RING_H
#define CLOCKOO_FRAME_RING_H

#include "base/check.h"
#include "handover.h"

#include <stdatomic.h>

struct frame_entry {
	struct frame *frame;
	uint8_t *data;
	uint32_t len;
	uint32_t ol_flags;
};

struct frame_ring {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t tail; /* written by the writer */
	uint32_t head_seen; /* the reader's head when the writer last loaded it */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t head; /* written by the reader */
	_Alignas(CACHE_LINE_BYTES) struct frame_entry entries[HANDOVER_RING];
};

/* Adds one frame. The reader sees it after frame_ring_publish. at comes from frame_ring_begin. */
static inline bool
frame_ring_put(struct frame_ring *r, uint32_t *at, const struct burst *b, uint32_t i)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.*): frame_ring_begin has set *at; there is a core */
	if (*at - r->head_seen == HANDOVER_RING) {
		/* Pairs with the release in frame_ring_pop: the reader no longer needs the
		 * entry. */
		r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
		if (*at - r->head_seen == HANDOVER_RING)
			return false;
	}
	r->entries[(*at)++ % HANDOVER_RING] =
		(struct frame_entry){b->frame[i], b->data[i], b->len[i], b->ol_flags[i]};
	return true;
}

static inline uint32_t
frame_ring_begin(const struct frame_ring *r)
{
	/* Only this thread writes it. */
	return atomic_load_explicit(&r->tail, memory_order_relaxed);
}

static inline void
frame_ring_publish(struct frame_ring *r, uint32_t at)
{
	/* Pairs with the acquire in frame_ring_peek: the entries are complete. */
	atomic_store_explicit(&r->tail, at, memory_order_release);
}

/* Appends the oldest frames to *b, at most count, as long as it has room. They stay in the ring. */
static inline uint32_t
frame_ring_peek(const struct frame_ring *r, struct burst *b, uint32_t count)
{
	const uint32_t head = atomic_load_explicit(
		&r->head, memory_order_relaxed); /* only this thread writes it */
	/* Pairs with the release in frame_ring_publish. */
	const uint32_t have = atomic_load_explicit(&r->tail, memory_order_acquire) - head;
	const uint32_t n = have < count ? have : count;

	for (uint32_t i = 0; i < n; i++) {
		const struct frame_entry *e = &r->entries[(head + i) % HANDOVER_RING];

		b->frame[b->count] = e->frame;
		b->data[b->count] = e->data;
		b->len[b->count] = e->len;
		b->ol_flags[b->count] = e->ol_flags;
		b->count++;
	}
	return n;
}

static inline void
frame_ring_pop(struct frame_ring *r, uint32_t count)
{
	const uint32_t head = atomic_load_explicit(
		&r->head, memory_order_relaxed); /* only this thread writes it */

	/* Pairs with the acquire in frame_ring_put: the entries may be written again. */
	atomic_store_explicit(&r->head, head + count, memory_order_release);
}

#endif
