/*
 * tcp_rxq.h - received data that the service has not read: in order, and behind holes.
 *
 * Units:  sequence numbers wrap; lengths in bytes.
 * Owner:  the connection, and with it the frames.
 * Thread: core-local.
 * Bounds: the connection's window, and tcp_limits.h.
 */
#ifndef CLOCKOO_TCP_RXQ_H
#define CLOCKOO_TCP_RXQ_H

#include "net/net_core.h"

#include "base/check.h"

/* Received data in the frame it came in. An out-of-order block is a chain of nodes without a gap;
 * its first node points to the last. */
struct rx_seg {
	struct rx_seg *next;
	struct frame *frame;
	uint8_t *start;      /* start of the frame */
	const uint8_t *data; /* start of the data */
	uint32_t seq, len;
	union {
		struct { /* for the first node of an out-of-order block */
			uint16_t block_frames;
			uint16_t block_updated; /* conn.ooo_clock of the block's last data */
			struct rx_seg *block_last;
		};
		/* For a node in order: what later turns added to its data. Positions are bytes from
		 * start, times are relative to since_ns. */
		struct {
			/* Positions of the first and of the last of these turns; 0: none. */
			uint32_t later_at, last_at;
			uint32_t later_ns, last_ns;
		};
	};
	uint64_t since_ns; /* turn in which its first data was received, with all data before it */
};
static_assert(sizeof(struct rx_seg) == CACHE_LINE_BYTES, "a node is one cache line");

struct rxq {
	struct rx_seg *head, *tail; /* in order and unread */
	struct rx_seg *ooo_blocks;  /* after holes: sorted by seq, with gaps between them */
	uint32_t bytes;             /* in order and unread */
	uint16_t frames, ooo_frames;
};

#endif
