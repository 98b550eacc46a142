/*
 * event_ring.c - a ring of events with one writer: a sequence lock in each slot.
 */
#include "event_ring.h"

#include <stddef.h>
#include <string.h>

/* Faults for tests, which must notice that a ring is broken: a reader that does not check the
 * number a second time, and one that pauses in the middle of an event. */
#ifndef EVENT_RING_MUTANT
#define EVENT_RING_MUTANT 0
#endif
static inline void
gap(void)
{
#ifdef EVENT_RING_GAP
	for (volatile uint32_t i = 0; i < EVENT_RING_GAP; i++)
		;
#endif
}

#define HEAD_BYTES offsetof(struct event, text)

static uint32_t
words_of(uint32_t text_len)
{
	return (uint32_t)(HEAD_BYTES + text_len + 7) / 8;
}

void
event_put(struct event_ring *ring, const struct event *e)
{
	const uint64_t n = atomic_load_explicit(&ring->head, memory_order_relaxed);
	struct event_slot *slot = &ring->slots[n % EVENT_SLOTS];
	uint64_t words[EVENT_WORDS];

	ensure(e->text_len <= EVENT_TEXT_MAX);
	memcpy(words, e, HEAD_BYTES + e->text_len);
	atomic_store_explicit(&slot->number, 0, memory_order_relaxed);
	/* Release: pairs with the acquire fence in slot_copy. A reader that sees any of these words
	 * sees the 0, or what was written after it. */
	atomic_thread_fence(memory_order_release);
	for (uint32_t i = 0; i < words_of(e->text_len); i++)
		atomic_store_explicit(&slot->words[i], words[i], memory_order_relaxed);
	/* Release: pairs with the acquire in slot_copy, so the words belong to the number. */
	atomic_store_explicit(&slot->number, n + 1, memory_order_release);
	/* Pairs with the acquire in cursor_catch_up. */
	atomic_store_explicit(&ring->head, n + 1, memory_order_release);
}

uint64_t
event_head(const struct event_ring *ring)
{
	return atomic_load_explicit(&ring->head, memory_order_acquire);
}

/* Copies the first `bytes` bytes of event n. False: it was overwritten. */
static bool
slot_copy(const struct event_ring *ring, uint64_t n, struct event *out, uint32_t bytes)
{
	const struct event_slot *slot = &ring->slots[n % EVENT_SLOTS];
	uint64_t words[EVENT_WORDS];
	const uint32_t count = bytes / 8;

	/* Pairs with the release of the number in event_put. */
	if (atomic_load_explicit(&slot->number, memory_order_acquire) != n + 1)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		words[i] = atomic_load_explicit(&slot->words[i], memory_order_relaxed);
		if (i == 2)
			gap();
	}
	/* Pairs with the release fence in event_put. */
	atomic_thread_fence(memory_order_acquire);
	if (!EVENT_RING_MUTANT &&
	    atomic_load_explicit(&slot->number, memory_order_relaxed) != n + 1)
		return false;
	memcpy(out, words, bytes);
	return true;
}

/* Skips the events that were overwritten, and half of the ring, since the oldest ones would be
 * overwritten before they are read. False: there is no event yet. */
static bool
cursor_catch_up(const struct event_ring *ring, uint64_t *cursor, uint64_t *skipped)
{
	/* Pairs with the release of the head in event_put. */
	const uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);

	if (*cursor == head)
		return false;
	if (head - *cursor > EVENT_SLOTS) {
		*skipped += head - EVENT_SLOTS / 2 - *cursor;
		*cursor = head - EVENT_SLOTS / 2;
	}
	return true;
}

/* Reads the event at *cursor. The loop is bounded: to overwrite each event that is tried, the
 * writer would have to put EVENT_SLOTS events in each step. */
static bool
cursor_read(const struct event_ring *ring, uint64_t *cursor, uint64_t *skipped, struct event *out,
	    uint32_t bytes)
{
	for (uint32_t tries = 0; tries < EVENT_SLOTS; tries++) {
		if (!cursor_catch_up(ring, cursor, skipped))
			return false;
		if (slot_copy(ring, *cursor, out, bytes))
			return true;
		++*cursor;
		++*skipped;
	}
	return false;
}

bool
event_gid(const struct event_ring *ring, uint64_t *cursor, uint64_t *skipped, uint64_t *gid)
{
	struct event head;

	if (!cursor_read(ring, cursor, skipped, &head, sizeof head.gid))
		return false;
	*gid = head.gid;
	return true;
}

bool
event_read(const struct event_ring *ring, uint64_t *cursor, uint64_t *skipped, struct event *out)
{
	if (!cursor_read(ring, cursor, skipped, out, sizeof *out))
		return false;
	++*cursor;
	return true;
}
