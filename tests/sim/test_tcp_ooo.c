/*
 * Data in any order. Goal: pieces of a stream may arrive in any order, overlap, arrive twice or be
 * cut in two: the reader gets every byte once, the acknowledgment and the SACK blocks name exactly
 * the received bytes (RFC 2018 section 4, RFC 2883), and in the end no frame is held.
 * Method: random pieces, each checked against a plain map of bytes received.
 */
#include "sim_frame.h"
#include "sim_rng.h"
#include "sim_stack.h"
#include "tcp/tcp_conn.h"

#include "support/test.h"
#include "wire/eth_wire.h"

#include <string.h>

#define STREAM 60000u
/* The largest distance of a piece from the acknowledged bytes. */
#define AHEAD    20000u
#define PEER_ISS 0xffffc000u
#define SEEDS    60u
#define PIECES   4000u /* most pieces of a stream */
#define PEER_IP  (SIM_PEERS + 9)

struct span {
	uint32_t begin, end; /* offsets in the stream */
};

struct receiver {
	struct sim_stack *ss;
	struct sim_rng rng;
	struct conn *conn;
	uint32_t iss, read;
	uint32_t acked; /* the stack's last acknowledgment */
	uint16_t vlan;  /* 0: none */
	uint8_t sent[MEM_FRAME_BYTES];
	bool have[STREAM]; /* the model */
	uint8_t text[STREAM];
};

static void
on_opened(void *arg, struct conn *c)
{
	((struct receiver *)arg)->conn = c;
}

static void
on_gone(void *arg, struct conn *c)
{
	((struct receiver *)arg)->conn = NULL;
}

static bool
next_sent(struct receiver *r, struct sim_segment *seg)
{
	const uint8_t *frame;
	uint32_t len;

	while ((frame = mem_port_sent(r->ss->port, &len)) != NULL) {
		if (r->vlan != 0) {
			memcpy(r->sent, frame, len);
			frame = eth_vlan_strip(r->sent);
			len -= ETH_TAG_BYTES;
		}
		if (sim_read_segment(seg, frame, len))
			return true;
		mem_port_done(r->ss->port);
	}
	return false;
}

static void
put_frame(struct receiver *r, const struct sim_segment *seg)
{
	uint8_t bytes[ETH_TAG_BYTES + MEM_FRAME_BYTES], *frame = bytes + ETH_TAG_BYTES, *to;
	uint32_t len = sim_write_segment(frame, sim_mac, sim_peer_mac, seg);

	if (r->vlan != 0) {
		frame = eth_vlan_insert(frame, r->vlan);
		len += ETH_TAG_BYTES;
	}
	to = mem_port_feed(r->ss->port, len, 0);
	check(to != NULL);
	memcpy(to, frame, len);
}

static void
put(struct receiver *r, uint8_t flags, struct span at)
{
	struct sim_segment seg = {
		.src_ip = PEER_IP,
		.dst_ip = SIM_IP,
		.tcp = {.src_port = 5000,
			.dst_port = SIM_PORT,
			.seq = PEER_ISS + (flags & TCP_SYN ? 0 : 1 + at.begin),
			.ack = flags & TCP_ACK ? r->iss + 1 : 0,
			.window = 30000,
			.flags = flags,
			.payload = {r->text + at.begin, at.end - at.begin}},
	};

	if (flags & TCP_SYN)
		seg.tcp.opt = (struct tcp_options){
			.seen = TCP_HAS_MSS | TCP_HAS_SACK_PERMITTED | TCP_HAS_WSCALE, .mss = 1460};
	put_frame(r, &seg);
}

static void
feed(struct receiver *r, uint8_t flags, struct span at)
{
	put(r, flags, at);
	r->ss->now_ns += 1000;
	sim_stack_turn(r->ss);
}

static void
open_stream(struct receiver *r)
{
	struct sim_segment seg;

	feed(r, TCP_SYN, (struct span){0, 0});
	check(next_sent(r, &seg));
	check(seg.tcp.opt.seen & TCP_HAS_SACK_PERMITTED);
	r->iss = seg.tcp.seq;
	mem_port_done(r->ss->port);
	feed(r, TCP_ACK, (struct span){0, 0});
	check(r->conn != NULL);
}

