/*
 * kernel_port.c - receives from the queue, and then from the ring; everything else is done by the
 * lower port.
 */
#include "kernel_port.h"
#include "kernel_lane.h"
#include "wire/eth_wire.h"

struct kernel_port {
	struct port port; /* first member, so that the port is also this struct */
	struct port *lower;
	struct kernel_ring ring;
};

static inline struct kernel_port *
of(struct port *port)
{
	return (struct kernel_port *)(void *)port;
}

/* Appends a copy to the burst. False: the ring or the pool is empty. */
static bool
take_copy(struct kernel_port *k, struct burst *b)
{
	struct burst fresh;
	const uint8_t *copy;
	uint32_t len;

	copy = kernel_ring_first(&k->ring, &len);
	if (copy == NULL)
		return false;
	k->lower->ops->alloc(k->lower, &fresh, 1);
	if (fresh.count == 0)
		return false;
	memcpy(fresh.data[0], copy, len);
	kernel_ring_pop(&k->ring);
	b->data[b->count] = fresh.data[0];
	b->len[b->count] = len;
	b->ol_flags[b->count] = 0; /* the cache checks its checksums */
	b->frame[b->count++] = fresh.frame[0];
	return true;
}

static void
port_rx(struct port *port, struct burst *b, uint32_t count)
{
	struct kernel_port *k = of(port);

	k->lower->ops->rx(k->lower, b, count);
	for (uint32_t n = 0; n < KERNEL_SLICE && b->count < count && take_copy(k, b); n++)
		;
}

static uint32_t
port_tx(struct port *port, const struct burst *b)
{
	struct port *lower = of(port)->lower;

	return lower->ops->tx(lower, b);
}

static void
port_alloc(struct port *port, struct burst *b, uint32_t count)
{
	struct port *lower = of(port)->lower;

	lower->ops->alloc(lower, b, count);
}

static void
port_drop(struct port *port, struct frame *const *frames, uint32_t count)
{
	struct port *lower = of(port)->lower;

	lower->ops->drop(lower, frames, count);
}

/* Called only if the lower port supports loans, since the caps are its own. */
static bool
port_lend(struct port *port, struct frame *frame, const struct port_loan *loan)
{
	struct port *lower = of(port)->lower;

	return lower->ops->lend(lower, frame, loan);
}

static const struct port_ops kernel_port_ops = {port_rx, port_tx, port_alloc, port_drop, port_lend};

static uint32_t
port_slot_bytes(uint32_t mtu)
{
	return (uint32_t)align_up(ETH_HEADER_BYTES + mtu, CACHE_LINE_BYTES);
}

size_t
kernel_port_bytes(uint32_t mtu)
{
	return sizeof(struct kernel_port) + (size_t)KERNEL_RING * port_slot_bytes(mtu) +
	       2 * CACHE_LINE_BYTES;
}

struct kernel_port *
kernel_port_create(struct region *region, struct port *lower, uint32_t mtu)
{
	struct kernel_port *k = region_take(region, sizeof *k, CACHE_LINE_BYTES);

	k->port = *lower;
	k->port.ops = &kernel_port_ops;
	k->port.capture = NULL;
	k->lower = lower;
	k->ring.slot_bytes = port_slot_bytes(mtu) < lower->frame_bytes ? port_slot_bytes(mtu)
								       : lower->frame_bytes;
	k->ring.slots =
		region_take(region, (size_t)KERNEL_RING * k->ring.slot_bytes, CACHE_LINE_BYTES);
	return k;
}

struct port *
kernel_port_as_port(struct kernel_port *k)
{
	return &k->port;
}

struct kernel_ring *
kernel_port_ring(struct kernel_port *k)
{
	return &k->ring;
}
