/*
 * Connections that we open. Goal: a stack is as good a client as a server: each connection it opens
 * is reported as opened, or as failed with the reason; streams run both ways over a bad network;
 * simultaneous opens and closes of both sides result in one connection; in the end nothing is held.
 * Method: two stacks on one cable under one virtual clock; a failing seed is named and reproduces.
 */
#include "sim_frame.h"
#include "sim_rng.h"
#include "sim_stack.h"
#include "sim_wire.h"
#include "base/time_units.h"
#include "net/neigh_table.h"
#include "tcp/conn_sources.h"

#include "support/test.h"

#include <stdlib.h>

#define SEEDS     150u
#define CONNS     8u
#define STREAM    20000u
#define FRAMES    1024u
#define STEPS_MAX 200000u
#define CLIENT_IP (SIM_PEERS + 1)

struct stream {
	struct conn *conn;
	uint32_t written, read;
	bool closed;
};

struct side {
	struct pair *pair;
	struct sim_stack *ss;
	struct stream stream[64]; /* by slot */
	uint32_t opened, gone, failed;
	uint32_t whole; /* streams that were complete before the end */
	enum conn_failure why;
	/* This side closes once it has all of the peer's stream, before it sees the FIN. */
	bool early;
};

struct pair {
	struct sim_wire *wire;
	struct side client, server;
	uint64_t seed;
};

#define expect(p, cond)                                                                            \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fail_msg("seed %llu, line %d: %s", (unsigned long long)(p)->seed,          \
				 __LINE__, #cond);                                                 \
	} while (0)

static uint8_t
text_at(uint32_t offset)
{
	return (uint8_t)(offset * 31 + (offset >> 8) * 7);
}

static void
on_opened(void *arg, struct conn *c)
{
	struct side *side = arg;

	expect(side->pair, side->stream[conn_slot(c)].conn == NULL);
	side->stream[conn_slot(c)] = (struct stream){.conn = c};
	side->opened++;
}

static void
on_gone(void *arg, struct conn *c)
{
	struct side *side = arg;

	expect(side->pair, side->stream[conn_slot(c)].conn == c);
	side->stream[conn_slot(c)].conn = NULL;
	side->gone++;
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	struct side *side = arg;

	expect(side->pair, side->stream[conn_slot(c)].conn == NULL);
	side->failed++;
	side->why = why;
}

static void
stream_read(struct side *side, struct stream *st)
{
	for (struct view v = conn_peek(st->conn); v.len > 0; v = conn_peek(st->conn)) {
		for (uint32_t i = 0; i < v.len; i++)
			expect(side->pair, v.data[i] == text_at(st->read + i));
		st->read += v.len;
		conn_advance(side->ss->stack, st->conn, v.len);
	}
}

static void
stream_write(struct side *side, struct stream *st)
{
	struct stack *s = side->ss->stack;

	while (st->written < STREAM && conn_writable(s, st->conn, 1)) {
		const uint32_t left = STREAM - st->written;
		const uint32_t n = left < CONN_RESERVE_MAX ? left : CONN_RESERVE_MAX;
		uint8_t *to = conn_reserve(s, st->conn, n);

		for (uint32_t i = 0; i < n; i++)
			to[i] = text_at(st->written + i);
		conn_commit(s, st->conn, n);
		st->written += n;
	}
}

static void
serve(void *arg)
{
	struct side *side = arg;

	while (stack_pop_ready(side->ss->stack) != NULL)
		continue; /* all are visited below */
	for (uint32_t i = 0; i < 64; i++) {
		struct stream *st = &side->stream[i];

		if (st->conn == NULL || st->closed)
			continue;
		stream_read(side, st);
		stream_write(side, st);
		if (st->written < STREAM ||
		    !(conn_eof(st->conn) || (side->early && st->read == STREAM)))
			continue;
		side->whole += st->read == STREAM;
		st->closed = true;
		conn_close(side->ss->stack, st->conn);
	}
}

static void
side_create(struct pair *p, struct side *side, uint32_t ip, uint16_t port)
{
	struct stack_config cfg = sim_config(p->seed + ip);
	const struct stack_user user = {side, on_opened, on_gone, on_failed};
	const uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)(0x10 + (ip >> 8))};

	cfg.net.ipv4 = ip;
	cfg.tcp.port = port;
	*side = (struct side){.pair = p};
	side->ss = sim_stack_create_as(&cfg, FRAMES, 0, mac);
	side->ss->serve = serve;
	side->ss->arg = side;
	stack_attach(side->ss->stack, &user);
}

