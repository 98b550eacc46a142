/*
 * tx_queue.h - the inline part of the transmit queue, for code that sends many frames in a row:
 * tx_queue.c, udp_io.c and the fast path of a transport.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_TX_QUEUE_H
#define CLOCKOO_TX_QUEUE_H

#include "net_core.h"

/* Adds the tag of a local address's link, if it has one, to a frame that is sent. No frame has a
 * tag before that, since classify.c removes those of received frames. */
void tx_queue_put_on_link(struct net *net, struct frame *frame, uint8_t *data, uint32_t len,
			  uint32_t ol_flags, uint16_t local);

static inline void
tx_queue_put(struct tx_queue *out, struct frame *frame, uint8_t *data, uint32_t len,
	     uint32_t ol_flags)
{
	struct burst *part = out->open;
	const uint32_t i = out->count++ % BURST_MAX;

	part->len[i] = len;
	part->ol_flags[i] = ol_flags;
	part->data[i] = data;
	part->frame[i] = frame;
	if (unlikely(i == BURST_MAX - 1))
		out->open++;
}

static inline void
tx_queue_clear(struct tx_queue *out)
{
	out->count = 0;
	out->open = out->burst;
}

static inline void
tx_queue_send(struct net *net, struct frame *frame, uint8_t *data, uint32_t len, uint32_t ol_flags,
	      uint16_t local)
{
	if (unlikely(net->tagged))
		tx_queue_put_on_link(net, frame, data, len, ol_flags, local);
	else
		tx_queue_put(&net->out, frame, data, len, ol_flags);
}

/* Sends the frame that tx_queue_begun() returned, on the link of a local address. len: at most the
 * port's MTU and an Ethernet header, for which every frame has room (net_create). */
static inline void
tx_queue_push_begun(struct net *net, uint16_t local, uint32_t len, uint32_t ol_flags)
{
	struct frame_cache *cache = &net->frame_cache;
	const uint32_t i = cache->count - 1;

	ensure(net->out.count < TX_QUEUE_MAX);
	cache->count = i;
	tx_queue_send(net, cache->frame[i], cache->data[i], len, ol_flags, local);
	if (i != 0)
		prefetch(cache->data[i - 1]);
}

/* Sends the frame that was begun, on the link of a local address. */
static inline void
tx_queue_push(struct net *net, uint16_t local, uint32_t len, uint32_t ol_flags)
{
	ensure(net->frame_cache.count != 0 && len <= net->port->frame_bytes);
	tx_queue_push_begun(net, local, len, ol_flags);
}

#endif
