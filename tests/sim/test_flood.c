/*
 * A flood of SYNs from sources that do not exist. Goal: at any rate new clients are served, and the
 * 99th percentile of the old clients' answers is at most 1.5 times that without the flood. A core
 * that falls behind sends the flood no more answers than the rate limit allows, and serves a peer
 * that repeats its SYN after a second. Method: a whole core with its clients on a virtual clock
 * that advances by the cost of each turn (sim_flood.h), behind a NIC, and behind a port on which
 * sending is expensive; and SYNs into one stack, a full burst a turn, one of them of a real peer.
 */
#include "sim_flood.h"
#include "sim_frame.h"
#include "sim_rng.h"
#include "sim_stack.h"

#include "support/test.h"

#define FRAMES      2048u
#define MS          1000000ull
#define STEP_NS     (MS / 10)
#define A_STEP      30u
#define FLOOD_STEPS 15000u /* 1.5 s */
#define FIRST_STEP  2000u
#define AGAIN_STEPS 10000u /* a second: RFC 6298 section 2.1 */
#define PEER_IP     0x0a000063u
#define PEER_PORT   40000u
#define PEER_ISS    77u
/* Half-open connections are answered again when they time out, in addition to the rate limit of
 * each 10 ms. */
#define ANSWERS_MAX   (FLOOD_STEPS / 100 * 200 + 2000)
#define ANSWERS_LEAST (FLOOD_STEPS / 100 * 180)

