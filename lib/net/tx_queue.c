/*
 * tx_queue.c - the transmit queue, the frame cache, and the deferred free of received frames.
 */
#include "net_inside.h"
#include "tx_queue.h"
#include "wire/eth_wire.h"

static_assert(TX_QUEUE_MAX % BURST_MAX == 0, "the transmit queue is whole bursts");
static_assert(TX_QUEUE_RESERVE + BURST_MAX <= TX_QUEUE_MAX, "there is room for one full burst");

uint32_t
tx_queue_room(const struct net *net)
{
	const uint32_t taken = net->out.count + net->tx_credits;
	const uint32_t slots = taken < TX_QUEUE_MAX ? TX_QUEUE_MAX - taken : 0;

	return slots < net->frame_cache.count ? slots : net->frame_cache.count;
}

uint32_t
net_rx_budget(const struct net *net)
{
	const uint32_t taken = net->out.count + TX_QUEUE_RESERVE;
	const uint32_t slots = taken < TX_QUEUE_MAX ? TX_QUEUE_MAX - taken : 0;

	return slots < BURST_MAX ? slots : BURST_MAX;
}

/* Returns the room before a fresh frame for the tag that is added when it is sent. A received frame
 * has that room where its tag was removed. */
static uint32_t
tag_room(const struct net *net)
{
	return net->tagged ? ETH_TAG_BYTES : 0;
}

void
frame_cache_refill(struct net *net)
{
	struct frame_cache *cache = &net->frame_cache;
	struct burst fresh;

	for (uint32_t calls = 0; cache->count < FRAME_CACHE_TARGET && calls < TX_QUEUE_BURSTS;
	     calls++) {
		const uint32_t want = FRAME_CACHE_TARGET - cache->count;

		fresh.count = 0;
		net->port->ops->alloc(net->port, &fresh, want < BURST_MAX ? want : BURST_MAX);
		ensure(fresh.count <= want);
		for (uint32_t i = 0; i < fresh.count; i++) {
			cache->data[cache->count] = fresh.data[i] + tag_room(net);
			cache->frame[cache->count++] = fresh.frame[i];
		}
		if (fresh.count == 0)
			break;
	}
	if (unlikely(cache->count == 0))
		net_count(net, TX_NO_FRAME);
}

void
tx_queue_put_on_link(struct net *net, struct frame *frame, uint8_t *data, uint32_t len,
		     uint32_t ol_flags, uint16_t local)
{
	const struct net_link *link = &net->addrs->link[link_of_local(net, local)];

	if (link->vlan == 0)
		tx_queue_put(&net->out, frame, data, len, ol_flags);
	else
		tx_queue_put(&net->out, frame, eth_vlan_insert(data, link->tag),
			     len + ETH_TAG_BYTES, ol_flags);
}

uint8_t *
tx_queue_begin(struct net *net)
{
	if (tx_queue_room(net) == 0)
		return NULL;
	return net->frame_cache.data[net->frame_cache.count - 1];
}

uint8_t *
tx_queue_begun(struct net *net)
{
	ensure(net->frame_cache.count != 0);
	return net->frame_cache.data[net->frame_cache.count - 1];
}

void
tx_queue_commit(struct net *net, uint16_t local, uint32_t len, uint32_t ol_flags)
{
	tx_queue_push(net, local, len, ol_flags);
}

void
tx_queue_push_copy(struct net *net, const uint8_t *data, uint32_t len)
{
	struct frame_cache *cache = &net->frame_cache;
	uint8_t *to;

	ensure(tx_queue_room(net) != 0 && len <= net->port->frame_bytes);
	cache->count--;
	to = cache->data[cache->count] - tag_room(net);
	memcpy(to, data, len);
	tx_queue_put(&net->out, cache->frame[cache->count], to, len, 0);
}

void
tx_queue_send_rx(struct net *net, uint32_t rx_index, uint32_t len, uint32_t ol_flags)
{
	const struct burst *rx = &net->in->rx;

	tx_queue_send_rx_frame(net, rx->frame[rx_index], rx->data[rx_index], len, ol_flags,
			       net->in->l3[rx_index].local);
}

