/*
 * wire_port.h - two ports joined by a wire in one process: the nearest thing to a NIC that costs
 * nothing.
 *
 * A frame changes hands where it lies, as by a NIC's DMA: the sender writes a descriptor of 16
 * bytes into a ring, the receiver finds the bytes in the cache they share. Checksums count as done
 * in hardware. What a real NIC costs its driver on top of that (descriptors, doorbells) is not in
 * it.
 *
 * Shape:  an end has a ring to it, one from it, and a stack of frames it may fill, last used first.
 *         Frames that come in are its own from then on; what it has too many of goes back by a
 *         third ring.
 * Units:  stamps are the time stamp counter's lower half, so spans must stay below a second.
 * Owner:  as port.h says; all memory is in the region.
 * Thread: an end is one thread's; wire_make by one before both.
 * Bounds: WIRE_RING frames in flight each way; what does not fit is not taken.
 */
#ifndef CLOCKOO_WIRE_PORT_H
#define CLOCKOO_WIRE_PORT_H

#include "base/check.h"
#include "base/region.h"
#include "load/histogram.h"
#include "pkt/port.h"

#include <stdatomic.h>
#include <stdbool.h>

#define WIRE_RING        1024u  /* a power of two, as a NIC's ring */
#define WIRE_FRAMES      16384u /* of an end */
#define WIRE_FRAME_BYTES 2048u
/* Not a power of two: heads of frames spread over all sets of the caches, as mempools see to. */
#define WIRE_FRAME_SPAN (WIRE_FRAME_BYTES + 320u)
#define WIRE_HEADROOM   128u

struct wire_slot {
	uint32_t frame; /* its number */
	uint16_t at, len;
	uint32_t ol_flags;
	uint32_t stamp; /* 0: none */
};
static_assert(sizeof(struct wire_slot) == 16, "four a cache line");

/* One way: written by one end, read by the other. */
struct wire_ring {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t tail; /* the writer's */
	uint32_t head_seen;
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t head; /* the reader's */
	uint32_t tail_seen;
	_Alignas(CACHE_LINE_BYTES) struct wire_slot slot[WIRE_RING];
};

struct wire_end {
	struct port port;
	struct wire_ring *in, *out, *back_in, *back_out;
	uint8_t *frames;
	atomic_bool timed; /* residence is measured; another thread's to say, between runs */
	bool is_client;    /* this end stamps what it sends; the other says how long it had it */
	uint32_t free_count;
	uint32_t *free; /* 2 * WIRE_FRAMES numbers */
	uint32_t *came; /* stamps of frames received, by number; 0: none */
	struct histogram
		residence; /* at the end that is_client: ticks from a frame in to the same out */
};

struct wire {
	struct wire_end end[2];
};

size_t wire_bytes(void);
void wire_make(struct wire *w, struct region *region, const uint8_t mac[2][6]);

#endif
