/*
 * wire_flood.c - sends as many SYNs as are due, and empties the lane.
 */
#include "wire_flood.h"
#include "refused_syn.h"

#include "base/time_units.h"
#include "net/net_core.h"

size_t
wire_flood_bytes(const struct wire_flood *f)
{
	return f->is_offered ? kernel_lane_bytes(WIRE_FRAME_BYTES, true) : 0;
}

void
wire_flood_make(struct wire_flood *f, struct bench_fixture *core, struct region *region,
		struct wire_end *client)
{
	struct net *net = stack_net(core->stack);

	if (!f->is_offered)
		return;
	f->port = &client->port;
	f->lane = kernel_lane_create(region, net->port->mtu, true);
	kernel_lane_add_port(f->lane, KERNEL_TCP, BENCH_CACHE_PORT);
	kernel_lane_add_port(f->lane, KERNEL_UDP, BENCH_CACHE_PORT);
	net->kernel = f->lane;
}

void
wire_flood_rate_mt(struct wire_flood *f, uint32_t frames_s)
{
	/* Pairs with the load in wire_flood_turn; it carries no data. */
	atomic_store_explicit(&f->rate, frames_s, memory_order_relaxed);
}

static void
read_lane(struct kernel_lane *lane)
{
	uint32_t len;

	for (uint32_t i = 0; i < KERNEL_RING && kernel_ring_first(&lane->to_kernel, &len) != NULL;
	     i++)
		kernel_ring_pop(&lane->to_kernel);
}

/* Sends up to `due` frames. Returns how many the wire has taken. */
static uint32_t
send(struct wire_flood *f, uint32_t due)
{
	struct burst b;
	uint32_t sent;

	f->port->ops->alloc(f->port, &b, due < BURST_MAX ? due : BURST_MAX);
	for (uint32_t i = 0; i < b.count; i++) {
		refused_syn_write(b.data[i], bench_server_mac, bench_client_mac, BENCH_SERVER_IP,
				  f->number + i);
		b.len[i] = REFUSED_SYN_BYTES;
	}
	sent = f->port->ops->tx(f->port, &b);
	f->port->ops->drop(f->port, b.frame + sent, b.count - sent);
	f->number += sent;
	return sent;
}

void
wire_flood_turn(struct wire_flood *f, uint64_t now_ns)
{
	/* Pairs with the store in wire_flood_rate_mt. */
	const uint32_t rate = atomic_load_explicit(&f->rate, memory_order_relaxed);
	uint64_t each_ns, due;

	if (f->is_offered)
		read_lane(f->lane);
	if (rate == 0 || f->was_rate != rate)
		f->paid_ns = now_ns;
	f->was_rate = rate;
	if (rate == 0)
		return;
	each_ns = NS_PER_S / rate;
	due = (now_ns - f->paid_ns) / each_ns;
	if (due > WIRE_FLOOD_BACKLOG) {
		f->paid_ns = now_ns - WIRE_FLOOD_BACKLOG * each_ns;
		due = WIRE_FLOOD_BACKLOG;
	}
	if (due != 0)
		f->paid_ns += send(f, (uint32_t)due) * each_ns;
}
