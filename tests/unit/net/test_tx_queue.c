/*
 * The transmit queue. Goal: frames leave in order and once, however many the port refuses; queued
 * frames reduce the receive budget, down to nothing and back; a port without empty frames stops
 * fresh packets, not answers in place. Method: a port that takes a given number a call.
 */
#include "support/test.h"
#include "net_frames.h"
#include "net_rig.h"

#define SENT_PER_TURN 70u

/* PEER_IP */
static const struct udp_peer peer = {
	.mac = {2, 0, 0, 0, 0, 2}, .port = PEER_PORT, .ip = {{[10] = 0xff, 0xff, 10, 99, 0, 2}}};

static struct rig *
rig_here(void)
{
	const struct rig_options options = {.udp_port = UDP_PORT};
	struct rig *r = rig_new(&options);

	rig_turn(r, NULL);
	return r;
}

/* Sends datagrams numbered from first on. Returns how many there was room for. */
static uint32_t
send_numbered(struct rig *r, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t room;
		uint8_t *p = udp_begin(r->stack, &peer, &room);

		if (p == NULL)
			return i;
		put32(p, first + i);
		udp_commit(r->stack, 4);
	}
	return count;
}

TEST(frames_leave_in_order_and_once_whatever_the_port_refuses)
{
	const uint32_t limits[] = {1, 3, 63, 64, 0, 10, UINT32_MAX};
	struct rig *r = rig_here();
	uint32_t put = 0;

	for (uint32_t turn = 0; turn < 60; turn++) {
		r->np->tx_limit = limits[turn % 7];
		put += send_numbered(r, put, put < 300 ? SENT_PER_TURN : 0);
		rig_turn(r, NULL);
	}
	check(put >= 300);
	check_eq(r->np->sent_count, put);
	for (uint32_t i = 0; i < put; i++)
		check_eq(get32(r->np->sent[i].bytes + AT_UDP_PAYLOAD), i);
	check_eq(rig_count(r, TX_FRAMES), put);
	check_eq(rig_count(r, TX_BYTES), put * 46);
	check(rig_count(r, TX_REFUSED) > 0);
	rig_free(r);
}

/* A core must not sleep while frames are queued. */
TEST(frames_that_the_port_refused_are_work)
{
	struct rig *r = rig_here();

	check(!stack_has_work(r->stack));
	r->np->tx_limit = 0;
	check_eq(send_numbered(r, 0, 3), 3);
	rig_turn(r, NULL);
	check(stack_has_work(r->stack));
	r->np->tx_limit = UINT32_MAX;
	rig_turn(r, NULL);
	check(!stack_has_work(r->stack));
	rig_free(r);
}

TEST(what_waits_narrows_what_is_taken_in)
{
	struct rig *r = rig_here();
	uint32_t last = BURST_MAX;

	check_eq(stack_rx_budget(r->stack), BURST_MAX);
	r->np->tx_limit = 0;
	for (uint32_t turn = 0; turn < TX_QUEUE_MAX; turn++) {
		uint8_t p[NET_FRAME_BYTES];
		const uint32_t len = frame_echo(p, "x", 1, 0);

		check(net_port_put(r->np, p, len, 0));
		check(stack_rx_budget(r->stack) <= last);
		last = stack_rx_budget(r->stack);
		if (last == 0)
			break;
		rig_turn(r, NULL);
		check_eq(r->np->queue_count, 0);
	}
	/* Only the reserve is left; the next frame stays in the port's queue. */
	check_eq(last, 0);
	check_eq(rig_count(r, ICMP_ECHO_REPLIES), TX_QUEUE_MAX - 64);
	rig_turn(r, NULL);
	check_eq(r->np->queue_count, 1);

	r->np->tx_limit = UINT32_MAX;
	rig_turn(r, NULL);
	check_eq(r->np->sent_count, TX_QUEUE_MAX - 64);
	check_eq(stack_rx_budget(r->stack), BURST_MAX);
	rig_turn(r, NULL);
	check_eq(r->np->sent_count, TX_QUEUE_MAX - 64 + 1);
	rig_free(r);
}

TEST(a_port_without_empty_frames_stops_fresh_packets_not_answers)
{
	struct rig *r = rig_here();
	uint8_t p[NET_FRAME_BYTES];
	uint32_t sent = 0;

	r->np->alloc_limit = 0;
	for (uint32_t turn = 0; turn < 10; turn++) {
		sent += send_numbered(r, 0, TX_QUEUE_MAX);
		rig_turn(r, NULL);
	}
	/* The frame cache is used up to its reserve, which is for segments and ARP. */
	check_eq(sent, TX_QUEUE_MAX - 64);
	check_eq(send_numbered(r, 0, 1), 0);
	check(net_port_put(r->np, p, frame_echo(p, "x", 1, 0), 0));
	rig_turn(r, NULL);
	check_eq(rig_count(r, ICMP_ECHO_REPLIES), 1);
	check_eq(r->np->sent_count, sent + 1);

	r->np->alloc_limit = UINT32_MAX;
	rig_turn(r, NULL);
	check_eq(send_numbered(r, 0, 1), 1);
	rig_free(r);
}

TEST(a_stack_never_owns_more_frames_than_it_says)
{
	struct rig *r = rig_here();
	uint8_t p[NET_FRAME_BYTES];
	const uint32_t len = frame_echo(p, "x", 1, 0);

	r->np->tx_limit = 0;
	for (uint32_t turn = 0; turn < 20; turn++) {
		send_numbered(r, 0, TX_QUEUE_MAX);
		for (uint32_t i = 0; i < BURST_MAX; i++)
			net_port_put(r->np, p, len, 0);
		rig_turn(r, NULL);
		check(net_port_lent(r->np) <= STACK_FRAMES_MAX);
	}
	rig_free(r);
}
