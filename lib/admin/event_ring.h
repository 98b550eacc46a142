/*
 * event_ring.h - a ring of one core's events, for watchers on any core. It may lose events, and
 * never waits.
 *
 * Shape:  a ring of EVENT_SLOTS events. The writer overwrites the oldest. A reader keeps a cursor,
 *         and is informed how many events it missed. Each slot has the number of the event in it,
 *         so that a reader detects a slot that was overwritten while it was read (a sequence lock,
 *         H.-J. Boehm, "Can seqlocks get along with programming language memory models?", 2012).
 * Owner:  the ring owns its events; readers copy.
 * Thread: event_put by the ring's core; event_read, event_gid by any.
 * Bounds: EVENT_TEXT_MAX bytes of key or of a command; longer ones are cut.
 */
#ifndef CLOCKOO_EVENT_RING_H
#define CLOCKOO_EVENT_RING_H

#include "base/check.h"
#include "base/ip_addr.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define EVENT_SLOTS    256u
#define EVENT_TEXT_MAX 256u

struct event {
	uint64_t gid;   /* orders events of all cores */
	uint64_t at_us; /* wall clock */
	uint32_t kind;  /* kind and the following fields are for the reader */
	uint32_t stream;
	const char *status, *command; /* constant text */
	int64_t ttl_s;
	uint32_t idle_s;
	uint32_t class;
	uint32_t conn;
	uint32_t size;
	struct ip_addr ip;
	uint16_t port;
	uint16_t text_len;
	uint8_t text[EVENT_TEXT_MAX];
};

#define EVENT_WORDS (sizeof(struct event) / 8)
static_assert(sizeof(struct event) % 8 == 0, "copied in words");

struct event_slot {
	/* Number of the event in the slot, plus 1; 0: it is being written. */
	_Atomic uint64_t number;
	_Atomic uint64_t words[EVENT_WORDS];
};

struct event_ring {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t head; /* number of events put so far */
	struct event_slot slots[EVENT_SLOTS];
};

void event_put(struct event_ring *ring, const struct event *e);

/* Returns the cursor of a reader that wants the events from now on. */
uint64_t event_head(const struct event_ring *ring);

/* Returns the gid of the event at *cursor. False: there is none yet. Overwritten events are
 * skipped, and counted in *skipped. */
bool event_gid(const struct event_ring *ring, uint64_t *cursor, uint64_t *skipped, uint64_t *gid);

/* Copies the event at *cursor and moves on. False and *skipped: as for event_gid. */
bool event_read(const struct event_ring *ring, uint64_t *cursor, uint64_t *skipped,
		struct event *out);

#endif
