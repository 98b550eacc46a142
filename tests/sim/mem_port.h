/*
 * mem_port.h - a network port over rings in memory.
 *
 * The simulator, the scripts and the benches drive a stack through this port. It does no more than
 * a device does, so the cycles of a request in a bench are the stack's.
 *
 * Shape:  a pool of frames (last in, first out, so that warm frames are reused) and two rings. The
 *         outside fills rx and empties tx.
 * Units:  len in bytes.
 * Owner:  frames of the pool go to the core by rx and alloc, and return by tx and drop. A sent
 *         frame belongs to the outside between mem_port_sent and mem_port_done.
 * Thread: one at a time.
 * Errors: NULL or false: no frame is free, or a ring is full.
 */
#ifndef CLOCKOO_MEM_PORT_H
#define CLOCKOO_MEM_PORT_H

#include "pkt/port.h"

#include <stdbool.h>

#define MEM_FRAME_BYTES 2048u
#define MEM_MTU         1500u
#define MEM_RING        1024u /* a power of two */

struct mem_ring {
	uint32_t head, tail; /* the count is tail - head */
	uint32_t len[MEM_RING];
	uint32_t ol_flags[MEM_RING];
	struct frame *frame[MEM_RING];
};

/* A loan that the device has not finished with. Its bytes must not change meanwhile. */
struct mem_loan {
	struct port_loan loan; /* len 0: none */
	uint64_t hash;
};

struct mem_port {
	struct port port; /* first: the port is this struct */
	struct frame *frames;
	struct frame **unused; /* free frames, used last in, first out */
	uint32_t frame_count, unused_count;
	/* Frames that the tx ring takes; less than MEM_RING models a slow port. */
	uint32_t tx_limit;
	struct mem_ring rx, tx;
	struct mem_loan *loans; /* one for each frame */
	uint32_t loan_count, loans_max;
	uint32_t tx_gives; /* frames that the device still sends; UINT32_MAX: all */
};

/* Creates a port with caps (enum port_cap). A port that fills checksums does so when a frame is
 * sent. */
struct mem_port *mem_port_create(const uint8_t mac[6], uint32_t frames, uint32_t caps);
void mem_port_destroy(struct mem_port *p);

/* Returns the next frame to receive: the caller writes its len bytes at once. ol_flags: enum
 * frame_ol_flag. */
uint8_t *mem_port_feed(struct mem_port *p, uint32_t len, uint32_t ol_flags);

/* Returns the oldest sent frame, which stays until mem_port_done. */
const uint8_t *mem_port_sent(struct mem_port *p, uint32_t *len);
void mem_port_done(struct mem_port *p);

/* Delivers the sent frames of each of n ports to the port with their destination address, or to all
 * others. cut: ports that neither send nor receive; NULL: none. */
void mem_port_hub(struct mem_port *const *ports, uint32_t n, const bool *cut);

/* Returns the frames that the core holds: neither free nor in a ring. */
uint32_t mem_port_held(const struct mem_port *p);

#endif
