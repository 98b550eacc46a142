/*
 * The widths of receive windows. Goal: a peer that fills its window in a round trip gets a wider
 * one, and so uses its whole path. However much one peer or thousands hold, each other one has 128
 * KiB, room for its data, and a part of the wider windows. An advertised window never shrinks, and
 * in the end nothing is held. Method: a stack whose service reads at once, and peers that send as
 * much as they are advertised, in round trips of 10 ms; every advertised window is compared with
 * the one before.
 */
#include "sim_frame.h"
#include "sim_stack.h"
#include "tcp/tcp.h"

#include "support/test.h"

#include <stdlib.h>

#define RTT_NS    10000000ull
#define TURN_NS   10000u
#define BURST     60u
#define FULL      1460u
#define PEERS_MAX 1024u
#define OPEN_AT   100u /* handshakes at a time */
#define PORT_0    5000u
#define PEER_ISS  0xfff00000u
#define PEER_IP   (SIM_PEERS + 9)
#define FRAMES    4096u /* frames that connections may hold */

struct peer {
	uint32_t iss; /* the stack's initial sequence number */
	/* next: bytes sent by the peer; acked: acknowledged ones. Both count from PEER_ISS. */
	uint32_t next, acked;
	uint32_t edge; /* right edge of the advertised window */
	bool open;
};

struct world {
	struct sim_stack *ss;
	struct peer peer[PEERS_MAX];
	uint32_t gone;
	bool waits; /* the service reads nothing: received requests wait */
};

static uint8_t text[FULL];

static void
on_opened(void *arg, struct conn *c)
{
}

static void
on_gone(void *arg, struct conn *c)
{
	((struct world *)arg)->gone++;
}

/* Reads all input, as a cache does that copies values. */
static void
serve(void *arg)
{
	struct world *w = arg;
	struct conn *c;

	if (w->waits)
		return;
	while ((c = stack_pop_ready(w->ss->stack)) != NULL) {
		for (struct view v = conn_peek(c); v.len > 0; v = conn_peek(c))
			conn_advance(w->ss->stack, c, v.len);
		if (conn_eof(c))
			conn_close(w->ss->stack, c);
	}
}

static struct world *
world_create(void)
{
	struct world *w = calloc(1, sizeof *w);
	const struct stack_user user = {.arg = w, .opened = on_opened, .gone = on_gone};
	struct stack_config cfg = sim_config(1);

	check_ptr(w);
	cfg.tcp.conns_max = 2 * PEERS_MAX;
	cfg.net.rx_frames_max = FRAMES;
	w->ss = sim_stack_create(&cfg, 3 * FRAMES, 0);
	w->ss->serve = serve;
	w->ss->arg = w;
	stack_attach(w->ss->stack, &user);
	return w;
}

static const struct tcp *
tcp_of(const struct world *w)
{
	return stack_tcp(w->ss->stack);
}

static void
receive(struct world *w, const struct sim_segment *seg)
{
	struct peer *p = &w->peer[seg->tcp.dst_port - PORT_0];
	const bool syn = seg->tcp.flags & TCP_SYN;
	const uint32_t ack = seg->tcp.ack - PEER_ISS;
	const uint32_t edge = ack + ((uint32_t)seg->tcp.window
				     << (syn ? 0 : stack_tcp(w->ss->stack)->rcv_autotune.wscale));

	if (seg->tcp.flags & TCP_RST) {
		p->open = false;
		return;
	}
	if (syn) {
		check_eq(seg->tcp.opt.wscale, stack_tcp(w->ss->stack)->rcv_autotune.wscale);
		p->iss = seg->tcp.seq;
	} else {
		check((int32_t)(edge - p->edge) >= 0); /* RFC 9293 section 3.8.6 */
		check((int32_t)(ack - p->acked) >= 0);
	}
	p->edge = edge;
	p->acked = ack;
}

