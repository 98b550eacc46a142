/*
 * A core that was descheduled. Goal: when it runs again, and timers are due whose ACKs wait in the
 * port's ring behind more than one burst, it reads them first; but it does not do so for ever if
 * the ring never becomes empty. Method: one step of the clock with a full ring, a turn at a time.
 */
#include "sim_frame.h"
#include "sim_stack.h"
#include "tcp/tcp_conn.h"

#include "support/test.h"

#include <string.h>

#define PEER_IP  (SIM_PEERS + 9)
#define PEER_ISS 1000u
#define TEXT     2920u
#define WINDOW   10u /* segments: the initial window */
/* Connections with a WINDOW each: they nearly fill the transmit queue. */
#define CONNS  15u
#define FRAMES 4096u
#define SECOND (1000 * NS_PER_MS)

struct away {
	struct sim_stack *ss;
	struct conn *conn[CONNS];
	uint32_t count;
	uint32_t iss[CONNS];
};

static void
on_opened(void *arg, struct conn *c)
{
	struct away *a = arg;

	a->conn[a->count] = c;
}

static void
on_gone(void *arg, struct conn *c)
{
}

static void
feed(struct away *a, uint32_t i, uint8_t flags, uint32_t ack)
{
	struct sim_segment seg = {
		.src_ip = PEER_IP,
		.dst_ip = SIM_IP,
		.tcp = {.src_port = (uint16_t)(5000 + i),
			.dst_port = SIM_PORT,
			.seq = PEER_ISS + !(flags & TCP_SYN),
			.ack = ack,
			.window = 60000,
			.flags = flags},
	};

	if (flags & TCP_SYN)
		seg.tcp.opt = (struct tcp_options){.seen = TCP_HAS_MSS | TCP_HAS_SACK_PERMITTED,
						   .mss = 1460};
	check(sim_feed_segment(a->ss->port, sim_mac, sim_peer_mac, &seg));
}

/* Feeds frames for another station. */
static void
feed_strays(struct away *a, uint32_t count)
{
	const struct sim_segment seg = {
		.src_ip = PEER_IP,
		.dst_ip = SIM_IP + 1,
		.tcp = {.src_port = 1, .dst_port = SIM_PORT, .flags = TCP_ACK},
	};

	for (uint32_t i = 0; i < count; i++)
		check(sim_feed_segment(a->ss->port, sim_mac, sim_peer_mac, &seg));
}

static void
throw_sent(struct away *a)
{
	uint32_t len;

	while (mem_port_sent(a->ss->port, &len) != NULL)
		mem_port_done(a->ss->port);
}

static uint32_t
sent_iss(struct away *a)
{
	struct sim_segment seg;
	const uint8_t *frame;
	uint32_t len;

	while ((frame = mem_port_sent(a->ss->port, &len)) != NULL) {
		const bool tcp = sim_read_segment(&seg, frame, len);

		mem_port_done(a->ss->port);
		if (tcp && seg.tcp.flags & TCP_SYN)
			return seg.tcp.seq;
	}
	check(false);
	return 0;
}

static void
open_one(struct away *a)
{
	const uint32_t i = a->count;

	feed(a, i, TCP_SYN, 0);
	sim_stack_turn(a->ss);
	a->iss[i] = sent_iss(a);
	a->ss->now_ns += 100000; /* the connection's round trip */
	feed(a, i, TCP_ACK, a->iss[i] + 1);
	sim_stack_turn(a->ss);
	check(a->conn[i] != NULL);
	a->count++;
}

static struct away *
pause_begin(uint32_t conns)
{
	static struct away a;
	const struct stack_user user = {.arg = &a, .opened = on_opened, .gone = on_gone};
	const struct stack_config cfg = sim_config(1);

	a = (struct away){.ss = sim_stack_create(&cfg, FRAMES, 0)};
	a.ss->now_ns = SIM_START;
	stack_attach(a.ss->stack, &user);
	while (a.count < conns)
		open_one(&a);
	return &a;
}

static void
pause_end(struct away *a)
{
	throw_sent(a);
	sim_stack_destroy(a->ss);
}

static void
write_text(struct away *a, uint32_t i, uint32_t len)
{
	for (uint32_t done = 0; done < len; done += 1460) {
		memset(conn_reserve(a->ss->stack, a->conn[i], 1460), 'x', 1460);
		conn_commit(a->ss->stack, a->conn[i], 1460);
	}
}

