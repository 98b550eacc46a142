/*
 * wire_port.h - two ports joined by a wire in one process: a NIC without the cost of a NIC.
 *
 * A frame stays in place, as after a NIC's DMA. The sender writes a descriptor of 16 bytes into a
 * ring; the receiver reads the bytes in the cache that both share. Checksums count as done in
 * hardware. The cost of a NIC's driver (descriptors, doorbells) is not included.
 *
 * An end may take loans (pkt/port.h). The receiver gathers them, in place of the NIC's DMA, so that
 * the sender does not pay for it; the sender ends them when it receives.
 *
 * Shape:  an end has a ring to it, a ring from it, and a stack of free frames, last used first.
 *         Received frames become its own; a third ring returns surplus frames.
 * Units:  stamps are the lower half of the time stamp counter, so spans are below a second.
 * Owner:  as port.h says; all memory is in the region.
 * Thread: an end belongs to one thread; wire_make is called before both run.
 * Bounds: WIRE_RING frames in flight each way; frames that do not fit are not taken.
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
/* This is no power of two, so that heads of frames spread over all sets of the caches, as in
 * mempools. */
#define WIRE_FRAME_SPAN (WIRE_FRAME_BYTES + 320u)
#define WIRE_HEADROOM   128u

struct wire_slot {
	uint32_t frame; /* number of the frame */
	uint16_t at, len;
	uint32_t lent;  /* bytes of a loan that follow */
	uint32_t stamp; /* 0: none */
};
static_assert(sizeof(struct wire_slot) == 16, "four a cache line");

/* A ring for one direction: one end writes it, the other reads it. */
struct wire_ring {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t tail; /* written by the writer */
	uint32_t head_seen;
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t head; /* written by the reader */
	uint32_t tail_seen;
	_Alignas(CACHE_LINE_BYTES) struct wire_slot slot[WIRE_RING];
	struct port_loan loan[WIRE_RING]; /* of the slots with lent bytes; the reader reads data */
};

struct wire_end {
	struct port port;
	struct wire_ring *in, *out, *back_in, *back_out;
	uint8_t *frames;
	atomic_bool timed; /* residence is measured; another thread sets it between runs */
	bool is_client;  /* this end stamps the frames that it sends; the other end returns how long
			    it had them */
	uint32_t reaped; /* slots of `out` whose loans have ended */
	uint32_t free_count;
	uint32_t *free;             /* 2 * WIRE_FRAMES numbers */
	uint32_t *came;             /* stamps of received frames, by number; 0: none */
	struct histogram residence; /* at the end that is_client: ticks from receiving a frame to
				       sending it */
};

struct wire {
	struct wire_end end[2];
};

size_t wire_bytes(void);
void wire_make(struct wire *w, struct region *region, const uint8_t mac[2][6]);
/* Has the end take loans. Call before its core is created. */
void wire_lend(struct wire_end *e);

#endif