void
tx_queue_send_rx_frame(struct net *net, struct frame *f, uint8_t *start, uint32_t len,
		       uint32_t ol_flags, uint16_t local)
{
	ensure(net->tx_credits != 0 && net->out.count < TX_QUEUE_MAX &&
	       len <= net->port->frame_bytes);
	net->tx_credits--;
	tx_queue_send(net, f, start, len, ol_flags, local);
}

void
rx_frame_drop(struct net *net, uint32_t rx_index)
{
	ensure(net->tx_credits != 0);
	net->tx_credits--;
	frame_defer_free(net, net->in->rx.frame[rx_index], net->in->rx.data[rx_index]);
}

/* Moves unsent frames to the front of the transmit queue. Needed only if the port's ring was full,
 * which is rare. */
static void
tx_queue_compact(struct tx_queue *out, uint32_t sent)
{
	const uint32_t count = out->count;

	tx_queue_clear(out);
	for (uint32_t i = sent; i < count; i++) {
		const struct burst *from = &out->burst[i / BURST_MAX];
		const uint32_t k = i % BURST_MAX;

		tx_queue_put(out, from->frame[k], from->data[k], from->len[k], from->ol_flags[k]);
	}
}

uint32_t
net_tx(struct net *net)
{
	struct tx_queue *out = &net->out;
	uint32_t sent = 0;
	uint64_t bytes = 0;

	while (sent < out->count) {
		struct burst *part = &out->burst[sent / BURST_MAX];
		const uint32_t left = out->count - sent;
		uint32_t took;

		part->count = left < BURST_MAX ? left : BURST_MAX;
		took = net->port->ops->tx(net->port, part);
		ensure(took <= part->count);
		for (uint32_t i = 0; i < took; i++)
			bytes += part->len[i];
		sent += took;
		if (took < part->count)
			break;
	}
	if (sent != 0) {
		counter_add(&net->counters[TX_FRAMES], sent);
		counter_add(&net->counters[TX_BYTES], bytes);
	}
	if (unlikely(sent < out->count)) {
		counter_add(&net->counters[TX_REFUSED], out->count - sent);
		tx_queue_compact(out, sent);
	} else if (sent != 0) {
		tx_queue_clear(out);
	}
	return sent;
}

void
frame_defer_free(struct net *net, struct frame *f, uint8_t *start)
{
	const uint32_t i = net->to_free_count;

	ensure(i < net->to_free_max);
	net->to_free_start[i] = start;
	net->to_free[i] = f;
	net->to_free_count = i + 1;
}

/* Reuses received frames for sending, without the port's pool. Not if a link is a VLAN: a frame
 * that arrived without a tag has no room for one. */
static void
frame_recycle(struct net *net)
{
	struct frame_cache *cache = &net->frame_cache;
	const uint32_t room = net->tagged ? 0 : FRAME_CACHE_MAX - cache->count;
	const uint32_t n = room < net->to_free_count ? room : net->to_free_count;

	net->to_free_count -= n;
	memcpy(&cache->frame[cache->count], &net->to_free[net->to_free_count],
	       n * sizeof *cache->frame);
	memcpy(&cache->data[cache->count], &net->to_free_start[net->to_free_count],
	       n * sizeof *cache->data);
	cache->count += n;
}

void
frames_release(struct net *net)
{
	if (net->to_free_count != 0)
		frame_recycle(net);
	if (net->to_free_count != 0)
		net->port->ops->drop(net->port, net->to_free, net->to_free_count);
	net->to_free_count = 0;
}

void
net_end(struct net *net)
{
	struct port *port = net->port;
	struct tx_queue *out = &net->out;

	for (uint32_t at = 0; at < out->count; at += BURST_MAX) {
		const uint32_t left = out->count - at;

		port->ops->drop(port, out->burst[at / BURST_MAX].frame,
				left < BURST_MAX ? left : BURST_MAX);
	}
	out->count = 0;
	port->ops->drop(port, net->frame_cache.frame, net->frame_cache.count);
	net->frame_cache.count = 0;
}
