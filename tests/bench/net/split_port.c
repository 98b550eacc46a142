/*
 * split_port.c - distributes the frames of one wire end to two stacks.
 */
#include "split_port.h"

#include "base/check.h"
#include "base/list.h"

#include <string.h>

#define TYPE_AT   12u
#define IP_TO_AT  30u /* in IPv4 */
#define ARP_TO_AT 38u
#define TO_BYTES  42u

static struct split_side *
split_side_of(struct port *port)
{
	return container_of(port, struct split_side, port);
}

static uint32_t
address_of(const struct split_port *s, const uint8_t *data, uint32_t len)
{
	static const uint8_t ip4[] = {8, 0}, arp[] = {8, 6};
	uint32_t at;

	if (len < TO_BYTES)
		return 0;
	if (memcmp(data + TYPE_AT, ip4, 2) == 0)
		at = IP_TO_AT;
	else if (memcmp(data + TYPE_AT, arp, 2) == 0)
		at = ARP_TO_AT;
	else
		return 0;
	return memcmp(data + at, s->ip, sizeof s->ip) == 0;
}

static void
take(struct split_port *s)
{
	struct burst b;

	for (uint32_t i = 0; i < 2; i++)
		if (s->side[i].tail - s->side[i].head > SPLIT_QUEUE - BURST_MAX)
			return;
	s->wire->ops->rx(s->wire, &b, BURST_MAX);
	for (uint32_t i = 0; i < b.count; i++) {
		struct split_side *q = &s->side[address_of(s, b.data[i], b.len[i])];
		const uint32_t at = q->tail++ % SPLIT_QUEUE;

		q->slot[at].data = b.data[i];
		q->slot[at].frame = b.frame[i];
		q->slot[at].len = b.len[i];
		q->slot[at].ol_flags = b.ol_flags[i];
	}
}

static void
split_rx(struct port *port, struct burst *b, uint32_t count)
{
	struct split_side *q = split_side_of(port);

	if (q->head == q->tail)
		take(q->split);
	for (b->count = 0; b->count < count && q->head != q->tail; b->count++) {
		const uint32_t at = q->head++ % SPLIT_QUEUE;

		b->data[b->count] = q->slot[at].data;
		b->frame[b->count] = q->slot[at].frame;
		b->len[b->count] = q->slot[at].len;
		b->ol_flags[b->count] = q->slot[at].ol_flags;
	}
}

static struct port *
wire_of(struct port *port)
{
	return split_side_of(port)->split->wire;
}

static uint32_t
split_tx(struct port *port, const struct burst *b)
{
	struct port *wire = wire_of(port);

	return wire->ops->tx(wire, b);
}

static void
split_alloc(struct port *port, struct burst *b, uint32_t count)
{
	struct port *wire = wire_of(port);

	wire->ops->alloc(wire, b, count);
}

static void
split_drop(struct port *port, struct frame *const *frames, uint32_t count)
{
	struct port *wire = wire_of(port);

	wire->ops->drop(wire, frames, count);
}

static const struct port_ops split_ops = {
	.rx = split_rx,
	.tx = split_tx,
	.alloc = split_alloc,
	.drop = split_drop,
};

void
split_port_init(struct split_port *s, struct port *wire, uint32_t ip)
{
	memset(s, 0, sizeof *s);
	s->wire = wire;
	for (uint32_t i = 0; i < 4; i++)
		s->ip[i] = (uint8_t)(ip >> (24 - 8 * i));
	for (uint32_t i = 0; i < 2; i++) {
		s->side[i].port = *wire;
		s->side[i].port.ops = &split_ops;
		s->side[i].split = s;
	}
}