static struct pair *
pair_create(const struct sim_faults *faults, uint64_t seed)
{
	struct pair *p = calloc(1, sizeof *p);

	check_ptr(p);
	p->seed = seed;
	side_create(p, &p->client, CLIENT_IP, 0);
	side_create(p, &p->server, SIM_IP, SIM_PORT);
	p->wire = sim_wire_create(p->client.ss->port, p->server.ss->port, faults, seed);
	return p;
}

static void
pair_destroy(struct pair *p)
{
	sim_wire_destroy(p->wire);
	sim_stack_destroy(p->client.ss);
	sim_stack_destroy(p->server.ss);
	free(p);
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void
step(struct pair *p, uint64_t end_ns)
{
	uint64_t *now = &p->client.ss->now_ns;
	uint64_t next;

	sim_wire_turn(p->wire, *now);
	sim_stack_turn(p->client.ss);
	sim_stack_turn(p->server.ss);
	sim_wire_turn(p->wire, *now);
	next = earlier(sim_wire_next(p->wire), stack_next_timer(p->client.ss->stack));
	next = earlier(next, stack_next_timer(p->server.ss->stack));
	*now = next > *now ? earlier(next, end_ns) : *now + 1000;
	p->server.ss->now_ns = *now;
}

static void
run(struct pair *p, uint64_t for_ns)
{
	const uint64_t end_ns = p->client.ss->now_ns + for_ns;

	for (uint32_t i = 0; i < STEPS_MAX && p->client.ss->now_ns < end_ns; i++)
		step(p, end_ns);
	expect(p, p->client.ss->now_ns >= end_ns);
}

static struct conn *
connect_to(struct side *side, uint32_t ip, uint16_t port, uint16_t local_port)
{
	const struct conn_target to = {
		.ip = ip_addr_v4(ip), .port = port, .local_port = local_port};

	return conn_connect(side->ss->stack, &to);
}

static void
check_nothing_held(struct pair *p, const struct side *side)
{
	struct stack_usage use;

	stack_usage_mt(side->ss->stack, &use);
	expect(p, use.conns == 0);
	expect(p, use.chunks_used == 0);
	expect(p, use.rx_frames_held == 0);
	expect(p, side->opened == side->gone);
}

static struct sim_faults
bad_network(uint64_t seed)
{
	struct sim_rng rng = {seed};

	return (struct sim_faults){
		.lose = sim_below(&rng, 80),
		.twice = sim_below(&rng, 80),
		.late = sim_below(&rng, 200),
		.delay_ns = 10000 + sim_below(&rng, 1000000),
		.jitter_ns = sim_below(&rng, 3000000),
	};
}

TEST(streams_run_both_ways_and_nothing_is_held_in_the_end)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct sim_faults faults = bad_network(seed);
		struct pair *p = pair_create(&faults, seed);

		p->client.early = true;
		run(p, 1000000);
		for (uint32_t i = 0; i < CONNS; i++)
			check_ptr(connect_to(&p->client, SIM_IP, SIM_PORT, 0));
		run(p, 300 * NS_PER_S);
		expect(p, p->client.opened == CONNS && p->server.opened == CONNS);
		expect(p, p->client.failed == 0);
		expect(p, p->server.whole == CONNS);
		check_nothing_held(p, &p->client);
		check_nothing_held(p, &p->server);
		pair_destroy(p);
	}
}

/* Each side connects to the other's port, so the SYNs cross. Even with losses one connection
 * results. */
TEST(opens_from_both_sides_at_once_are_one_connection)
{
	uint64_t crossed = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct sim_faults faults = bad_network(seed);
		struct pair *p = pair_create(&faults, seed);

		p->client.early = true;
		p->server.early = seed & 1;
		check_ptr(connect_to(&p->client, SIM_IP, 7000, 8000));
		check_ptr(connect_to(&p->server, CLIENT_IP, 8000, 7000));
		run(p, 300 * NS_PER_S);
		crossed += sim_stack_count(p->client.ss, TCP_SIMULTANEOUS_OPEN) != 0 &&
			   sim_stack_count(p->server.ss, TCP_SIMULTANEOUS_OPEN) != 0;
		expect(p, p->client.opened == 1 && p->server.opened == 1);
		expect(p, p->client.failed == 0 && p->server.failed == 0);
		expect(p, p->client.whole == 1 && p->server.whole == 1);
		check_nothing_held(p, &p->client);
		check_nothing_held(p, &p->server);
		pair_destroy(p);
	}
	check(crossed > SEEDS / 4);
}