/* Returns the run of received bytes around a received offset. */
static struct span
run_around(const struct receiver *r, uint32_t at)
{
	struct span run = {at, at};

	while (run.begin > 0 && r->have[run.begin - 1])
		run.begin--;
	while (run.end < STREAM && r->have[run.end])
		run.end++;
	return run;
}

static uint32_t
ooo_blocks(const struct receiver *r, uint32_t from)
{
	uint32_t count = 0;

	for (uint32_t i = from + 1; i < STREAM; i++)
		count += r->have[i] && !r->have[i - 1];
	return count;
}

static struct span
block_at(const struct tcp_options *opt, uint32_t i)
{
	return (struct span){be32_get(opt->sack[i].begin) - PEER_ISS - 1,
			     be32_get(opt->sack[i].end) - PEER_ISS - 1};
}

/* Checks the ACK of a piece. had: some of the piece was received before. */
static void
check_ack(const struct receiver *r, const struct sim_segment *seg, struct span last, bool had)
{
	const struct tcp_options *opt = &seg->tcp.opt;
	const uint32_t acked = seg->tcp.ack - PEER_ISS - 1;
	const uint32_t blocks = opt->seen & TCP_HAS_SACK ? opt->sack_count : 0;
	const uint32_t dup = had && blocks > 0 ? 1 : 0;
	const uint32_t held = ooo_blocks(r, acked);

	check_eq(acked, r->have[0] ? run_around(r, 0).end : 0);
	check_eq(blocks - dup, held < TCP_SACK_MAX - dup ? held : TCP_SACK_MAX - dup);
	if (dup) {
		const struct span twice = block_at(opt, 0);

		check(twice.begin >= last.begin && twice.end <= last.end &&
		      twice.begin < twice.end);
	}
	for (uint32_t i = dup; i < blocks; i++) {
		const struct span got = block_at(opt, i), want = run_around(r, got.begin);

		check_eq(got.begin, want.begin);
		check_eq(got.end, want.end);
		for (uint32_t k = dup; k < i; k++)
			check(block_at(opt, k).begin != got.begin);
	}
	if (last.begin > acked)
		check_eq(block_at(opt, dup).begin, run_around(r, last.begin).begin);
}

static void
read_some(struct receiver *r, uint32_t most)
{
	while (most > 0) {
		const struct view v = conn_peek(r->conn);
		const uint32_t n = v.len < most ? v.len : most;

		if (n == 0)
			return;
		check_bytes(v.data, r->text + r->read, n);
		conn_advance(r->ss->stack, r->conn, n);
		r->read += n;
		most -= n;
	}
}

static uint32_t
frames_held(const struct receiver *r)
{
	struct stack_usage use;

	stack_usage_mt(r->ss->stack, &use);
	return use.rx_frames_held;
}

static struct span
choose(struct receiver *r)
{
	const uint32_t left = STREAM - r->acked;
	const uint32_t back = sim_chance(&r->rng, 100) ? sim_below(&r->rng, r->acked + 1) : 0;
	const uint32_t ahead = left < AHEAD ? left : AHEAD;
	const uint32_t begin = sim_chance(&r->rng, 300) ? r->acked - (back < 3000 ? back : 3000)
							: r->acked + sim_below(&r->rng, ahead);
	const uint32_t len = 1 + sim_below(&r->rng, sim_chance(&r->rng, 300) ? 20 : 1460);

	return (struct span){begin, begin + len < STREAM ? begin + len : STREAM};
}

static void
receive(struct receiver *r, struct span at)
{
	struct sim_segment seg;
	bool had = false;

	for (uint32_t i = at.begin; i < at.end; i++) {
		had |= r->have[i];
		r->have[i] = true;
	}
	feed(r, TCP_ACK | TCP_PSH, at);
	if (next_sent(r, &seg)) {
		check_ack(r, &seg, at, had);
		r->acked = seg.tcp.ack - PEER_ISS - 1;
		mem_port_done(r->ss->port);
		check(!next_sent(r, &seg));
	} else {
		check(at.begin <= r->acked && at.end > r->acked);
		r->acked = run_around(r, 0).end; /* its ACK is delayed */
	}
	if (sim_chance(&r->rng, 400)) {
		read_some(r, sim_below(&r->rng, 6000));
		stack_release(r->ss->stack);
		sim_stack_turn(r->ss);
		while (next_sent(r, &seg))
			mem_port_done(r->ss->port);
	}
}

