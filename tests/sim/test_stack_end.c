/*
 * A stack that accepts no connections, and ends. Goal: it resets SYNs and segments of connections
 * that it does not know. At its end every frame returns to the port, sent or not. Method: one stack
 * on a port in memory, sized as app/clockoo/start/early_answers.c does.
 */
#include "sim_frame.h"
#include "sim_stack.h"

#include "support/test.h"

#define FRAMES 1024u

static struct sim_stack *
small_stack(void)
{
	struct stack_config cfg = sim_config(1);
	struct sim_stack *ss;

	cfg.net.udp_port = 0;
	cfg.net.rx_frames_max = BURST_MAX;
	cfg.tcp.conns_max = 2;
	cfg.tcp.chunks = 64;
	ss = sim_stack_create(&cfg, FRAMES, 0);
	stack_refuse(ss->stack, REFUSE_RESET);
	return ss;
}

static void
feed(struct sim_stack *ss, uint16_t from, uint16_t to, uint8_t flags)
{
	const struct sim_segment seg = {
		.src_ip = SIM_PEERS,
		.dst_ip = SIM_IP,
		.tcp = {.src_port = from, .dst_port = to, .seq = 7, .ack = 70, .flags = flags},
	};

	check(sim_feed_segment(ss->port, sim_mac, sim_peer_mac, &seg));
}

/* Checks that the oldest sent frame is a reset to this port. */
static void
check_reset(struct sim_stack *ss, uint16_t to)
{
	uint32_t len;
	const uint8_t *frame = mem_port_sent(ss->port, &len);
	struct sim_segment seg;

	check_ptr(frame);
	check(sim_read_segment(&seg, frame, len));
	check(seg.tcp.flags & TCP_RST);
	check_eq(seg.tcp.dst_port, to);
	mem_port_done(ss->port);
}

/* Takes the announcements that a stack begins with off the wire. */
static void
drop_sent(struct sim_stack *ss)
{
	uint32_t len;

	while (mem_port_sent(ss->port, &len) != NULL)
		mem_port_done(ss->port);
}

TEST(a_stack_that_refuses_resets_syns_and_segments_of_before)
{
	struct sim_stack *ss = small_stack();

	sim_stack_turn(ss);
	drop_sent(ss);
	feed(ss, 5000, SIM_PORT, TCP_SYN);
	feed(ss, 5001, SIM_PORT, TCP_ACK);
	sim_stack_turn(ss);
	check_reset(ss, 5000);
	check_reset(ss, 5001);
	stack_end(ss->stack);
	check_eq(mem_port_held(ss->port), 0);
	sim_stack_destroy(ss);
}

TEST(a_stack_gives_back_frames_that_the_port_did_not_send)
{
	struct sim_stack *ss = small_stack();

	ss->port->tx_limit = 0;
	for (uint16_t i = 0; i < 2 * BURST_MAX; i++) {
		feed(ss, (uint16_t)(5000 + i), SIM_PORT, TCP_SYN);
		sim_stack_turn(ss);
	}
	check(stack_has_work(ss->stack));
	check(mem_port_held(ss->port) > FRAME_CACHE_MAX / 2);
	stack_end(ss->stack);
	check_eq(mem_port_held(ss->port), 0);
	check(!stack_has_work(ss->stack));
	sim_stack_destroy(ss);
}