TEST(closes_from_both_sides_at_once_end_in_order)
{
	const struct sim_faults none = {.delay_ns = 100000};
	struct pair *p = pair_create(&none, 5);

	p->client.early = p->server.early = true;
	check_ptr(connect_to(&p->client, SIM_IP, SIM_PORT, 0));
	run(p, 30 * NS_PER_S);
	check_eq(p->client.gone, 1);
	check_eq(p->server.gone, 1);
	check_eq(sim_stack_count(p->client.ss, TCP_RESET_BY_PEER), 0);
	check_eq(sim_stack_count(p->server.ss, TCP_RESET_BY_PEER), 0);
	check_nothing_held(p, &p->client);
	check_nothing_held(p, &p->server);
	pair_destroy(p);
}

TEST(a_port_nobody_serves_is_refused)
{
	const struct sim_faults none = {.delay_ns = 100000};
	struct pair *p = pair_create(&none, 6);

	check_ptr(connect_to(&p->client, SIM_IP, SIM_PORT + 1, 0));
	run(p, NS_PER_S);
	check_eq(p->client.failed, 1);
	check_eq(p->client.why, CONNECT_REFUSED);
	check_eq(p->client.opened, 0);
	check_nothing_held(p, &p->client);
	pair_destroy(p);
}

TEST(a_peer_that_never_answers_is_given_up_after_three_minutes)
{
	const struct sim_faults none = {.delay_ns = 100000};
	struct pair *p = pair_create(&none, 7);

	/* The neighbour is resolved first. */
	check_ptr(connect_to(&p->client, SIM_IP, SIM_PORT + 1, 0));
	run(p, NS_PER_S);
	p->client.failed = 0;
	p->wire->faults.lose = 1000;
	check_ptr(connect_to(&p->client, SIM_IP, SIM_PORT, 0));
	run(p, 180 * NS_PER_S);
	check_eq(p->client.failed, 0);
	run(p, 10 * NS_PER_S);
	check_eq(p->client.failed, 1);
	check_eq(p->client.why, CONNECT_TIMED_OUT);
	check_nothing_held(p, &p->client);
	pair_destroy(p);
}

TEST(a_next_hop_that_does_not_exist_is_unreachable)
{
	const struct sim_faults none = {.delay_ns = 100000};
	struct pair *p = pair_create(&none, 8);

	check_ptr(connect_to(&p->client, SIM_PEERS + 77, SIM_PORT, 0)); /* on the link */
	check_ptr(connect_to(&p->client, 0x08080808, SIM_PORT, 0));     /* there is no gateway */
	run(p, 10 * NS_PER_S);
	check_eq(p->client.failed, 2);
	check_eq(p->client.why, CONNECT_UNREACHABLE);
	check_eq(sim_stack_count(p->client.ss, TCP_CONNECT_UNREACHABLE), 2);
	check_nothing_held(p, &p->client);
	pair_destroy(p);
}

TEST(a_server_is_reached_beside_clients_that_fill_its_set_of_neighbours)
{
	static const uint8_t mac[ETH_MAC_BYTES] = {2, 0, 0, 0, 0, 9};
	const struct sim_faults none = {.delay_ns = 100000};
	struct pair *p = pair_create(&none, 9);

	for (uint32_t i = 1; i <= NEIGH_WAYS; i++) {
		const struct ip_addr ip = ip_addr_v4(SIM_IP ^ i * 0x10100);

		check(neigh_learn_mt(p->client.ss->neigh, &ip, mac, p->client.ss->now_ns));
	}
	check_ptr(connect_to(&p->client, SIM_IP, SIM_PORT, 0));
	run(p, 10 * NS_PER_S);
	check_eq(p->client.failed, 0);
	check_eq(p->client.opened, 1);
	pair_destroy(p);
}

TEST(a_connection_closed_before_it_opens_is_not_reported)
{
	const struct sim_faults none = {.delay_ns = 100000};
	struct pair *p = pair_create(&none, 9);

	conn_close(p->client.ss->stack, connect_to(&p->client, SIM_IP, SIM_PORT, 0));
	conn_abort(p->client.ss->stack, connect_to(&p->client, SIM_IP, SIM_PORT, 0));
	run(p, NS_PER_S);
	check_eq(p->client.opened + p->client.failed + p->client.gone, 0);
	check_eq(p->server.opened, 0);
	check_nothing_held(p, &p->client);
	pair_destroy(p);
}

