/*
 * capture.h - copies the frames that pass a port while it serves.
 *
 * A capture replaces a port's functions by its own. These call the port's functions, and copy into
 * a ring the frames that were received, and those that the port took for sending, if a filter
 * matches. Another thread reads the ring. A port without a capture is unchanged and runs no extra
 * instruction. The core itself restores the port's functions, in the turn after the end was
 * requested.
 *
 * Shape:  a ring of consecutive records between one writer and one reader.
 * Units:  ns on the clock of the rule.
 * Owner:  the memory belongs to the caller again when capture_ended returns true. A record from
 *         capture_next is valid until capture_pop.
 * Thread: the port's core writes. begin, end, next and pop: one other thread.
 * Errors: a frame that finds no room is dropped and counted; the core never waits.
 * Bounds: CAPTURE_RING_MIN to CAPTURE_RING_MAX bytes, a power of two; the caller bounds the
 *         filter's work.
 */
#ifndef CLOCKOO_CAPTURE_H
#define CLOCKOO_CAPTURE_H

#include "base/counter.h"
#include "base/region.h"
#include "port.h"

#include <stdbool.h>

#define CAPTURE_RING_MIN (128u << 10) /* in bytes: a dozen of the largest frames \ */
#define CAPTURE_RING_MAX (64u << 20)

enum capture_direction { CAPTURE_IN = 1, CAPTURE_OUT = 2 };

/* Settings that all ports of a capture share. */
struct capture_rule {
	/* True if the frame is wanted. NULL: every frame is. */
	bool (*match)(const void *filter, const uint8_t *data, uint32_t len);
	const void *filter;
	uint32_t snap; /* most bytes of a frame that are copied */
	uint64_t (*now_ns)(const void *clock);
	const void *clock;
};

/* A record in a ring; `kept` bytes of the frame follow it. */
struct capture_record {
	uint32_t bytes; /* bytes of the record with its frame and padding */
	uint16_t queue;
	uint8_t direction; /* enum capture_direction */
	/* True: the record has no frame, and covers the unused end of the ring. */
	uint8_t skip;
	uint64_t at_ns; /* when the port delivered the frame, or was given it */
	uint32_t len, kept;
	/* Enum frame_ol_flag: checksums that the port fills are missing in the copy. */
	uint32_t ol_flags;
	uint32_t unused;
};

struct capture;

size_t capture_bytes(uint32_t ring_bytes);
struct capture *capture_create(struct region *region, const struct capture_rule *rule,
			       uint16_t queue, uint32_t ring_bytes);

/* Starts the capture, which begins with the core's next call. The port must have no other
 * capture. */
void capture_begin(struct capture *c, struct port *port);
/* Requests that the core end the capture. */
void capture_end(struct capture *c);
/* True if the core has ended the capture, and writes nothing any more. */
bool capture_ended(const struct capture *c);

/* Returns the oldest record, or NULL if there is none. */
const struct capture_record *capture_next(struct capture *c);
void capture_pop(struct capture *c);
static inline const uint8_t *
capture_data(const struct capture_record *r)
{
	return (const uint8_t *)(r + 1);
}

/* Return how many frames matched, and how many of them found no room. */
uint64_t capture_wanted(const struct capture *c);
uint64_t capture_dropped(const struct capture *c);

#endif
