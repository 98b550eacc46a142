#include "spray_port.h"

#include "base/check.h"

#include <string.h>

#define RING_MASK (MEM_RING - 1)

static inline struct spray_port *
of(struct port *port)
{
	return (struct spray_port *)(void *)port;
}

/* Distributes all frames on the wire among the queues. */
static void
scatter(struct spray *s)
{
	struct port *wire = &s->wire->port;
	struct burst b;

	do {
		wire->ops->rx(wire, &b, BURST_MAX);
		for (uint32_t i = 0; i < b.count; i++) {
			const uint32_t q = s->evenly ? sim_below(&s->rng, s->queues) : 0;
			struct mem_ring *rx = &s->ports[q].rx;
			const uint32_t at = rx->tail & RING_MASK;

			if (rx->tail - rx->head == MEM_RING) {
				wire->ops->drop(wire, &b.frame[i], 1);
				continue;
			}
			rx->tail++;
			rx->frame[at] = b.frame[i];
			rx->len[at] = b.len[i];
			rx->ol_flags[at] = b.ol_flags[i];
		}
	} while (b.count == BURST_MAX);
}

static void
spray_rx(struct port *port, struct burst *b, uint32_t count)
{
	struct spray_port *p = of(port);

	ensure(p < p->spray->ports + p->spray->queues); /* the other ports have no receive queue */
	scatter(p->spray);
	for (b->count = 0; b->count < count && p->rx.head != p->rx.tail; b->count++) {
		const uint32_t at = p->rx.head++ & RING_MASK;

		b->frame[b->count] = p->rx.frame[at];
		/* A frame of mem_port begins with its bytes. */
		b->data[b->count] = (uint8_t *)p->rx.frame[at];
		b->len[b->count] = p->rx.len[at];
		b->ol_flags[b->count] = p->rx.ol_flags[at];
	}
}

static uint32_t
spray_tx(struct port *port, const struct burst *b)
{
	struct spray_port *p = of(port);
	struct port *wire = &p->spray->wire->port;

	ensure(p < p->spray->ports + p->spray->queues);
	return wire->ops->tx(wire, b);
}

static void
spray_alloc(struct port *port, struct burst *b, uint32_t count)
{
	struct port *wire = &of(port)->spray->wire->port;

	wire->ops->alloc(wire, b, count);
}

static void
spray_drop(struct port *port, struct frame *const *frames, uint32_t count)
{
	struct port *wire = &of(port)->spray->wire->port;

	wire->ops->drop(wire, frames, count);
}

static const struct port_ops spray_ops = {
	.rx = spray_rx,
	.tx = spray_tx,
	.alloc = spray_alloc,
	.drop = spray_drop,
};

void
spray_init(struct spray *s, struct mem_port *wire, uint32_t ports, uint32_t queues, bool evenly)
{
	memset(s, 0, sizeof *s);
	s->wire = wire;
	s->rng.state = 7;
	s->queues = queues;
	s->evenly = evenly;
	for (uint32_t i = 0; i < ports; i++) {
		s->ports[i].port = wire->port;
		s->ports[i].port.ops = &spray_ops;
		s->ports[i].spray = s;
	}
}