TEST(a_flow_is_opened_once_and_missing_slots_are_reported)
{
	const struct sim_faults none = {.delay_ns = 100000};
	struct pair *p = pair_create(&none, 10);

	check_ptr(connect_to(&p->client, SIM_IP, SIM_PORT, 5000));
	check_null(connect_to(&p->client, SIM_IP, SIM_PORT, 5000));
	check_eq(sim_stack_count(p->client.ss, TCP_CONNECT_NO_PORT), 1);
	for (uint32_t i = 1; i < 64; i++)
		check_ptr(connect_to(&p->client, SIM_IP, SIM_PORT, 0));
	check_null(connect_to(&p->client, SIM_IP, SIM_PORT, 0));
	check_eq(sim_stack_count(p->client.ss, TCP_CONNECT_NO_SLOT), 1);
	pair_destroy(p);
}

TEST(a_stack_that_stops_fails_connections_that_are_not_open)
{
	const struct sim_faults none = {.delay_ns = 100000};
	struct pair *p = pair_create(&none, 11);

	check_ptr(connect_to(&p->client, SIM_IP, SIM_PORT, 0));
	check(stack_drain(p->client.ss->stack, p->client.ss->now_ns));
	check_eq(p->client.failed, 1);
	check_eq(p->client.why, CONNECT_STOPPED);
	check_null(connect_to(&p->client, SIM_IP, SIM_PORT, 0));
	check_nothing_held(p, &p->client);
	pair_destroy(p);
}

/* Eight connections from one address where three are allowed; the others are refused with a RST. */
TEST(a_source_with_its_share_of_connections_is_refused)
{
	const struct sim_faults none = {.delay_ns = 100000};
	struct pair *p = pair_create(&none, 12);
	struct stack_config cfg = sim_config(3);
	const struct stack_user user = {&p->server, on_opened, on_gone, on_failed};
	struct region region = {.size = conn_sources_bytes(64)};

	region.base = calloc(1, region.size);
	check_ptr(region.base);
	p->client.early = true;
	cfg.tcp.conns_per_source = 3;
	cfg.tcp.sources = conn_sources_create(&region, 64, 3, 1);
	sim_stack_destroy(p->server.ss);
	p->server.ss = sim_stack_create(&cfg, FRAMES, 0);
	p->server.ss->now_ns = p->client.ss->now_ns;
	p->server.ss->serve = serve;
	p->server.ss->arg = &p->server;
	stack_attach(p->server.ss->stack, &user);
	p->wire->end[1] = p->server.ss->port;
	for (uint32_t round = 1; round <= 2; round++) {
		for (uint32_t i = 0; i < CONNS; i++)
			check_ptr(connect_to(&p->client, SIM_IP, SIM_PORT, 0));
		run(p, 5 * NS_PER_S);
		check_eq(p->server.opened, 3 * round);
		check_eq(sim_stack_count(p->server.ss, TCP_REFUSED_SOURCE), (CONNS - 3) * round);
		/* The three have ended in order, and the next round has room for three. */
		check_eq(p->server.gone, 3 * round);
	}
	check_nothing_held(p, &p->server);
	pair_destroy(p);
	free(region.base);
}

/* Fills the server's half-open table with SYNs of stations that do not exist. */
static void
flood(struct pair *p)
{
	for (uint32_t i = 0; i < 64; i++) {
		const struct sim_segment seg = {
			.src_ip = SIM_PEERS + 1000 + i,
			.dst_ip = SIM_IP,
			.tcp = {.src_port = (uint16_t)(2000 + i),
				.dst_port = SIM_PORT,
				.seq = i,
				.flags = TCP_SYN,
				.window = 1000},
		};

		check(sim_feed_segment(p->server.ss->port, p->server.ss->port->port.mac,
				       sim_peer_mac, &seg));
		sim_stack_turn(p->server.ss);
	}
}

/* The client checks timestamps (PAWS), so the cookies' options must be consistent with later
 * ones. */
TEST(streams_run_through_cookies)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		const struct sim_faults none = {.delay_ns = 100000};
		struct pair *p = pair_create(&none, seed);

		p->client.early = true;
		run(p, 1000000);
		flood(p);
		for (uint32_t i = 0; i < CONNS; i++)
			check_ptr(connect_to(&p->client, SIM_IP, SIM_PORT, 0));
		run(p, 90 * NS_PER_S);
		expect(p, sim_stack_count(p->server.ss, TCP_COOKIES_OPENED) == CONNS);
		expect(p, p->client.opened == CONNS && p->server.whole == CONNS);
		expect(p, sim_stack_count(p->client.ss, TCP_DROP_PAWS) == 0);
		expect(p, sim_stack_count(p->server.ss, TCP_DROP_PAWS) == 0);
		check_nothing_held(p, &p->client);
		check_nothing_held(p, &p->server);
		pair_destroy(p);
	}
}

