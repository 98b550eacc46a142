/*
 * split_port.h - two ports of one end of a wire, selected by a frame's destination address.
 *
 * Shape:  port 0 and port 1 have the wire's MAC. A frame for address 1 goes to port 1, all others
 *         to port 0. A port without frames receives from the wire for both.
 * Owner:  frames belong to the wire.
 * Thread: the thread of the wire's end.
 * Bounds: SPLIT_QUEUE frames pending for a port; while it is full, the wire keeps the rest.
 */
#ifndef CLOCKOO_SPLIT_PORT_H
#define CLOCKOO_SPLIT_PORT_H

#include "pkt/port.h"

#define SPLIT_QUEUE 4096u /* a power of two */

struct split_port;

struct split_side {
	struct port port;
	struct split_port *split;
	uint32_t head, tail; /* of the pending frames */
	struct {
		uint8_t *data;
		struct frame *frame;
		uint32_t len, ol_flags;
	} slot[SPLIT_QUEUE];
};

struct split_port {
	struct port *wire;
	uint8_t ip[4]; /* address of port 1, as on the wire */
	struct split_side side[2];
};

void split_port_init(struct split_port *s, struct port *wire, uint32_t ip);

#endif
