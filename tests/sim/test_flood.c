/*
 * A flood of SYNs from sources that do not exist. Goal: it gets no more answers than the ration
 * allows, a peer that repeats its SYN after a second is served, and without a flood nobody waits.
 * Method: 300 SYNs a millisecond into one stack in memory, on a virtual clock; one of them is
 * meant.
 */
#include "sim_frame.h"
#include "sim_rng.h"
#include "sim_stack.h"

#include "support/test.h"

#define FRAMES      2048u
#define STEP_NS     100000ull
#define A_STEP      30u
#define FLOOD_STEPS 15000u /* 1.5 s */
#define KNOCK_STEP  2000u
#define AGAIN_STEPS 10000u /* a second: RFC 6298 section 2.1 */
#define PEER_IP     0x0a000063u
#define PEER_PORT   40000u
#define PEER_ISS    77u
/* Beside the ration of each 10 ms: half-open connections, answered anew when they time out. */
#define ANSWERS_MAX (FLOOD_STEPS / 100 * 200 + 2000)

struct flood {
	struct sim_stack *ss;
	struct sim_rng rng;
	uint32_t answers, to_peer;
	struct tcp_seg syn_ack; /* the last to the peer */
};

static void
feed(struct flood *f, uint32_t ip, const struct tcp_seg *tcp)
{
	const struct sim_segment seg = {.src_ip = ip, .dst_ip = SIM_IP, .tcp = *tcp};

	check(sim_feed_segment(f->ss->port, sim_mac, sim_peer_mac, &seg));
}

static void
feed_syn(struct flood *f, uint32_t ip, uint16_t port, uint32_t iss)
{
	const struct tcp_seg syn = {
		.src_port = port,
		.dst_port = SIM_PORT,
		.seq = iss,
		.window = 1024,
		.flags = TCP_SYN,
		.opt = {.seen = TCP_HAS_MSS, .mss = 1460},
	};

	feed(f, ip, &syn);
}

static void
count_answers(struct flood *f)
{
	const uint8_t *frame;
	uint32_t len;

	while ((frame = mem_port_sent(f->ss->port, &len)) != NULL) {
		struct sim_segment seg;

		if (sim_parse_segment(&seg, frame, len) && seg.tcp.flags == (TCP_SYN | TCP_ACK)) {
			f->answers++;
			if (seg.dst_ip == PEER_IP) {
				f->to_peer++;
				f->syn_ack = seg.tcp;
			}
		}
		mem_port_done(f->ss->port);
	}
}

static void
flood_step(struct flood *f)
{
	for (uint32_t i = 0; i < A_STEP; i++)
		feed_syn(f, 0x0b000000u + sim_below(&f->rng, 1u << 24),
			 (uint16_t)(1024 + sim_below(&f->rng, 60000)),
			 (uint32_t)sim_random(&f->rng));
	sim_stack_turn(f->ss);
	count_answers(f);
	f->ss->now_ns += STEP_NS;
}

static void
on_conn(void *arg, struct conn *c)
{
}

static struct flood
flood_create(uint32_t syn_lines)
{
	static const struct stack_user user = {.opened = on_conn, .gone = on_conn};
	struct stack_config cfg = sim_config(3);
	struct flood f = {.rng = {5}};

	cfg.syn_lines = syn_lines;
	f.ss = sim_stack_create(&cfg, FRAMES, 0);
	stack_attach(f.ss->stack, &user);
	return f;
}

static void
a_flood_is_not_answered_and_who_means_it_is_served_at_the_second_syn(void **state)
{
	struct flood f = flood_create(32768);
	struct tcp_seg ack = {.src_port = PEER_PORT, .dst_port = SIM_PORT, .window = 1024};

	for (uint32_t i = 0; i < FLOOD_STEPS; i++) {
		if (i == KNOCK_STEP || i == KNOCK_STEP + AGAIN_STEPS) {
			/* Behind the flood of its 10 ms: the ration is gone. */
			feed_syn(&f, PEER_IP, PEER_PORT, PEER_ISS);
			check_eq(f.to_peer, 0);
		}
		flood_step(&f);
	}
	check(f.answers <= ANSWERS_MAX);
	check(f.answers > FLOOD_STEPS / 100 * 200);
	check(sim_stack_count(f.ss, TCP_SYNS_PUT_OFF) > A_STEP * FLOOD_STEPS * 9 / 10);
	check_eq(f.to_peer, 1);
	ack.flags = TCP_ACK;
	ack.seq = PEER_ISS + 1;
	ack.ack = f.syn_ack.seq + 1;
	feed(&f, PEER_IP, &ack);
	sim_stack_turn(f.ss);
	check_eq(sim_stack_count(f.ss, TCP_COOKIES_OPENED), 1);
	sim_stack_destroy(f.ss);
}

/* 10,000 a second, none of which completes. */
static void
what_the_ration_holds_is_answered_at_once(void **state)
{
	struct flood f = flood_create(1024);

	for (uint32_t i = 0; i < 2000; i++) {
		feed_syn(&f, 0x0b000000u + i, 5000, i);
		sim_stack_turn(f.ss);
		count_answers(&f);
		f.ss->now_ns += STEP_NS;
	}
	check_eq(sim_stack_count(f.ss, TCP_SYNS_PUT_OFF), 0);
	check(sim_stack_count(f.ss, TCP_COOKIES_SENT) > 1900);
	sim_stack_destroy(f.ss);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_flood_is_not_answered_and_who_means_it_is_served_at_the_second_syn),
		cmocka_unit_test(what_the_ration_holds_is_answered_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
