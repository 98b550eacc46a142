#include "sim_stack.h"
#include "zeroed.h"

#include "base/check.h"
#include "net/neigh_table.h"

#include <stdlib.h>
#include <string.h>

#define BUSY_NS    1000u /* between turns while work is left */
#define BUSY_TURNS 20000u

const uint8_t sim_mac[6] = {2, 0, 0, 0, 0, 1};
const uint8_t sim_peer_mac[6] = {2, 0, 0, 0, 1, 1};

struct stack_config
sim_config(uint64_t seed)
{
	return (struct stack_config){
		.net.ipv4 = SIM_IP,
		.net.prefix_len = SIM_PREFIX,
		.tcp.port = SIM_PORT,
		.net.udp_port = SIM_PORT,
		.tcp.conns_max = 64,
		.tcp.chunks = 1024,
		.net.rx_frames_max = 512,
		.tcp.keepalive_idle_ns = 60000000000ull,
		.tcp.timestamps = true,
		.net.seed = seed,
		.tcp.secret = {{(uint8_t)seed, (uint8_t)(seed >> 8), 's', 'i', 'm'}},
	};
}

struct sim_stack *
sim_stack_create(const struct stack_config *cfg, uint32_t frames, uint32_t caps)
{
	return sim_stack_create_as(cfg, frames, caps, sim_mac);
}

struct sim_stack *
sim_stack_create_as(const struct stack_config *cfg, uint32_t frames, uint32_t caps,
		    const uint8_t mac[6])
{
	struct sim_stack *ss = calloc(1, sizeof *ss);

	ensure(ss != NULL);
	ss->now_ns = SIM_START;
	ss->port = mem_port_create(mac, frames, caps);
	ss->region = zeroed_region(stack_bytes(cfg) + neigh_table_bytes() + 2 * CACHE_LINE_BYTES);
	ss->neigh = neigh_table_create(&ss->region);
	ss->stack = stack_create(&ss->region, cfg, &ss->port->port, ss->neigh);
	return ss;
}

void
sim_stack_destroy(struct sim_stack *ss)
{
	mem_port_destroy(ss->port);
	zeroed_free(ss->region.base, ss->region.size);
	free(ss);
}

void
sim_stack_turn(struct sim_stack *ss)
{
	struct stack *s = ss->stack;
	struct port *port = &ss->port->port;
	const uint32_t room = stack_rx_budget(s);

	ss->in.rx.count = 0;
	if (room != 0)
		port->ops->rx(port, &ss->in.rx, room < BURST_MAX ? room : BURST_MAX);
	stack_classify(s, &ss->in);
	stack_match(s, &ss->in);
	stack_input(s, &ss->in, ss->now_ns);
	if (ss->serve != NULL)
		ss->serve(ss->arg);
	stack_release(s);
	stack_tick(s, ss->now_ns);
	stack_output(s, ss->now_ns);
	stack_tx(s);
}

void
sim_stack_run(struct sim_stack *ss, uint64_t until_ns)
{
	uint32_t busy = 0;

	while (ss->now_ns < until_ns) {
		const uint64_t next = stack_next_timer(ss->stack);

		if (next > ss->now_ns) {
			ss->now_ns = next < until_ns ? next : until_ns;
			busy = 0;
		} else {
			/* The stack has more work now, or a full port that is not emptied. */
			ss->now_ns += busy++ < BUSY_TURNS ? BUSY_NS : until_ns - ss->now_ns;
		}
		sim_stack_turn(ss);
	}
}

uint64_t
sim_stack_count(const struct sim_stack *ss, uint32_t which)
{
	return counter_read(&stack_counters(ss->stack)[which]);
}

void
sim_receive(struct stack *s, struct conn *c, void *to, uint32_t *len, uint32_t room)
{
	for (struct view v = conn_peek(c); v.len > 0; v = conn_peek(c)) {
		ensure(*len + v.len <= room);
		memcpy((uint8_t *)to + *len, v.data, v.len);
		*len += v.len;
		conn_advance(s, c, v.len);
	}
}