static void
count_one(void *arg, struct conn *c)
{
	++*(uint32_t *)arg;
}

/* Sends a segment from an unused port; returns the flags of the answer, and its sequence number. */
static uint8_t
ask_from(struct sim_stack *ss, uint32_t ip, uint16_t port, uint8_t flags, struct tcp_seg at,
	 uint32_t *seq)
{
	const struct sim_segment seg = {
		.src_ip = ip,
		.dst_ip = SIM_IP,
		.tcp = {.src_port = port,
			.dst_port = SIM_PORT,
			.seq = at.seq,
			.ack = at.ack,
			.flags = flags,
			.window = 1000},
	};
	struct sim_segment got = {0};
	const uint8_t *frame;
	uint32_t len;

	check(sim_feed_segment(ss->port, sim_mac, sim_peer_mac, &seg));
	sim_stack_turn(ss);
	while ((frame = mem_port_sent(ss->port, &len)) != NULL) {
		if (sim_read_segment(&got, frame, len))
			*seq = got.tcp.seq;
		mem_port_done(ss->port);
	}
	return got.tcp.flags;
}

static uint8_t
ask(struct sim_stack *ss, uint16_t port, uint8_t flags, struct tcp_seg at, uint32_t *seq)
{
	return ask_from(ss, CLIENT_IP, port, flags, at, seq);
}

/* Sources are hashed to rate limits, so a few of 32 share the attacker's. */
TEST(a_flooding_source_takes_resets_of_few_others)
{
	const struct stack_config cfg = sim_config(1);
	struct sim_stack *ss = sim_stack_create(&cfg, FRAMES, 0);
	uint32_t own = 0, others = 0, seq;

	for (uint16_t port = 1; port <= 100; port++)
		own += ask(ss, port, TCP_ACK, (struct tcp_seg){0}, &seq) == TCP_RST;
	for (uint32_t i = 1; i <= 32; i++)
		others += ask_from(ss, CLIENT_IP + i, 1, TCP_ACK, (struct tcp_seg){0}, &seq) ==
			  TCP_RST;
	check_eq(own, 10);
	check(others >= 28);
	check_eq(sim_stack_count(ss, TCP_RESETS_RATE_LIMITED), 90 + 32 - others);
	sim_stack_destroy(ss);
}

/* A peer's SYN arrives twice. The first is answered with a cookie, and the second gets a place in
 * the table. The cookie still opens the connection. */
TEST(a_cookie_counts_though_its_flow_is_half_open)
{
	uint32_t opened = 0, cookie = 0, second = 0, seq;
	const struct stack_user user = {.arg = &opened, .opened = count_one, .gone = count_one};
	struct stack_config cfg = sim_config(1);
	struct sim_stack *ss;

	cfg.tcp.conns_max = 2;
	ss = sim_stack_create(&cfg, FRAMES, 0);
	stack_attach(ss->stack, &user);
	for (uint16_t port = 1; port <= 2; port++)
		check_eq(ask(ss, port, TCP_SYN, (struct tcp_seg){0}, &seq), TCP_SYN | TCP_ACK);
	check_eq(ask(ss, 3, TCP_SYN, (struct tcp_seg){0}, &cookie), TCP_SYN | TCP_ACK);
	ask(ss, 1, TCP_RST, (struct tcp_seg){.seq = 1}, &seq);
	check_eq(ask(ss, 3, TCP_SYN, (struct tcp_seg){0}, &second), TCP_SYN | TCP_ACK);
	check(cookie != second);
	check_eq(sim_stack_count(ss, TCP_COOKIES_SENT), 1);
	check_eq(ask(ss, 3, TCP_ACK, (struct tcp_seg){.seq = 1, .ack = cookie + 2}, &seq), TCP_RST);
	check_eq(opened, 0);
	check_eq(ask(ss, 3, TCP_ACK, (struct tcp_seg){.seq = 1, .ack = cookie + 1}, &seq), 0);
	check_eq(opened, 1);
	check_eq(sim_stack_count(ss, TCP_COOKIES_OPENED), 1);
	sim_stack_destroy(ss);
}