static struct receiver *
receiver_create_short(uint64_t seed, uint16_t vlan, uint32_t frames)
{
	static struct receiver r;
	const struct stack_user user = {.arg = &r, .opened = on_opened, .gone = on_gone};
	struct stack_config cfg = sim_config(seed);

	cfg.net.vlan = vlan;
	cfg.net.rx_frames_max = frames;
	r = (struct receiver){.rng = {seed}, .vlan = vlan};
	for (uint32_t i = 0; i < STREAM; i++)
		r.text[i] = (uint8_t)sim_random(&r.rng);
	r.ss = sim_stack_create(&cfg, 2048, 0);
	stack_attach(r.ss->stack, &user);
	open_stream(&r);
	return &r;
}

static struct receiver *
receiver_create(uint64_t seed, uint16_t vlan)
{
	return receiver_create_short(seed, vlan, sim_config(seed).net.rx_frames_max);
}

static void
stream(uint64_t seed)
{
	struct receiver *r = receiver_create(seed, seed % 4 == 0 ? 7 : 0);
	const uint32_t never[] = {TCP_DROP_OOO_FULL, TCP_DROP_OOO_PRUNED, TCP_DROP_RX_FRAMES_MAX,
				  TCP_OOO_EVICTED};

	/* The ACK of this piece has a window wider than that of a SYN. */
	receive(r, (struct span){1, 2});
	for (uint32_t i = 0; i < PIECES && r->acked < STREAM; i++)
		receive(r, choose(r));
	while (r->acked < STREAM) {
		const uint32_t end = r->acked + 1400;

		receive(r, (struct span){r->acked, end < STREAM ? end : STREAM});
	}
	read_some(r, STREAM);
	stack_release(r->ss->stack);
	check_eq(r->read, STREAM);
	sim_stack_turn(r->ss);
	check_eq(frames_held(r), 0);
	for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
		check_eq(sim_stack_count(r->ss, never[i]), 0);
	sim_stack_destroy(r->ss);
}

TEST(acknowledged_and_read_bytes_are_those_received)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		stream(seed);
}

/* The peer sends one byte in three, each an out-of-order block. The window has room for 20 times as
 * many. */
TEST(ooo_blocks_are_bounded_and_leave_room_for_data_in_order)
{
	struct receiver *r = receiver_create(1, 0);
	struct sim_segment seg;

	for (uint32_t i = 1; i <= 1000; i++) {
		feed(r, TCP_ACK, (struct span){3 * i, 3 * i + 1});
		check(frames_held(r) <= OOO_BLOCKS_MAX);
	}
	check_eq(frames_held(r), OOO_BLOCKS_MAX);
	check_eq(sim_stack_count(r->ss, TCP_DROP_OOO_FULL), 1000 - OOO_BLOCKS_MAX);
	while (next_sent(r, &seg))
		mem_port_done(r->ss->port);
	feed(r, TCP_ACK, (struct span){0, 3});
	check(next_sent(r, &seg));
	check_eq(seg.tcp.ack - PEER_ISS - 1, 4);
	mem_port_done(r->ss->port);
	read_some(r, 4);
	check_eq(r->read, 4);
	sim_stack_destroy(r->ss);
}

/* Seven of twelve frames are held, which is the most behind a hole. The segment that fills the hole
 * takes the frame of the last piece, half of which has just arrived again. */
TEST(a_dropped_segment_is_not_reported_as_duplicate)
{
	struct receiver *r = receiver_create_short(1, 0, 12);
	struct sim_segment seg;

	feed(r, TCP_ACK, (struct span){0, 1000});
	for (uint32_t at = 2000; at < 8000; at += 1000)
		feed(r, TCP_ACK, (struct span){at, at + 1000});
	while (next_sent(r, &seg))
		mem_port_done(r->ss->port);
	put(r, TCP_ACK, (struct span){6500, 7500});
	feed(r, TCP_ACK, (struct span){1000, 2000});
	check_eq(sim_stack_count(r->ss, TCP_DROP_OOO_PRUNED), 1);
	check(next_sent(r, &seg));
	check_eq(seg.tcp.ack - PEER_ISS - 1, 7000);
	check(seg.tcp.opt.seen & TCP_HAS_SACK);
	check_eq(block_at(&seg.tcp.opt, 0).begin, 6500);
	check_eq(block_at(&seg.tcp.opt, 0).end, 7000);
	mem_port_done(r->ss->port);
	sim_stack_destroy(r->ss);
}