static uint64_t
repeats(const struct away *a)
{
	return sim_stack_count(a->ss, TCP_LOSS_PROBES) + sim_stack_count(a->ss, TCP_RETRANSMITS) +
	       sim_stack_count(a->ss, TCP_TIMEOUTS_RETRANSMIT);
}

/* Runs turns until all frames are read. */
static void
read_ring(struct away *a)
{
	for (uint32_t i = 0; i < MEM_RING / BURST_MAX; i++) {
		a->ss->now_ns += 20000;
		sim_stack_turn(a->ss);
	}
}

static const struct pause {
	const char *what;
	uint64_t pause_ns;
	uint32_t before; /* frames before the ACK */
	bool acked;
	bool again; /* something is retransmitted */
} pauses[] = {
	{"shorter than any timer", 1 * NS_PER_MS, 3 * BURST_MAX, true, false},
	{"a loss probe is due", 20 * NS_PER_MS, 3 * BURST_MAX, true, false},
	{"a loss probe is due, the ring full", 20 * NS_PER_MS, MEM_RING - 1, true, false},
	{"a timeout is due", 400 * NS_PER_MS, 3 * BURST_MAX, true, false},
	{"the burst that is not full has the ACK", 20 * NS_PER_MS, 10, true, false},
	{"no ACK is there", 20 * NS_PER_MS, 3 * BURST_MAX, false, true},
};

TEST(acks_that_wait_in_the_ring_are_read_before_timers_fire)
{
	for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
		const struct pause *p = &pauses[i];
		struct away *a = pause_begin(1);

		write_text(a, 0, TEXT);
		sim_stack_turn(a->ss);
		throw_sent(a);
		feed_strays(a, p->before);
		if (p->acked)
			feed(a, 0, TCP_ACK, a->iss[0] + 1 + TEXT);
		a->ss->now_ns += p->pause_ns;
		read_ring(a);
		if ((repeats(a) > 0) != p->again)
			fail_msg("%s", p->what);
		pause_end(a);
	}
}

/* A port that sends nothing narrows the next receive burst, so fewer than BURST_MAX frames make it
 * full. */
TEST(a_burst_that_was_narrowed_is_full_as_well)
{
	struct away *a = pause_begin(CONNS);
	uint32_t room;

	throw_sent(a);
	a->ss->port->tx_limit = 0;
	for (uint32_t i = 0; i < CONNS; i++)
		write_text(a, i, WINDOW * 1460);
	sim_stack_turn(a->ss);
	room = stack_rx_budget(a->ss->stack);
	check(room > 0 && room < BURST_MAX);
	feed_strays(a, 2 * BURST_MAX);
	for (uint32_t i = 0; i < CONNS; i++)
		feed(a, i, TCP_ACK, a->iss[i] + 1 + WINDOW * 1460);
	a->ss->now_ns += 20 * NS_PER_MS;
	read_ring(a);
	check_eq(repeats(a), 0);
	a->ss->port->tx_limit = MEM_RING;
	pause_end(a);
}

/* Frames arrive as fast as they are read, and none is the ACK. */
TEST(timers_fire_although_the_ring_never_gets_empty)
{
	struct away *a = pause_begin(1);

	write_text(a, 0, TEXT);
	sim_stack_turn(a->ss);
	throw_sent(a);
	a->ss->now_ns += 20 * NS_PER_MS;
	for (uint32_t turn = 0; turn < 64; turn++) {
		feed_strays(a, BURST_MAX);
		a->ss->now_ns += 1000;
		sim_stack_turn(a->ss);
		check_eq(sim_stack_count(a->ss, TCP_LOSS_PROBES), 0);
	}
	feed_strays(a, BURST_MAX);
	sim_stack_turn(a->ss);
	check_eq(sim_stack_count(a->ss, TCP_LOSS_PROBES), 1);
	/* Later timers fire, too: the next is the retransmission timer. */
	a->ss->now_ns += SECOND;
	feed_strays(a, BURST_MAX);
	sim_stack_turn(a->ss);
	check_eq(sim_stack_count(a->ss, TCP_TIMEOUTS_RETRANSMIT), 1);
	pause_end(a);
}