static void
turn(struct world *w)
{
	struct sim_segment seg;
	const uint8_t *frame;
	uint32_t len;

	w->ss->now_ns += TURN_NS;
	sim_stack_turn(w->ss);
	while ((frame = mem_port_sent(w->ss->port, &len)) != NULL) {
		if (sim_read_segment(&seg, frame, len))
			receive(w, &seg);
		mem_port_done(w->ss->port);
	}
}

static void
feed(struct world *w, uint32_t i, uint8_t flags, uint32_t at, uint32_t len)
{
	const struct peer *p = &w->peer[i];
	struct sim_segment seg = {
		.src_ip = PEER_IP,
		.dst_ip = SIM_IP,
		.tcp = {.src_port = (uint16_t)(PORT_0 + i),
			.dst_port = SIM_PORT,
			.seq = PEER_ISS + at,
			.ack = flags & TCP_ACK ? p->iss + 1 : 0,
			.window = 30000,
			.flags = flags,
			.payload = {text, len}},
	};

	if (flags & TCP_SYN)
		seg.tcp.opt = (struct tcp_options){
			.seen = TCP_HAS_MSS | TCP_HAS_SACK_PERMITTED | TCP_HAS_WSCALE, .mss = FULL};
	check(sim_feed_segment(w->ss->port, sim_mac, sim_peer_mac, &seg));
}

/* Advances the clock to the end of the round trip that began at began_ns. */
static void
round_ends(struct world *w, uint64_t began_ns)
{
	while (w->ss->now_ns < began_ns + RTT_NS) {
		w->ss->now_ns = w->ss->now_ns + 1000000 < began_ns + RTT_NS
					? w->ss->now_ns + 1000000
					: began_ns + RTT_NS;
		turn(w);
	}
}

static void
open_peers(struct world *w, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i += OPEN_AT) {
		const uint32_t end = i + OPEN_AT < first + count ? i + OPEN_AT : first + count;
		const uint64_t began_ns = w->ss->now_ns;

		for (uint32_t k = i; k < end; k++, turn(w))
			feed(w, k, TCP_SYN, 0, 0);
		round_ends(w, began_ns);
		for (uint32_t k = i; k < end; k++, turn(w)) {
			feed(w, k, TCP_ACK, 1, 0);
			w->peer[k].next = 1;
			w->peer[k].open = true;
		}
	}
}

/* Sends full segments from `next` on, as far as the window at the beginning and `most` permit. */
static void
send_window(struct world *w, uint32_t i, uint32_t most)
{
	struct peer *p = &w->peer[i];
	const uint32_t edge = p->edge, end = p->next + most;

	for (uint32_t n = 1; p->open && (int32_t)(edge - p->next) >= (int32_t)FULL &&
			     (int32_t)(end - p->next) >= (int32_t)FULL;
	     n++) {
		feed(w, i, TCP_ACK, p->next, FULL);
		p->next += FULL;
		if (n % BURST == 0)
			turn(w);
	}
	turn(w);
}

/* Runs round trips in which the peer sends all it may; returns the bytes that arrived in the
 * last. */
static uint32_t
upload(struct world *w, uint32_t i, uint32_t rounds)
{
	uint32_t before = w->peer[i].acked;

	for (uint32_t k = 0; k < rounds; k++) {
		const uint64_t began_ns = w->ss->now_ns;

		before = w->peer[i].acked;
		send_window(w, i, stack_tcp(w->ss->stack)->rcv_autotune.window_max);
		round_ends(w, began_ns);
	}
	return w->peer[i].acked - before;
}

/* Resets all peers: nothing may be left. */
static void
world_destroy(struct world *w)
{
	for (uint32_t i = 0; i < PEERS_MAX; i++)
		if (w->peer[i].open) {
			/* Either may be the stack's rcv_nxt: an ACK may be delayed, and a hole may
			 * be left. */
			feed(w, i, TCP_RST, w->peer[i].acked, 0);
			feed(w, i, TCP_RST, w->peer[i].next, 0);
			turn(w);
		}
	check_eq(tcp_of(w)->rcv_autotune.count, 0);
	check_eq(tcp_of(w)->rcv_autotune.bytes, 0);
	check_eq(tcp_of(w)->frames.left, FRAMES);
	sim_stack_destroy(w->ss);
	free(w);
}