/* The hole stays, and nothing of the dropped last piece is received. */
TEST(a_dropped_segment_is_not_reported_as_received)
{
	struct receiver *r = receiver_create_short(1, 0, 12);
	struct sim_segment seg;

	feed(r, TCP_ACK, (struct span){0, 1000});
	for (uint32_t at = 2500; at < 8500; at += 1000)
		feed(r, TCP_ACK, (struct span){at, at + 1000});
	while (next_sent(r, &seg))
		mem_port_done(r->ss->port);
	put(r, TCP_ACK, (struct span){7800, 8400});
	feed(r, TCP_ACK, (struct span){1000, 2000});
	check(next_sent(r, &seg));
	check_eq(seg.tcp.ack - PEER_ISS - 1, 2000);
	check_eq(seg.tcp.opt.sack_count, 1);
	check_eq(block_at(&seg.tcp.opt, 0).begin, 2500);
	check_eq(block_at(&seg.tcp.opt, 0).end, 7500);
	mem_port_done(r->ss->port);
	sim_stack_destroy(r->ss);
}

/* After 1000 bytes of text a frame has room for 990 more, or for 994 if it has no VLAN tag. In the
 * last row one segment fills its frame, because peers may exceed our MTU. */
TEST(coalesced_data_does_not_reach_past_the_frame)
{
	static const struct {
		uint16_t vlan;
		uint32_t first, second, frames;
	} row[] = {{0, 1000, 990, 1},
		   {0, 1000, 995, 2},
		   {7, 1000, 990, 1},
		   {7, 1000, 991, 2},
		   {0, 1994, 1000, 2}};

	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		struct receiver *r = receiver_create(1, row[i].vlan);

		feed(r, TCP_ACK, (struct span){0, row[i].first});
		feed(r, TCP_ACK, (struct span){row[i].first, row[i].first + row[i].second});
		check_eq(frames_held(r), row[i].frames);
		read_some(r, STREAM);
		check_eq(r->read, row[i].first + row[i].second);
		sim_stack_destroy(r->ss);
	}
}

static uint64_t
since_ns(const struct receiver *r)
{
	uint64_t ns;

	(void)conn_peek_since(r->conn, &ns);
	return ns;
}

/* Three turns share a frame. The first bytes have the time of the first turn, and the last bytes
 * that of the last. Bytes between them have a time that may be later than theirs, never earlier.
 * Bytes that were read have no time. */
TEST(a_frame_records_when_its_bytes_arrived)
{
	struct receiver *r = receiver_create(1, 0);
	uint64_t turn[4];

	for (uint32_t i = 0; i < 3; i++) {
		r->ss->now_ns += 1000000;
		feed(r, TCP_ACK, (struct span){300 * i, 300 * (i + 1)});
		turn[i] = r->ss->now_ns;
	}
	check_eq(frames_held(r), 1);
	check_eq(since_ns(r), turn[0]);
	read_some(r, 299);
	check_eq(since_ns(r), turn[0]);
	read_some(r, 1);
	check_eq(since_ns(r), turn[1]);
	read_some(r, 150);
	check(since_ns(r) > turn[1] && since_ns(r) < turn[2]);
	read_some(r, 150);
	check_eq(since_ns(r), turn[2]);
	read_some(r, 100);
	r->ss->now_ns += 1000000;
	feed(r, TCP_ACK, (struct span){900, 1200});
	turn[3] = r->ss->now_ns;
	check_eq(frames_held(r), 1);
	check_eq(since_ns(r), turn[2]);
	read_some(r, 200);
	check_eq(since_ns(r), turn[3]);
	/* Data behind a hole has the time at which the hole is filled. */
	read_some(r, STREAM);
	feed(r, TCP_ACK, (struct span){1300, 1400});
	feed(r, TCP_ACK, (struct span){1400, 1500});
	feed(r, TCP_ACK, (struct span){1200, 1300});
	read_some(r, 100);
	check_eq(since_ns(r), r->ss->now_ns);
	read_some(r, 100);
	check_eq(since_ns(r), r->ss->now_ns);
	read_some(r, STREAM);
	stack_release(r->ss->stack);
	sim_stack_destroy(r->ss);
}
