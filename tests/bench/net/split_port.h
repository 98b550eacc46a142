/*
 * split_port.h - two ports of one end of a wire, told apart by the address a frame is for.
 *
 * Shape:  port 0 and port 1 have the wire's MAC; what comes for address 1 is port 1's, all else
 *         port 0's. A port that finds nothing takes from the wire, for both.
 * Owner:  frames are the wire's.
 * Thread: the wire end's.
 * Bounds: SPLIT_QUEUE frames that wait for a port; while there is no room the wire keeps the rest.
 */
#ifndef CLOCKOO_SPLIT_PORT_H
#define CLOCKOO_SPLIT_PORT_H

#include "pkt/port.h"

#define SPLIT_QUEUE 4096u /* a power of two */

struct split_port;

struct split_side {
	struct port port;
	struct split_port *split;
	uint32_t head, tail; /* of what waits */
	struct {
		uint8_t *data;
		struct frame *frame;
		uint32_t len, ol_flags;
	} slot[SPLIT_QUEUE];
};

struct split_port {
	struct port *wire;
	uint8_t ip[4]; /* of port 1, as on the wire */
	struct split_side side[2];
};

void split_port_init(struct split_port *s, struct port *wire, uint32_t ip);

#endif