static uint64_t
refused(const struct world *w)
{
	return sim_stack_count(w->ss, TCP_DROP_RX_FRAMES_MAX);
}

/* Leaves a hole of one segment, and sends data behind it to the end of the window. */
static void
leave_hole(struct world *w, uint32_t i)
{
	w->peer[i].next += FULL;
	send_window(w, i, stack_tcp(w->ss->stack)->rcv_autotune.window_max);
}

TEST(an_upload_fills_its_path_after_some_round_trips)
{
	struct world *w = world_create();
	uint32_t last;

	open_peers(w, 0, 1);
	last = upload(w, 0, 8);
	check(last > 1500000);
	check_eq(refused(w), 0);
	world_destroy(w);
}

TEST(a_peer_that_sends_less_than_its_window_gets_no_wider_one)
{
	struct world *w = world_create();

	open_peers(w, 0, 1);
	for (uint32_t k = 0; k < 100; k++) {
		const uint64_t began_ns = w->ss->now_ns;

		send_window(w, 0, RX_WINDOW_BYTES / 10);
		round_ends(w, began_ns);
	}
	check(w->peer[0].acked > 1000000 && w->peer[0].edge - w->peer[0].acked <= RX_WINDOW_BYTES);
	check_eq(tcp_of(w)->rcv_autotune.count, 0);
	world_destroy(w);
}

/* A waiting request leaves later data unread. A peer that fills one window in each round trip then
 * gets no wider one, or a few such peers would hold all frames. */
TEST(unread_data_does_not_widen_the_window)
{
	struct world *w = world_create();

	open_peers(w, 0, 1);
	w->waits = true;
	upload(w, 0, 8);
	check_eq(tcp_of(w)->rcv_autotune.count, 0);
	check(w->peer[0].edge <= RX_WINDOW_BYTES + FULL);
	w->waits = false;
	upload(w, 0, 12);
	check(tcp_of(w)->rcv_autotune.count == 1);
	world_destroy(w);
}

/* The requests of sixty peers wait, with all data that their windows permit: more than there are
 * frames. Another peer's burst finds room before it is read. */
TEST(waiting_requests_leave_room_for_a_burst)
{
	const uint32_t waiting = 60, victim = waiting;
	struct world *w = world_create();

	open_peers(w, 0, waiting + 1);
	w->waits = true;
	for (uint32_t n = 0; n < waiting * 60; n++) {
		send_window(w, n % waiting, FULL);
		turn(w);
	}
	check(refused(w) > 0);
	send_window(w, victim, 14 * FULL);
	check_eq(w->peer[victim].acked, w->peer[victim].next);
	w->waits = false;
	world_destroy(w);
}

/* The peers of the first group hold all that they may before the others arrive, which take the
 * rest. */
TEST(earlier_and_later_waiting_requests_leave_room_for_a_burst)
{
	const uint32_t waiting = 100, victim = waiting;
	struct world *w = world_create();

	open_peers(w, 0, waiting + 1);
	w->waits = true;
	for (uint32_t n = 0; n < waiting * 60; n++) {
		send_window(w, n / 60, FULL);
		turn(w);
	}
	check(refused(w) > 0);
	send_window(w, victim, 14 * FULL);
	check_eq(w->peer[victim].acked, w->peer[victim].next);
	w->waits = false;
	world_destroy(w);
}

TEST(a_peer_that_stops_filling_a_wide_window_loses_it)
{
	struct world *w = world_create();

	open_peers(w, 0, 1);
	upload(w, 0, 8);
	check(tcp_of(w)->rcv_autotune.bytes > RX_WINDOW_BYTES);
	for (uint32_t k = 0; k < 400; k++) {
		const uint64_t began_ns = w->ss->now_ns;

		send_window(w, 0, RX_WINDOW_BYTES / 10);
		round_ends(w, began_ns);
	}
	check_eq(tcp_of(w)->rcv_autotune.count, 0);
	check(w->peer[0].edge - w->peer[0].acked <= RX_WINDOW_BYTES);
	world_destroy(w);
}

