#include "net_port.h"
#include "net_frames.h"
#include "base/check.h"

#include <stdlib.h>
#include <string.h>

enum place {
	AT_PORT,
	AT_CORE,
};

struct frame {
	enum place place;
	uint32_t len, ol_flags;
	uint8_t *data; /* a block of its own, made at the first use: sanitizers watch its ends */
};

/* Bytes beyond a frame's end must not matter; they are not zero. */
#define FILLER 0xa5

static struct frame *
lend(struct net_port *np)
{
	struct frame *f = np->free[--np->free_count];

	ensure(f->place == AT_PORT);
	if (f->data == NULL) {
		f->data = aligned_alloc(CACHE_LINE_BYTES, NET_FRAME_BYTES);
		ensure(f->data != NULL);
		memset(f->data, FILLER, NET_FRAME_BYTES);
	}
	f->place = AT_CORE;
	f->len = f->ol_flags = 0;
	return f;
}

static void
take_back(struct net_port *np, struct frame *f)
{
	ensure(f->place == AT_CORE);
	f->place = AT_PORT;
	memset(f->data, FILLER, NET_FRAME_BYTES);
	np->free[np->free_count++] = f;
}

static void
burst_put(struct burst *b, struct frame *f)
{
	b->len[b->count] = f->len;
	b->ol_flags[b->count] = f->ol_flags;
	b->data[b->count] = f->data;
	b->frame[b->count++] = f;
}

static void
net_rx(struct port *port, struct burst *b, uint32_t count)
{
	struct net_port *np = (struct net_port *)port;

	b->count = 0;
	while (b->count < count && b->count < np->queue_count)
		burst_put(b, np->queue[b->count]);
	np->queue_count -= b->count;
	memmove(np->queue, np->queue + b->count, np->queue_count * sizeof np->queue[0]);
}

static uint32_t
net_tx(struct port *port, const struct burst *b)
{
	struct net_port *np = (struct net_port *)port;
	const uint32_t took = b->count < np->tx_limit ? b->count : np->tx_limit;

	for (uint32_t i = 0; i < took; i++) {
		/* Removing a tag may move the frame's begin by the tag's length (port.h). */
		const uint32_t later = (uint32_t)(b->data[i] - b->frame[i]->data);
		const bool tagged = b->len[i] > 14 && get16(b->data[i] + 12) == 0x8100;

		ensure(b->len[i] <= 14u + (tagged ? 4u : 0u) + np->port.mtu);
		ensure(later == 0 || later == 4);
		if (np->sent_count < NET_SENT_MAX) {
			struct net_sent *sent = &np->sent[np->sent_count];

			sent->len = b->len[i];
			sent->ol_flags = b->ol_flags[i];
			memcpy(sent->bytes, b->data[i], b->len[i]);
			frame_fill_cksums(sent->bytes, b->ol_flags[i]);
		}
		np->sent_count++;
		take_back(np, b->frame[i]);
	}
	return took;
}

static void
net_alloc(struct port *port, struct burst *b, uint32_t count)
{
	struct net_port *np = (struct net_port *)port;

	b->count = 0;
	while (b->count < count && np->free_count != 0 && np->alloc_limit != 0) {
		np->alloc_limit--;
		burst_put(b, lend(np));
	}
}

static void
net_drop(struct port *port, struct frame *const *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		take_back((struct net_port *)port, frames[i]);
}

static const struct port_ops net_ops = {
	.rx = net_rx,
	.tx = net_tx,
	.alloc = net_alloc,
	.drop = net_drop,
};

struct net_port *
net_port_new(const uint8_t mac[6], uint32_t caps)
{
	struct net_port *np = calloc(1, sizeof *np);

	ensure(np != NULL);
	np->port = (struct port){
		.ops = &net_ops,
		.frame_bytes = NET_FRAME_BYTES,
		.mtu = NET_MTU,
	};
	memcpy(np->port.mac, mac, sizeof np->port.mac);
	for (uint32_t i = 0; i < NET_FRAMES; i++) {
		np->frames[i] = calloc(1, sizeof *np->frames[i]);
		ensure(np->frames[i] != NULL);
	}
	net_port_reset(np, caps);
	return np;
}

void
net_port_reset(struct net_port *np, uint32_t caps)
{
	np->port.caps = caps;
	np->tx_limit = np->alloc_limit = UINT32_MAX;
	np->queue_count = np->sent_count = 0;
	for (uint32_t i = 0; i < NET_FRAMES; i++) {
		np->free[i] = np->frames[i];
		np->free[i]->place = AT_PORT;
	}
	np->free_count = NET_FRAMES;
}

void
net_port_free(struct net_port *np)
{
	for (uint32_t i = 0; i < NET_FRAMES; i++) {
		free(np->frames[i]->data);
		free(np->frames[i]);
	}
	free(np);
}

bool
net_port_put(struct net_port *np, const void *bytes, uint32_t len, uint32_t ol_flags)
{
	struct frame *f;

	if (np->free_count == 0 || np->queue_count == NET_QUEUE_MAX || len > NET_FRAME_BYTES)
		return false;
	f = lend(np);
	f->len = len;
	f->ol_flags = ol_flags;
	memcpy(f->data, bytes, len);
	np->queue[np->queue_count++] = f;
	return true;
}

uint32_t
net_port_lent(const struct net_port *np)
{
	return NET_FRAMES - np->free_count - np->queue_count;
}
