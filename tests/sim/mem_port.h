/*
 * mem_port.h - a network port over rings in memory.
 *
 * The simulator, the scripts and the benches drive a stack through it. It does what a device
 * does and no more: the cycles of a request in a bench are the stack's.
 *
 * Shape:  a pool of frames (last in, first out, so the warm ones go round) and two rings: rx,
 *         filled by the outside, and tx, emptied by it.
 * Units:  len in bytes.
 * Owner:  the pool's frames go to the core (rx, alloc) and come back (tx, drop); what was sent
 *         belongs to the outside between mem_port_sent and mem_port_done.
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
	uint32_t head, tail; /* count is tail - head */
	uint32_t len[MEM_RING];
	uint32_t ol_flags[MEM_RING];
	struct frame *frame[MEM_RING];
};

struct mem_port {
	struct port port; /* first: the port is this struct */
	struct frame *frames;
	struct frame **unused; /* a stack */
	uint32_t frame_count, unused_count;
	uint32_t tx_limit; /* frames the tx ring takes: less than MEM_RING makes a slow port */
	struct mem_ring rx, tx;
};

/* caps: enum port_cap; a port that fills checksums does it when a frame is sent. */
struct mem_port *mem_port_create(const uint8_t mac[6], uint32_t frames, uint32_t caps);
void mem_port_destroy(struct mem_port *p);

/* The next frame to receive: len bytes to be written at once, marked with enum frame_ol_flag. */
uint8_t *mem_port_feed(struct mem_port *p, uint32_t len, uint32_t ol_flags);

/* The oldest frame sent; stays until mem_port_done. */
const uint8_t *mem_port_sent(struct mem_port *p, uint32_t *len);
void mem_port_done(struct mem_port *p);

/* Passes what each of n ports has sent to those whose address it names, or to all others. cut:
 * ports that neither hear nor are heard; NULL: none is. */
void mem_port_hub(struct mem_port *const *ports, uint32_t n, const bool *cut);

/* Frames the core holds now: neither free nor in a ring. */
uint32_t mem_port_held(const struct mem_port *p);

#endif