/* Each hostile peer fills its window, then leaves a hole and data behind it. A peer that sends in
 * order meanwhile loses no data, and sends no less than the smallest window a round trip. */
TEST(a_thousand_wide_windows_with_holes_take_nothing_from_others)
{
	const uint32_t hostile = 1000, victim = hostile;
	struct world *w = world_create();
	uint64_t began_ns, before;

	open_peers(w, 0, hostile + 1);
	for (uint32_t k = 0; k < 3; k++) {
		began_ns = w->ss->now_ns;
		for (uint32_t i = 0; i < hostile; i++)
			send_window(w, i, stack_tcp(w->ss->stack)->rcv_autotune.window_max);
		round_ends(w, began_ns);
	}
	check(tcp_of(w)->rcv_autotune.count > 1 &&
	      tcp_of(w)->rcv_autotune.count <= RCV_AUTOTUNE_CONNS_MAX);
	check(tcp_of(w)->rcv_autotune.bytes <= tcp_of(w)->rcv_autotune.bytes_max);
	for (uint32_t i = 0; i < hostile; i++)
		leave_hole(w, i);
	check(sim_stack_count(w->ss, TCP_DROP_OOO_FULL) > 0);
	before = refused(w);
	for (uint32_t k = 0; k < 20; k++) {
		check(w->peer[victim].edge - w->peer[victim].acked + FULL >=
		      (k == 0 ? INITIAL_CWND_SEGS * FULL : RX_WINDOW_BYTES));
		upload(w, victim, 1);
		check_eq(w->peer[victim].acked, w->peer[victim].next);
	}
	check_eq(refused(w), before);
	world_destroy(w);
}

/* The early peers continue to send and keep their windows; a late one gets a wide window as
 * well. */
TEST(a_late_peer_gets_a_part_of_the_windows_of_others)
{
	const uint32_t early = 40, late = early;
	struct world *w = world_create();
	uint32_t wide = 0;

	open_peers(w, 0, early + 1);
	for (uint32_t k = 0; k < 40; k++) {
		const uint64_t began_ns = w->ss->now_ns;

		for (uint32_t i = 0; i < early + (k >= 10); i++)
			send_window(w, i, stack_tcp(w->ss->stack)->rcv_autotune.window_max);
		round_ends(w, began_ns);
	}
	for (uint32_t i = 0; i < early; i++)
		wide += w->peer[i].edge - w->peer[i].acked > RX_WINDOW_BYTES;
	check(wide > 10);
	check(w->peer[late].edge - w->peer[late].acked > RX_WINDOW_BYTES);
	world_destroy(w);
}

TEST(an_idle_peer_leaves_its_window_to_active_ones)
{
	const uint32_t early = 40, late = early;
	struct world *w = world_create();

	open_peers(w, 0, early + 1);
	for (uint32_t k = 0; k < 5; k++) {
		const uint64_t began_ns = w->ss->now_ns;

		for (uint32_t i = 0; i < early; i++)
			send_window(w, i, stack_tcp(w->ss->stack)->rcv_autotune.window_max);
		round_ends(w, began_ns);
	}
	check(tcp_of(w)->rcv_autotune.count > 10);
	for (uint32_t k = 0; k < 110; k++)
		round_ends(w, w->ss->now_ns);
	check(upload(w, late, 8) > 1500000);
	check_eq(tcp_of(w)->rcv_autotune.count, 1);
	world_destroy(w);
}

/* A peer that sends slightly more than a quarter of the smallest window in each round trip needs
 * less than one more step of window. Frames suffice, so no other window shrinks for it. */
