/*
 * outbox.c - frames on their way out, empty ones in stock, and received ones that are spent.
 */
#include "outbox.h"
#include "wire/eth_wire.h"

static_assert(OUTBOX_MAX % BURST_MAX == 0, "the outbox is whole bursts");
static_assert(OUTBOX_RESERVE + BURST_MAX <= OUTBOX_MAX, "there is room for one full burst");

uint32_t
outbox_room(const struct stack *s)
{
	const uint32_t taken = s->out.count + s->owed;
	const uint32_t slots = taken < OUTBOX_MAX ? OUTBOX_MAX - taken : 0;

	return slots < s->stock.count ? slots : s->stock.count;
}

uint32_t
stack_room(const struct stack *s)
{
	const uint32_t taken = s->out.count + OUTBOX_RESERVE;
	const uint32_t slots = taken < OUTBOX_MAX ? OUTBOX_MAX - taken : 0;

	return slots < BURST_MAX ? slots : BURST_MAX;
}

/* Room in front of a fresh frame for the tag it gets on its way out; received ones had one. */
static uint32_t
tag_room(const struct stack *s)
{
	return s->cfg.vlan != 0 ? ETH_TAG_BYTES : 0;
}

void
stock_fill(struct stack *s)
{
	struct stock *stock = &s->stock;
	struct burst fresh;

	for (uint32_t calls = 0; stock->count < STOCK_FULL && calls < OUTBOX_PARTS; calls++) {
		const uint32_t want = STOCK_FULL - stock->count;

		fresh.count = 0;
		s->port->ops->alloc(s->port, &fresh, want < BURST_MAX ? want : BURST_MAX);
		ensure(fresh.count <= want);
		for (uint32_t i = 0; i < fresh.count; i++) {
			stock->data[stock->count] = fresh.data[i] + tag_room(s);
			stock->frame[stock->count++] = fresh.frame[i];
		}
		if (fresh.count == 0)
			break;
	}
	if (unlikely(stock->count == 0))
		stack_count(s, TX_NO_FRAME);
}

void
outbox_put_tagged(struct stack *s, struct frame *frame, uint8_t *data, uint32_t len, uint32_t mark)
{
	outbox_put(&s->out, frame, eth_tag_in(data, s->tag), len + ETH_TAG_BYTES, mark);
}

uint8_t *
outbox_begin(struct stack *s)
{
	if (outbox_room(s) == 0)
		return NULL;
	return s->stock.data[s->stock.count - 1];
}

uint8_t *
outbox_begun(struct stack *s)
{
	ensure(s->stock.count != 0);
	return s->stock.data[s->stock.count - 1];
}

void
outbox_commit(struct stack *s, uint32_t len, uint32_t mark)
{
	outbox_push(s, len, mark);
}

void
outbox_return(struct stack *s, uint32_t rx_index, uint32_t len, uint32_t mark)
{
	const struct burst *rx = &s->in->rx;

	outbox_return_frame(s, rx->frame[rx_index], rx->data[rx_index], len, mark);
}

void
outbox_return_frame(struct stack *s, struct frame *f, uint8_t *start, uint32_t len, uint32_t mark)
{
	ensure(s->owed != 0 && s->out.count < OUTBOX_MAX && len <= s->port->frame_bytes);
	s->owed--;
	outbox_send(s, f, start, len, mark);
}

void
outbox_waive(struct stack *s, uint32_t rx_index)
{
	ensure(s->owed != 0);
	s->owed--;
	frame_spent(s, s->in->rx.frame[rx_index], s->in->rx.data[rx_index]);
}

/* The outbox again, without the first sent frames. Rare: the port's ring was full. */
static void
outbox_keep(struct outbox *out, uint32_t sent)
{
	const uint32_t count = out->count;

	out->count = 0;
	for (uint32_t i = sent; i < count; i++) {
		const struct burst *from = &out->part[i / BURST_MAX];
		const uint32_t k = i % BURST_MAX;

		outbox_put(out, from->frame[k], from->data[k], from->len[k], from->mark[k]);
	}
}

uint32_t
stack_give(struct stack *s)
{
	struct outbox *out = &s->out;
	uint32_t sent = 0;
	uint64_t bytes = 0;

	while (sent < out->count) {
		struct burst *part = &out->part[sent / BURST_MAX];
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
		outbox_keep(out, sent);
	} else {
		out->count = 0;
	}
	return sent;
}

void
frame_spent(struct stack *s, struct frame *f, uint8_t *start)
{
	const uint32_t i = s->spent_count;

	ensure(i < s->spent_max);
	s->spent_start[i] = start;
	s->spent[i] = f;
	s->spent_count = i + 1;
}

/* What was received goes out again without a round through the port's pool. Not where frames get
 * tags: one may have come without, and there is no room in front of it. */
static void
spent_to_stock(struct stack *s)
{
	struct stock *stock = &s->stock;
	const uint32_t room = s->cfg.vlan == 0 ? STOCK_MAX - stock->count : 0;
	const uint32_t n = room < s->spent_count ? room : s->spent_count;

	s->spent_count -= n;
	memcpy(&stock->frame[stock->count], &s->spent[s->spent_count], n * sizeof *stock->frame);
	memcpy(&stock->data[stock->count], &s->spent_start[s->spent_count],
	       n * sizeof *stock->data);
	stock->count += n;
}

void
stack_release(struct stack *s)
{
	udp_release(s);
	if (s->spent_count != 0)
		spent_to_stock(s);
	if (s->spent_count != 0)
		s->port->ops->drop(s->port, s->spent, s->spent_count);
	s->spent_count = 0;
}
