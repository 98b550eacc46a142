/*
 * A router's report that arrives at another core than the connection's. Goal: the connection learns
 * of it, once; a report without a connection changes nothing, and a flood of them costs the other
 * cores no more than the rate limit. Method: two stacks with one address, like two cores of one
 * NIC, that share their reports; the handshake goes to one and the report to the other.
 */
#include "sim_frame.h"
#include "sim_stack.h"
#include "net/pmtu_reports.h"

#include "support/test.h"

#include <stdlib.h>

#define FRAMES       512u
#define PEER_IP      0x0a000063u
#define PEER_PORT    40000u
#define PEER_ISS     77u
#define TEXT_BYTES   CONN_RESERVE_MAX
#define TOLD_MTU     1000u
#define REPORTS      100u
#define ANSWERS_LEFT 32u

struct cores {
	struct region shared;
	struct sim_stack *mine, *other;
	struct conn *conn;
	uint8_t frame[MEM_FRAME_BYTES]; /* the last data frame sent */
	uint32_t frame_len;
};

static void
on_opened(void *arg, struct conn *c)
{
	struct cores *w = arg;

	w->conn = c;
}

static void
on_gone(void *arg, struct conn *c)
{
}

/* Runs a turn and keeps its longest sent frame in w->frame; returns the SYN-ACK's number, if
 * any. */
static uint32_t
turn(struct cores *w, struct sim_stack *ss)
{
	const uint8_t *frame;
	uint32_t len, iss = 0;

	ss->now_ns += 1000000;
	sim_stack_turn(ss);
	w->frame_len = 0;
	while ((frame = mem_port_sent(ss->port, &len)) != NULL) {
		struct sim_segment seg;

		if (sim_parse_segment(&seg, frame, len)) {
			iss = seg.tcp.flags & TCP_SYN ? seg.tcp.seq : iss;
			if (len > w->frame_len)
				memcpy(w->frame, frame, w->frame_len = len);
		}
		mem_port_done(ss->port);
	}
	return iss;
}

static void
feed(struct cores *w, uint8_t flags, uint32_t seq, uint32_t ack)
{
	const struct sim_segment seg = {
		.src_ip = PEER_IP,
		.dst_ip = SIM_IP,
		.tcp = {.src_port = PEER_PORT,
			.dst_port = SIM_PORT,
			.seq = seq,
			.ack = ack,
			.window = 60000,
			.flags = flags,
			.opt = {.seen = flags & TCP_SYN ? TCP_HAS_MSS : 0, .mss = 1460}},
	};

	check(sim_feed_segment(w->mine->port, sim_mac, sim_peer_mac, &seg));
}

static struct cores
cores_create(void)
{
	struct cores w = {.shared = {.size = pmtu_reports_bytes()}};
	struct stack_config cfg = sim_config(3);

	w.shared.base = malloc(w.shared.size);
	cfg.tcp.pmtu_reports = pmtu_reports_create(&w.shared);
	w.mine = sim_stack_create(&cfg, FRAMES, 0);
	w.other = sim_stack_create(&cfg, FRAMES, 0);
	return w;
}

static void
cores_destroy(struct cores *w)
{
	sim_stack_destroy(w->mine);
	sim_stack_destroy(w->other);
	free(w->shared.base);
}

static void
open_and_write(struct cores *w)
{
	const struct stack_user user = {.arg = w, .opened = on_opened, .gone = on_gone};
	uint32_t iss;

	stack_attach(w->mine->stack, &user);
	feed(w, TCP_SYN, PEER_ISS, 0);
	iss = turn(w, w->mine);
	feed(w, TCP_ACK, PEER_ISS + 1, iss + 1);
	turn(w, w->mine);
	check(w->conn != NULL && conn_writable(w->mine->stack, w->conn, 1));
	memset(conn_reserve(w->mine->stack, w->conn, TEXT_BYTES), 'x', TEXT_BYTES);
	conn_commit(w->mine->stack, w->conn, TEXT_BYTES);
	turn(w, w->mine);
	check_eq(w->frame_len, 1514);
}

static void
report_to_other(struct cores *w)
{
	uint8_t report[MEM_FRAME_BYTES];
	const uint32_t len = sim_write_too_big(report, w->frame, w->frame_len, TOLD_MTU);

	memcpy(mem_port_feed(w->other->port, len, 0), report, len);
}

TEST(a_report_to_another_core_reaches_its_connection)
{
	struct cores w = cores_create();

	open_and_write(&w);
	report_to_other(&w);
	turn(&w, w.other);
	check_eq(sim_stack_count(w.other, ICMP_PMTU_SHARED), 1);
	turn(&w, w.mine);
	check_eq(sim_stack_count(w.mine, TCP_PMTU_LOWERED), 1);
	check_eq(w.frame_len, 14 + TOLD_MTU);
	turn(&w, w.mine);
	check_eq(sim_stack_count(w.mine, TCP_PMTU_LOWERED), 1);
	check_eq(sim_stack_count(w.mine, TCP_PMTU_IGNORED), 0);
	check_eq(sim_stack_count(w.other, TCP_PMTU_STRAY), 0);
	cores_destroy(&w);
}

TEST(a_report_without_a_connection_changes_nothing)
{
	struct cores w = cores_create();

	open_and_write(&w);
	/* Changes the peer's address in the quoted header, whose checksum is not verified. */
	w.frame[14 + 19] ^= 1;
	report_to_other(&w);
	turn(&w, w.other);
	check_eq(sim_stack_count(w.other, ICMP_PMTU_SHARED), 1);
	turn(&w, w.mine);
	check_eq(sim_stack_count(w.mine, TCP_PMTU_LOWERED), 0);
	check_eq(sim_stack_count(w.mine, TCP_PMTU_STRAY), 0);
	cores_destroy(&w);
}

TEST(many_reports_are_rate_limited)
{
	struct cores w = cores_create();
	uint8_t text[MEM_FRAME_BYTES];
	uint32_t len;

	open_and_write(&w);
	memcpy(text, w.frame, len = w.frame_len);
	for (uint32_t i = 0; i < REPORTS; i++) {
		memcpy(w.frame, text, w.frame_len = len);
		report_to_other(&w);
		w.other->now_ns += 1;
		sim_stack_turn(w.other);
	}
	check_eq(sim_stack_count(w.other, ICMP_PMTU_SHARED), ANSWERS_LEFT);
	check_eq(sim_stack_count(w.other, ICMP_STRAY), REPORTS - ANSWERS_LEFT);
	cores_destroy(&w);
}
