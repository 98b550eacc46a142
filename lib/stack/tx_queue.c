/*
 * tx_queue.c - the transmit queue, the frame cache, and the deferred free of received frames.
 */
#include "tx_queue.h"
#include "wire/eth_wire.h"

static_assert(TX_QUEUE_MAX % BURST_MAX == 0, "the transmit queue is whole bursts");
static_assert(TX_QUEUE_RESERVE + BURST_MAX <= TX_QUEUE_MAX, "there is room for one full burst");

uint32_t
tx_queue_room(const struct stack *s)
{
	const uint32_t taken = s->out.count + s->tx_credits;
	const uint32_t slots = taken < TX_QUEUE_MAX ? TX_QUEUE_MAX - taken : 0;

	return slots < s->frame_cache.count ? slots : s->frame_cache.count;
}

uint32_t
stack_rx_budget(const struct stack *s)
{
	const uint32_t taken = s->out.count + TX_QUEUE_RESERVE;
	const uint32_t slots = taken < TX_QUEUE_MAX ? TX_QUEUE_MAX - taken : 0;

	return slots < BURST_MAX ? slots : BURST_MAX;
}

/* Room in front of a fresh frame for the tag it gets on its way out; received ones had one. */
static uint32_t
tag_room(const struct stack *s)
{
	return s->cfg.vlan != 0 ? ETH_TAG_BYTES : 0;
}

void
frame_cache_refill(struct stack *s)
{
	struct frame_cache *cache = &s->frame_cache;
	struct burst fresh;

	for (uint32_t calls = 0; cache->count < FRAME_CACHE_TARGET && calls < TX_QUEUE_BURSTS;
	     calls++) {
		const uint32_t want = FRAME_CACHE_TARGET - cache->count;

		fresh.count = 0;
		s->port->ops->alloc(s->port, &fresh, want < BURST_MAX ? want : BURST_MAX);
		ensure(fresh.count <= want);
		for (uint32_t i = 0; i < fresh.count; i++) {
			cache->data[cache->count] = fresh.data[i] + tag_room(s);
			cache->frame[cache->count++] = fresh.frame[i];
		}
		if (fresh.count == 0)
			break;
	}
	if (unlikely(cache->count == 0))
		stack_count(s, TX_NO_FRAME);
}

void
tx_queue_put_tagged(struct stack *s, struct frame *frame, uint8_t *data, uint32_t len,
		    uint32_t ol_flags)
{
	tx_queue_put(&s->out, frame, eth_vlan_insert(data, s->tag), len + ETH_TAG_BYTES, ol_flags);
}

uint8_t *
tx_queue_begin(struct stack *s)
{
	if (tx_queue_room(s) == 0)
		return NULL;
	return s->frame_cache.data[s->frame_cache.count - 1];
}

uint8_t *
tx_queue_begun(struct stack *s)
{
	ensure(s->frame_cache.count != 0);
	return s->frame_cache.data[s->frame_cache.count - 1];
}

void
tx_queue_commit(struct stack *s, uint32_t len, uint32_t ol_flags)
{
	tx_queue_push(s, len, ol_flags);
}

void
tx_queue_send_rx(struct stack *s, uint32_t rx_index, uint32_t len, uint32_t ol_flags)
{
	const struct burst *rx = &s->in->rx;

	tx_queue_send_rx_frame(s, rx->frame[rx_index], rx->data[rx_index], len, ol_flags);
}

void
tx_queue_send_rx_frame(struct stack *s, struct frame *f, uint8_t *start, uint32_t len,
		       uint32_t ol_flags)
{
	ensure(s->tx_credits != 0 && s->out.count < TX_QUEUE_MAX && len <= s->port->frame_bytes);
	s->tx_credits--;
	tx_queue_send(s, f, start, len, ol_flags);
}

void
rx_frame_drop(struct stack *s, uint32_t rx_index)
{
	ensure(s->tx_credits != 0);
	s->tx_credits--;
	frame_defer_free(s, s->in->rx.frame[rx_index], s->in->rx.data[rx_index]);
}

/* The transmit queue again, without the first sent frames. Rare: the port's ring was full. */
static void
tx_queue_compact(struct tx_queue *out, uint32_t sent)
{
	const uint32_t count = out->count;

	out->count = 0;
	for (uint32_t i = sent; i < count; i++) {
		const struct burst *from = &out->burst[i / BURST_MAX];
		const uint32_t k = i % BURST_MAX;

		tx_queue_put(out, from->frame[k], from->data[k], from->len[k], from->ol_flags[k]);
	}
}

uint32_t
stack_tx(struct stack *s)
{
	struct tx_queue *out = &s->out;
	uint32_t sent = 0;
	uint64_t bytes = 0;

	while (sent < out->count) {
		struct burst *part = &out->burst[sent / BURST_MAX];
		const uint32_t left = out->count - sent;
		uint32_t took;

		part->count = left < BURST_MAX ? left : BURST_MAX;
		took = s->port->ops->tx(s->port, part);
		ensure(took <= part->count);
		for (uint32_t i = 0; i < took; i++)
			bytes += part->len[i];
		sent += took;
		if (took < part->count)
			break;
	}
	if (sent != 0) {
		counter_add(&s->counters[TX_FRAMES], sent);
		counter_add(&s->counters[TX_BYTES], bytes);
	}
	if (unlikely(sent < out->count)) {
		counter_add(&s->counters[TX_REFUSED], out->count - sent);
		tx_queue_compact(out, sent);
	} else {
		out->count = 0;
	}
	return sent;
}

void
frame_defer_free(struct stack *s, struct frame *f, uint8_t *start)
{
	const uint32_t i = s->to_free_count;

	ensure(i < s->to_free_max);
	s->to_free_start[i] = start;
	s->to_free[i] = f;
	s->to_free_count = i + 1;
}

/* What was received goes out again without a round through the port's pool. Not where frames get
 * tags: one may have come without, and there is no room in front of it. */
static void
frame_recycle(struct stack *s)
{
	struct frame_cache *cache = &s->frame_cache;
	const uint32_t room = s->cfg.vlan == 0 ? FRAME_CACHE_MAX - cache->count : 0;
	const uint32_t n = room < s->to_free_count ? room : s->to_free_count;

	s->to_free_count -= n;
	memcpy(&cache->frame[cache->count], &s->to_free[s->to_free_count],
	       n * sizeof *cache->frame);
	memcpy(&cache->data[cache->count], &s->to_free_start[s->to_free_count],
	       n * sizeof *cache->data);
	cache->count += n;
}

void
frames_release(struct stack *s)
{
	if (s->to_free_count != 0)
		frame_recycle(s);
	if (s->to_free_count != 0)
		s->port->ops->drop(s->port, s->to_free, s->to_free_count);
	s->to_free_count = 0;
}
