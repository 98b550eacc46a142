#include "member_port.h"

#include "base/check.h"

#include <string.h>

static inline struct member_port *
of(struct port *port)
{
	return (struct member_port *)(void *)port;
}

/* Returns the mem_port that the frame belongs to. A frame of a mem_port begins with its bytes. */
static struct mem_port *
pool_of(const struct member_port *m, const struct frame *frame)
{
	const uintptr_t at = (uintptr_t)frame;

	for (uint32_t i = 0; i < MEMBER_POOLS; i++) {
		const uintptr_t from = (uintptr_t)m->pools[i]->frames;

		if (at >= from && at < from + (uintptr_t)m->pools[i]->frame_count * MEM_FRAME_BYTES)
			return m->pools[i];
	}
	ensure(!"a frame of no pool");
	return NULL;
}

static void
member_drop(struct port *port, struct frame *const *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct port *pool = &pool_of(of(port), frames[i])->port;

		pool->ops->drop(pool, &frames[i], 1);
	}
}

static void
member_rx(struct port *port, struct burst *b, uint32_t count)
{
	struct port *wire = &of(port)->wire->port;

	wire->ops->rx(wire, b, count);
}

static void
member_alloc(struct port *port, struct burst *b, uint32_t count)
{
	struct port *wire = &of(port)->wire->port;

	wire->ops->alloc(wire, b, count);
}

static uint32_t
send_one(struct member_port *m, const struct burst *b, uint32_t i)
{
	struct port *wire = &m->wire->port;
	struct burst one;

	wire->ops->alloc(wire, &one, 1);
	if (one.count == 0)
		return 0;
	memcpy(one.data[0], b->data[i], b->len[i]);
	one.len[0] = b->len[i];
	one.ol_flags[0] = b->ol_flags[i];
	if (wire->ops->tx(wire, &one) == 0) {
		wire->ops->drop(wire, one.frame, 1);
		return 0;
	}
	member_drop(&m->port, &b->frame[i], 1);
	return 1;
}

static uint32_t
member_tx(struct port *port, const struct burst *b)
{
	uint32_t sent = 0;

	while (sent < b->count && send_one(of(port), b, sent) == 1)
		sent++;
	return sent;
}

static const struct port_ops member_ops = {
	.rx = member_rx,
	.tx = member_tx,
	.alloc = member_alloc,
	.drop = member_drop,
};

void
member_port_init(struct member_port *m, struct mem_port *wire, struct mem_port *const *pools)
{
	m->port = wire->port;
	m->port.ops = &member_ops;
	m->wire = wire;
	m->pools = pools;
}
