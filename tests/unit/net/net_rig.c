#include "net_rig.h"

#include "net/net_core.h"
#include "net_frames6.h"
#include "base/check.h"

#include <stdlib.h>
#include <string.h>

#define RIG_NOW_NS 1000000000ull

static void
ignore(void *arg, struct conn *c)
{
}

struct rig *
rig_new(const struct rig_options *options)
{
	static const struct stack_user nobody = {.opened = ignore, .gone = ignore};
	struct stack_config cfg = {
		.net.ipv4 = OUR_IP,
		.net.prefix_len = options->wide ? 0 : 24,
		.net.gateway = options->gateway,
		.net.addrs = options->addrs,
		.net.prefix6_len = 64,
		.net.ipv6_off = options->ipv6_off,
		.net.vlan = options->vlan,
		.net.vlan_priority = options->vlan != 0 ? 5 : 0,
		.tcp.port = UDP_PORT,
		.net.udp_port = options->udp_port,
		.net.udp_ports = options->udp_ports,
		.tcp.conns_max = 16,
		.tcp.chunks = 64,
		.net.rx_frames_max = 64,
		.tcp.keepalive_idle_ns = 7200ull * 1000000000,
		.net.seed = 1,
	};
	memcpy(cfg.net.ipv6.b, our_ip6, sizeof cfg.net.ipv6.b);
	memcpy(cfg.net.gateway6.b, router_link6, sizeof cfg.net.gateway6.b);

	const size_t bytes =
		stack_bytes(&cfg) + neigh_table_bytes() + kernel_lane_bytes(NET_MTU, true);
	struct rig *r = calloc(1, sizeof *r);
	struct region region = {0};

	ensure(r != NULL);
	r->memory = malloc(bytes);
	region = (struct region){.base = r->memory, .size = bytes};
	r->np = options->port != NULL ? options->port : net_port_new(our_mac, options->caps);
	r->owns_port = options->port == NULL;
	r->neigh = neigh_table_create(&region);
	if (options->kernel)
		cfg.net.kernel = r->kernel = kernel_lane_create(&region, NET_MTU, true);
	r->stack = stack_create(&region, &cfg, &r->np->port, r->neigh);
	r->now_ns = RIG_NOW_NS;
	stack_attach(r->stack, &nobody);
	/* The first tick announces our address; most tests check other frames. */
	rig_turn(r, NULL);
	r->np->sent_count = 0;
	rig_ol_flags(r);
	return r;
}

void
rig_free(struct rig *r)
{
	if (r->owns_port)
		net_port_free(r->np);
	free(r->memory);
	free(r);
}

void
rig_turn(struct rig *r, void (*serve)(struct rig *r))
{
	const uint32_t room = stack_rx_budget(r->stack);

	r->in.rx.count = 0;
	if (room != 0)
		r->np->port.ops->rx(&r->np->port, &r->in.rx, room);
	stack_classify(r->stack, &r->in);
	stack_match(r->stack, &r->in);
	stack_input(r->stack, &r->in, r->now_ns);
	if (serve != NULL)
		serve(r);
	stack_release(r->stack);
	stack_tick(r->stack, r->now_ns);
	stack_output(r->stack, r->now_ns);
	stack_tx(r->stack);
}

void
rig_ol_flags(struct rig *r)
{
	for (uint32_t i = 0; i < STACK_COUNTER_COUNT; i++)
		r->before[i] = counter_read(&stack_counters(r->stack)[i]);
}

uint64_t
rig_count(const struct rig *r, uint32_t which)
{
	return counter_read(&stack_counters(r->stack)[which]) - r->before[which];
}

uint32_t
rig_lent(const struct rig *r)
{
	return net_port_lent(r->np) - stack_net(r->stack)->frame_cache.count;
}