struct flood {
	struct sim_stack *ss;
	struct sim_rng rng;
	uint32_t answers, to_peer;
	struct tcp_seg syn_ack; /* the last one sent to the peer */
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
flood_feed(struct flood *f)
{
	for (uint32_t i = 0; i < A_STEP; i++)
		feed_syn(f, 0x0b000000u + sim_below(&f->rng, 1u << 24),
			 (uint16_t)(1024 + sim_below(&f->rng, 60000)),
			 (uint32_t)sim_random(&f->rng));
}

static void
flood_turn(struct flood *f)
{
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

	cfg.tcp.syn_lines = syn_lines;
	f.ss = sim_stack_create(&cfg, FRAMES, 0);
	stack_attach(f.ss->stack, &user);
	return f;
}

TEST(a_flood_is_not_answered_and_a_real_peer_is_served_at_its_second_syn)
{
	struct flood f = flood_create(32768);
	struct tcp_seg ack = {.src_port = PEER_PORT, .dst_port = SIM_PORT, .window = 1024};

	for (uint32_t i = 0; i < FLOOD_STEPS; i++) {
		flood_feed(&f);
		if (i == FIRST_STEP || i == FIRST_STEP + AGAIN_STEPS) {
			/* The SYN is behind the flood of its turn, which has used up the rate
			 * limit. */
			feed_syn(&f, PEER_IP, PEER_PORT, PEER_ISS);
			check_eq(f.to_peer, 0);
		}
		flood_turn(&f);
	}
	check(f.answers <= ANSWERS_MAX);
	check(f.answers >= ANSWERS_LEAST);
	check(sim_stack_count(f.ss, TCP_SYNS_DEFERRED) > A_STEP * FLOOD_STEPS * 9 / 10);
	check_eq(f.to_peer, 1);
	ack.flags = TCP_ACK;
	ack.seq = PEER_ISS + 1;
	ack.ack = f.syn_ack.seq + 1;
	feed(&f, PEER_IP, &ack);
	sim_stack_turn(f.ss);
	check_eq(sim_stack_count(f.ss, TCP_COOKIES_OPENED), 1);
	sim_stack_destroy(f.ss);
}

/* 10,000 SYNs a second, none of which completes a handshake. */
TEST(syns_within_the_budget_are_answered_at_once)
{
	struct flood f = flood_create(1024);

	for (uint32_t i = 0; i < 2000; i++) {
		feed_syn(&f, 0x0b000000u + i, 5000, i);
		sim_stack_turn(f.ss);
		count_answers(&f);
		f.ss->now_ns += STEP_NS;
	}
	check_eq(sim_stack_count(f.ss, TCP_SYNS_DEFERRED), 0);
	check(sim_stack_count(f.ss, TCP_COOKIES_SENT) > 1900);
	sim_stack_destroy(f.ss);
}

#define TURNS   2u /* more turns than a burst may wait */
#define SYNS_MS rounds(20000ull, 5000ull)

/* Feeds SYNs for SYNS_MS to one stack whose turns take turn_ns. */
static void
check_none_deferred(uint64_t turn_ns, uint32_t rate)
{
	struct flood f = flood_create(1024);
	uint64_t fed = 0;

	for (uint64_t ns = 0; ns < SYNS_MS * MS; ns += turn_ns) {
		for (; fed < ns * rate / (1000 * MS); fed++)
			feed_syn(&f, 0x0b000000u + (uint32_t)fed, 5000, (uint32_t)fed);
		for (uint32_t i = 0; i < TURNS; i++) {
			sim_stack_turn(f.ss);
			count_answers(&f);
			f.ss->now_ns += i == 0 ? 1000 : turn_ns - 1000;
		}
	}
	check_eq(sim_stack_count(f.ss, TCP_SYNS_DEFERRED), 0);
	sim_stack_destroy(f.ss);
}

/* A core whose turns are long, or that sleeps, or shares its CPU, gets many SYNs together. */
TEST(syns_within_the_rate_limit_are_answered_however_long_a_turn_takes)
{
	static const uint64_t turn_us[] = {60, 350, 999, 1000, 1300, 1900, 2000, 2500, 10000};

	for (uint32_t i = 0; i < sizeof turn_us / sizeof *turn_us; i++)
		for (uint32_t rate = 500; rate <= 10000; rate *= 20)
			check_none_deferred(turn_us[i] * 1000, rate);
}

/* An af_packet port: each frame costs a system call and the receiver's kernel. */
#define SLOW_SENT_NS 1500u
#define NEWS         100u

static struct sim_flood_result
crowd(uint32_t syns_s, uint32_t olds, uint64_t sent_ns)
{
	const struct sim_flood_plan plan = {
		.syns_s = syns_s,
		.olds = olds,
		.news = NEWS,
		.news_ns = 100 * MS,
		.least_ns = 220 * MS,
		.sent_ns = sent_ns,
		.seed = 11,
	};
	const struct sim_flood_result r = sim_flood_run(&plan);

	print_message("%u SYNs/s: %u of %u new clients, half in %.1f ms; old ones p99 %.1f us; %u "
		      "cookies, %u put off, %u lost\n",
		      syns_s, r.news_served, NEWS, (double)r.new_median_ns / 1e6,
		      (double)r.old_p99_ns / 1e3, (uint32_t)r.cookies, (uint32_t)r.deferred,
		      (uint32_t)r.lost);
	return r;
}

TEST(new_clients_are_served_and_old_ones_wait_no_longer_than_half_as_much_again)
{
	static const struct {
		uint32_t syns_s;
		uint64_t sent_ns;
	} rows[] = {
		{300000, FLOOD_SENT_NS},  {500000, FLOOD_SENT_NS}, {1000000, FLOOD_SENT_NS},
		{2000000, FLOOD_SENT_NS}, {100000, SLOW_SENT_NS},  {300000, SLOW_SENT_NS},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct sim_flood_result quiet = crowd(0, 16, rows[i].sent_ns);
		const struct sim_flood_result flood = crowd(rows[i].syns_s, 16, rows[i].sent_ns);

		check(flood.news_served * 100 >= NEWS * 99);
		check(flood.old_p99_ns * 2 <= quiet.old_p99_ns * 3);
	}
}

/* The old clients alone keep the core busy. It defers as many SYNs as it can remember, and no
 * more. */
TEST(a_core_with_no_time_left_serves_new_clients_at_their_second_syn)
{
	const struct sim_flood_result flood = crowd(1000000, 160, FLOOD_SENT_NS);

	check(flood.deferred > 0);
	check(flood.cookies > flood.deferred);
	check(flood.news_served * 100 >= NEWS * 99);
}