TEST(a_peer_that_needs_little_more_shrinks_no_window_while_frames_suffice)
{
	struct world *w = world_create();
	uint64_t before;

	open_peers(w, 0, 2);
	upload(w, 0, 8);
	before = tcp_of(w)->rcv_autotune.bytes;
	check(before > 1500000);
	for (uint32_t k = 0; k < 10; k++) {
		const uint64_t began_ns = w->ss->now_ns;

		send_window(w, 1, 24 * FULL);
		round_ends(w, began_ns);
	}
	check_eq(tcp_of(w)->rcv_autotune.bytes, before);
	world_destroy(w);
}

/* Three peers with the widest windows hold as much as they may behind holes. A fourth leaves a hole
 * of one segment, and its data is kept. */
TEST(a_few_with_holes_leave_room_for_the_holes_of_others)
{
	struct world *w = world_create();
	uint64_t before;

	open_peers(w, 0, 4);
	upload(w, 0, 8);
	upload(w, 1, 8);
	upload(w, 2, 8);
	for (uint32_t i = 0; i < 3; i++)
		leave_hole(w, i);
	check(FRAMES - tcp_of(w)->frames.left > 3 * OOO_BLOCKS_MAX);
	/* Each took at most one frame of the reserve, its first. */
	check(tcp_of(w)->frames.left + 3 >= tcp_of(w)->frames.reserve);
	before = sim_stack_count(w->ss, TCP_DROP_OOO_FULL);
	w->peer[3].next += FULL;
	send_window(w, 3, 20 * FULL);
	check_eq(sim_stack_count(w->ss, TCP_DROP_OOO_FULL), before);
	feed(w, 3, TCP_ACK, w->peer[3].acked, FULL);
	turn(w);
	check_eq(w->peer[3].acked, w->peer[3].next);
	world_destroy(w);
}

/* While peers hold frames behind holes, a wide window is not renewed: it shrinks to the smallest as
 * its peer uses it up. */
TEST(wide_windows_shrink_while_frames_are_short)
{
	struct world *w = world_create();

	open_peers(w, 0, 4);
	upload(w, 0, 8);
	upload(w, 1, 8);
	upload(w, 2, 8);
	upload(w, 3, 8);
	check(w->peer[3].edge - w->peer[3].acked > 4 * RX_WINDOW_BYTES);
	for (uint32_t k = 0; k < 20; k++) {
		/* Data behind holes was dropped to make room for data in order: its peers send it
		 * again. */
		for (uint32_t i = 0; i < 3; i++) {
			w->peer[i].next = w->peer[i].acked;
			leave_hole(w, i);
		}
		upload(w, 3, 1);
	}
	check(w->peer[3].open);
	check(w->peer[3].edge - w->peer[3].acked <= RX_WINDOW_BYTES + FULL);
	check_eq(w->peer[3].acked, w->peer[3].next);
	world_destroy(w);
}

/* A peer sends one byte in three, and its window has room for many. Each segment and ACK walks all
 * ooo_blocks, so they are limited. */
TEST(a_wide_window_has_no_more_ooo_blocks_than_any)
{
	struct world *w = world_create();
	const struct conn *c = NULL;
	uint32_t ooo_blocks = 0;

	open_peers(w, 0, 1);
	upload(w, 0, 8);
	for (uint32_t i = 1; i <= 2000; i++) {
		feed(w, 0, TCP_ACK, w->peer[0].acked + 3 * i, 1);
		if (i % BURST == 0)
			turn(w);
	}
	turn(w);
	for (uint32_t i = 0; i < 2 * PEERS_MAX && c == NULL; i++)
		if (tcp_of(w)->conns[i].rx.ooo_blocks != NULL)
			c = &tcp_of(w)->conns[i];
	check_ptr(c);
	for (const struct rx_seg *isl = c->rx.ooo_blocks; isl != NULL; isl = isl->block_last->next)
		ooo_blocks++;
	check_eq(ooo_blocks, OOO_BLOCKS_MAX);
	world_destroy(w);
}
