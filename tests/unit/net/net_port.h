/*
 * net_port.h - a port in memory that tracks the owner of every frame.
 *
 * Shape:  frames put in by net_port_put come out of rx; frames that tx takes are kept as they
 *         would be on the wire: checksums that the stack left to the port are filled in.
 * Owner:  a frame that is given back, sent or handed out twice stops the process.
 * Bounds: NET_FRAMES frames; NET_SENT_MAX sent frames are kept, further ones are only counted.
 */
#ifndef CLOCKOO_NET_PORT_H
#define CLOCKOO_NET_PORT_H

#include "pkt/port.h"

#include <stdbool.h>

#define NET_FRAMES      2048u
#define NET_FRAME_BYTES 2048u
#define NET_MTU         1500u
#define NET_SENT_MAX    512u
#define NET_QUEUE_MAX   256u

struct net_sent {
	uint32_t len, ol_flags;
	uint8_t bytes[NET_FRAME_BYTES];
};

struct net_port {
	struct port port;
	struct frame *frames[NET_FRAMES];
	uint32_t free_count; /* frames the port has, in free[] */
	struct frame *free[NET_FRAMES];
	uint32_t queue_count; /* frames waiting for rx */
	struct frame *queue[NET_QUEUE_MAX];
	uint32_t tx_limit;    /* frames that tx takes in a call */
	uint32_t alloc_limit; /* frames that alloc gives in all */
	uint32_t sent_count;
	struct net_sent sent[NET_SENT_MAX];
};

struct net_port *net_port_new(const uint8_t mac[6], uint32_t caps);
void net_port_free(struct net_port *np);

/* Resets the port to its initial state, also if a stack still had frames; frames and their bytes
 * are used again. */
void net_port_reset(struct net_port *np, uint32_t caps);

/* Queues a copy of len bytes for the next rx. False if no frame or no place is free. */
bool net_port_put(struct net_port *np, const void *bytes, uint32_t len, uint32_t ol_flags);

/* Returns the number of frames that the stack has now. */
uint32_t net_port_lent(const struct net_port *np);

#endif
