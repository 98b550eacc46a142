/*
 * capture.h - copies of the frames that pass a port, while it serves.
 *
 * A capture puts functions of its own in the place of a port's. They call the port's, and copy
 * what was received and what the port took, as far as a filter wants it, into a ring. Another
 * thread reads the ring. While nothing is captured the port is as it was: not an instruction more.
 * The core itself puts the port's functions back, in its next turn.
 *
 * Shape:  a ring of records between one writer and one reader, each behind the one before.
 * Units:  ns on the clock of the rule.
 * Owner:  the memory is the caller's again when capture_ended says so. A record from
 *         capture_next is valid until capture_pop.
 * Thread: the port's core writes. begin, end, next and pop: one other thread.
 * Errors: what finds no room is dropped and counted; the core never waits.
 * Bounds: CAPTURE_RING_MIN to CAPTURE_RING_MAX bytes, a power of two; the filter is the caller's
 *         to bound.
 */
#ifndef CLOCKOO_CAPTURE_H
#define CLOCKOO_CAPTURE_H

#include "base/counter.h"
#include "base/region.h"
#include "port.h"

#include <stdbool.h>

#define CAPTURE_RING_MIN (128u << 10) /* bytes: a dozen of the largest frames, and more */
#define CAPTURE_RING_MAX (64u << 20)

enum capture_direction { CAPTURE_IN = 1, CAPTURE_OUT = 2 };

/* What all ports have in common. */
struct capture_rule {
	/* Is this frame wanted? NULL: each is. */
	bool (*match)(const void *filter, const uint8_t *data, uint32_t len);
	const void *filter;
	uint32_t snap; /* bytes of a frame that are copied, at most */
	uint64_t (*now_ns)(const void *clock);
	const void *clock;
};

/* In a ring; kept bytes of the frame stand behind it. */
struct capture_record {
	uint32_t bytes; /* of the record with all that belongs to it */
	uint16_t queue;
	uint8_t direction; /* enum capture_direction */
	uint8_t skip;      /* no frame: the ring's end */
	uint64_t at_ns; /* received: when the port gave it; sent: when it was given to the port */
	uint32_t len, kept;
	uint32_t ol_flags; /* enum frame_ol_flag: a checksum that the port fills is not in the copy
			    */
	uint32_t unused;
};

struct capture;

size_t capture_bytes(uint32_t ring_bytes);
struct capture *capture_create(struct region *region, const struct capture_rule *rule,
			       uint16_t queue, uint32_t ring_bytes);

/* From the core's next call on. No other capture is on that port. */
void capture_begin(struct capture *c, struct port *port);
/* The core is asked to end it. */
void capture_end(struct capture *c);
/* It has: nothing is written any more. */
bool capture_ended(const struct capture *c);

/* The oldest record; NULL: none is there. */
const struct capture_record *capture_next(struct capture *c);
void capture_pop(struct capture *c);
static inline const uint8_t *
capture_data(const struct capture_record *r)
{
	return (const uint8_t *)(r + 1);
}

/* Frames that were wanted, and those of them for which there was no room. */
uint64_t capture_wanted(const struct capture *c);
uint64_t capture_dropped(const struct capture *c);

#endif
