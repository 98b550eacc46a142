/*
 * The edges of the fast path of a plain request, from the segment to the reply. Goal: a core
 * answers the same segments with the same frames at the same times, and ends in the same state,
 * with and without the fast paths of TCP and of the service. Method: one peer of one core makes
 * segments by a seed: plain requests that are complete, cut, joined, repeated, too early or beside
 * a datagram, and segments that the fast path must refuse (enum edge). The frames, the counters of
 * both layers and the connections are compared. The arguments FIRST and LAST play these seeds
 * instead.
 */
#include "sim_core.h"
#include "sim_frame.h"
#include "sim_paths.h"
#include "sim_rng.h"

#include "base/time_units.h"
#include "proto/mc_udp.h"
#include "serve/serve_internal.h"
#include "stack/stack.h"
#include "support/test.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/udp_wire.h"

#include <stdio.h>
#include <stdlib.h>

#define SEEDS      120u
#define STEPS      160u
#define TEXT_BYTES (1u << 16)
#define TEXT_SPARE 4096u /* with less room in the text, another connection is opened */
#define MSS        1000u
#define BIG_BYTES  30000u
#define WINDOW     20000u
#define TIME_S     1000u /* the peer's timestamp clock at the start */
#define UDP_AT     (ETH_HEADER_BYTES + IPV4_HEADER_BYTES)
#define UDP_PORT   7000u

/* The oddity of a segment. */
enum edge {
	EDGE_NONE, /* a plain request, as most segments are */
	EDGE_NO_PSH,
	EDGE_FIN,
	EDGE_ZERO_WINDOW,
	EDGE_SMALL_WINDOW,
	EDGE_URG,
	EDGE_ECE,
	EDGE_CWR,
	EDGE_MARKED,
	EDGE_OLD_TIME,
	EDGE_LATER_TIME,
	EDGE_WRONG_ECHO,
	EDGE_NO_TIME,
	EDGE_OLD_ACK,
	EDGE_PART_ACK,
	EDGE_EARLY_ACK, /* acknowledges data that was not sent */
	EDGE_NO_ACK,
	EDGE_BEYOND, /* begins at the end of our window, or ends behind it */
	EDGE_SYN,
	EDGE_RST, /* inside the window, not at its left edge */
	EDGE_CUT,
	EDGE_AHEAD, /* the second half comes first */
	EDGE_AGAIN, /* preceded by the whole last request again */
	EDGE_PART_AGAIN,
	EDGE_JOINED,   /* two requests in one segment */
	EDGE_TWO,      /* two segments of one turn */
	EDGE_DATAGRAM, /* a get in a datagram of the same turn */
	EDGE_OTHER_MAC,
	EDGE_COUNT,
};

struct edges {
	struct sim_cores *sc;
	struct sim_rng rng;
	uint8_t text[TEXT_BYTES]; /* the stream to the core; its first byte has number iss + 1 */
	uint32_t len, sent, last; /* bytes made; bytes sent; beginning of the last request */
	uint32_t iss, ack;
	uint32_t ts_value, ts_echo;
	uint16_t port, window;
	bool ts, ecn, holds_acks;
	uint64_t hash, frames, used[EDGE_COUNT];
};

/* The results of one run. */
struct played {
	uint64_t hash, frames, state, sent;
	uint64_t stack[STACK_COUNTER_COUNT], serve[SERVE_COUNTER_COUNT];
};

/* The fast paths that a run may take. */
struct paths {
	bool tcp, plain;
};

/* Takes what the core has sent. */
static void
frames_take(struct edges *e)
{
	struct mem_port *port = e->sc->cores[0].port;
	struct sim_segment seg;
	const uint8_t *frame;
	uint32_t len;

	while ((frame = mem_port_sent(port, &len)) != NULL) {
		e->frames++;
		sim_hash_in(&e->hash, &e->sc->now_ns, sizeof e->sc->now_ns);
		sim_hash_in(&e->hash, frame, len);
		if (sim_read_segment(&seg, frame, len) && seg.tcp.dst_port == e->port) {
			if (seg.tcp.flags & TCP_SYN)
				e->ack = seg.tcp.seq + 1;
			else if (seg.tcp.seq == e->ack)
				e->ack += seg.tcp.payload.len + !!(seg.tcp.flags & TCP_FIN);
			if (seg.tcp.opt.seen & TCP_HAS_TIMESTAMPS)
				e->ts_echo = seg.tcp.opt.ts_value;
		}
		mem_port_done(port);
	}
}

static void
turn(struct edges *e)
{
	sim_cores_turn(e->sc);
	frames_take(e);
}

/* Lets time pass: mostly a round trip, at times as long as a delayed ACK or a timeout. */
static void
time_goes(struct edges *e)
{
	const uint32_t kind = sim_below(&e->rng, 40);
	const uint64_t ns = kind == 0 ? 400 * NS_PER_MS : kind < 4 ? 45 * NS_PER_MS : 100000;
	const uint32_t turns = kind < 4 ? 8 : 1 + sim_below(&e->rng, 2);

	for (uint32_t i = 0; i < turns; i++) {
		e->sc->now_ns += ns / turns + sim_below(&e->rng, 1000);
		turn(e);
	}
	e->ts_value = TIME_S * 1000 + (uint32_t)(e->sc->now_ns / NS_PER_MS);
}

/* Returns bytes `from` to `to` of the text as a segment. */
static struct sim_segment
segment_of(const struct edges *e, uint32_t from, uint32_t to)
{
	struct sim_segment seg = {
		.src_ip = SIM_PEERS,
		.dst_ip = SIM_IP,
		.tcp = {.src_port = e->port,
			.dst_port = SIM_PORT,
			.seq = e->iss + 1 + from,
			.ack = e->ack,
			.window = e->window,
			.flags = TCP_ACK | (to > from ? TCP_PSH : 0),
			.payload = {e->text + from, to - from}},
	};

	if (e->ts)
		seg.tcp.opt = (struct tcp_options){
			.seen = TCP_HAS_TIMESTAMPS, .ts_value = e->ts_value, .ts_echo = e->ts_echo};
	return seg;
}

/* ecn, mac: the last byte of the source MAC, and the ECN field. */
static void
feed(struct edges *e, const struct sim_segment *seg, enum ip_ecn ecn, uint8_t mac)
{
	uint8_t from[6], frame[MEM_FRAME_BYTES], *to;
	uint32_t len;

	memcpy(from, sim_peer_mac, sizeof from);
	from[5] ^= mac;
	len = sim_write_segment(frame, sim_mac, from, seg);
	if (ecn != IP_ECN_NOT_ECT)
		sim_frame_ecn(frame, ecn);
	to = mem_port_feed(e->sc->cores[0].port, len, FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD);
	check_ptr(to);
	memcpy(to, frame, len);
}

static void
feed_bytes(struct edges *e, uint32_t from, uint32_t to)
{
	const struct sim_segment seg = segment_of(e, from, to);

	feed(e, &seg, e->ecn ? IP_ECN_ECT0 : IP_ECN_NOT_ECT, 0);
}

/* Sends a get, of a key that may not exist, as a datagram. */
static void
feed_datagram(struct edges *e)
{
	char text[32];
	const uint32_t len = (uint32_t)sprintf(text, "get key-%u\r\n", sim_below(&e->rng, 8));
	const uint16_t udp_len = (uint16_t)(UDP_HEADER_BYTES + MC_UDP_FRAME_BYTES + len);
	uint8_t *p = mem_port_feed(e->sc->cores[0].port, UDP_AT + udp_len,
				   FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD);

	check_ptr(p);
	eth_emit(p, sim_mac, sim_peer_mac, ETH_TYPE_IPV4);
	ipv4_emit(p + ETH_HEADER_BYTES, SIM_PEERS, SIM_IP, IPV4_UDP,
		  (uint16_t)(IPV4_HEADER_BYTES + udp_len));
	udp_emit(p + UDP_AT, UDP_PORT, SIM_PORT, udp_len);
	memcpy(mc_udp_put(p + UDP_AT + UDP_HEADER_BYTES, (uint16_t)e->sent, 0, 1), text, len);
}

static void
open_conn(struct edges *e)
{
	struct sim_segment syn;

	e->port++;
	e->iss = (uint32_t)sim_random(&e->rng);
	e->len = e->sent = e->last = 0;
	e->window = WINDOW;
	e->ts = sim_chance(&e->rng, 800);
	e->ecn = sim_chance(&e->rng, 300);
	e->holds_acks = sim_chance(&e->rng, 200);
	e->ts_echo = 0;
	syn = segment_of(e, 0, 0);
	syn.tcp.seq = e->iss;
	syn.tcp.ack = 0;
	syn.tcp.flags = TCP_SYN | (e->ecn ? TCP_ECE | TCP_CWR : 0);
	syn.tcp.opt.seen |= TCP_HAS_MSS | (sim_chance(&e->rng, 500) ? TCP_HAS_WSCALE : 0) |
			    (sim_chance(&e->rng, 500) ? TCP_HAS_SACK_PERMITTED : 0);
	syn.tcp.opt.mss = MSS;
	feed(e, &syn, IP_ECN_NOT_ECT, 0);
	turn(e);
	feed_bytes(e, 0, 0);
	time_goes(e);
}

/* Appends a request to the text. */
static void
request_make(struct edges *e)
{
	const uint32_t kind = sim_below(&e->rng, 20), n = sim_below(&e->rng, 6);
	char *at = (char *)e->text + e->len;

	e->last = e->len;
	if (kind < 9)
		e->len += (uint32_t)sprintf(at, "get key-%u\r\n", n);
	else if (kind < 16)
		e->len += (uint32_t)sprintf(at, "set key-%u 0 0 %u%s\r\n%.*s\r\n", n, n * 70,
					    kind == 15 ? " noreply" : "", (int)n * 70,
					    "0123456789012345678901234567890123456789"
					    "0123456789012345678901234567890123456789"
					    "0123456789012345678901234567890123456789"
					    "0123456789012345678901234567890123456789"
					    "0123456789012345678901234567890123456789"
					    "0123456789012345678901234567890123456789"
					    "0123456789012345678901234567890123456789"
					    "0123456789012345678901234567890123456789"
					    "0123456789012345678901234567890123456789");
	else if (kind == 16)
		e->len += (uint32_t)sprintf(at, "get big\r\n");
	else if (kind == 17)
		e->len += (uint32_t)sprintf(at, "get key-1 key-2 key-9\r\n");
	else if (kind == 18)
		e->len += (uint32_t)sprintf(at, "delete key-%u\r\n", n);
	else
		e->len += (uint32_t)sprintf(at, "gets key-%u\r\n", n);
}

/* Changes one segment as the edge says, and feeds it. */
static void
feed_odd(struct edges *e, enum edge edge, uint32_t from, uint32_t to)
{
	struct sim_segment seg = segment_of(e, from, to);
	struct tcp_seg *s = &seg.tcp;
	enum ip_ecn ecn = e->ecn ? IP_ECN_ECT0 : IP_ECN_NOT_ECT;
	uint8_t mac = 0;

	switch (edge) {
	case EDGE_NO_PSH:
		s->flags &= ~TCP_PSH;
		break;
	case EDGE_FIN:
		s->flags |= TCP_FIN;
		break;
	case EDGE_ZERO_WINDOW:
		s->window = 0;
		break;
	case EDGE_SMALL_WINDOW:
		s->window = (uint16_t)(1 + sim_below(&e->rng, 200));
		break;
	case EDGE_URG:
		s->flags |= TCP_URG;
		break;
	case EDGE_ECE:
		s->flags |= TCP_ECE;
		break;
	case EDGE_CWR:
		s->flags |= TCP_CWR;
		break;
	case EDGE_MARKED:
		ecn = IP_ECN_CE;
		break;
	case EDGE_OLD_TIME:
		s->opt.ts_value -= 1 + sim_below(&e->rng, 3);
		break;
	case EDGE_LATER_TIME:
		s->opt.ts_value += 1 + sim_below(&e->rng, 3);
		break;
	case EDGE_WRONG_ECHO:
		s->opt.ts_echo += 77;
		break;
	case EDGE_NO_TIME:
		s->opt.seen = 0;
		break;
	case EDGE_OLD_ACK:
		s->ack -= 1 + sim_below(&e->rng, 3000);
		break;
	case EDGE_PART_ACK:
		s->ack -= sim_below(&e->rng, 8);
		break;
	case EDGE_EARLY_ACK:
		s->ack += 1 + sim_below(&e->rng, 3000);
		break;
	case EDGE_NO_ACK:
		s->flags &= ~TCP_ACK;
		break;
	case EDGE_SYN:
		s->flags |= TCP_SYN;
		break;
	case EDGE_OTHER_MAC:
		mac = 1;
		break;
	default:
		break;
	}
	feed(e, &seg, ecn, mac);
}

/* Sends a segment at the end of the window that the core has offered, or across it. */
static void
feed_beyond(struct edges *e, uint32_t from, uint32_t to)
{
	struct sim_segment seg = segment_of(e, from, to);
	uint32_t edge;

	if (sim_window_edge(e->sc->cores[0].core.stack, &edge))
		seg.tcp.seq = edge - sim_below(&e->rng, 3) * (to - from) / 2;
	feed(e, &seg, IP_ECN_NOT_ECT, 0);
}

/* Sends the last request once more, whole, or from a byte of it on with the next one. */
static void
feed_again(struct edges *e, enum edge edge, uint32_t before, uint32_t from, uint32_t to)
{
	if (edge == EDGE_AGAIN) {
		feed_bytes(e, before, from);
		feed_bytes(e, from, to);
	} else {
		feed_bytes(e, from - sim_below(&e->rng, from - before + 1), to);
	}
}

static void
feed_request(struct edges *e, enum edge edge)
{
	const uint32_t before = e->last, from = e->sent, to = e->len;
	const uint32_t cut = from + 1 + sim_below(&e->rng, to - from - 1);

	switch (edge) {
	case EDGE_BEYOND:
		feed_beyond(e, from, to);
		turn(e);
		feed_bytes(e, from, to);
		break;
	case EDGE_RST: {
		struct sim_segment seg = segment_of(e, from, to);

		seg.tcp.flags |= TCP_RST;
		seg.tcp.seq += 1 + sim_below(&e->rng, 100);
		feed(e, &seg, IP_ECN_NOT_ECT, 0);
		feed_bytes(e, from, to);
		break;
	}
	case EDGE_CUT:
		feed_bytes(e, from, cut);
		turn(e);
		feed_bytes(e, cut, to);
		break;
	case EDGE_AHEAD:
		feed_bytes(e, cut, to);
		if (sim_chance(&e->rng, 500))
			turn(e);
		feed_bytes(e, from, cut);
		break;
	case EDGE_AGAIN:
	case EDGE_PART_AGAIN:
		feed_again(e, edge, before < from ? before : from, from, to);
		break;
	case EDGE_TWO:
		feed_bytes(e, from, cut);
		feed_bytes(e, cut, to);
		break;
	case EDGE_DATAGRAM:
		feed_bytes(e, from, to);
		feed_datagram(e);
		break;
	default:
		feed_odd(e, edge, from, to);
	}
}

/* Sends the data of a segment that was refused for a wrong time, number or flag, and
 * acknowledges. */
static void
settle(struct edges *e, enum edge edge)
{
	if (edge != EDGE_NONE)
		feed_bytes(e, e->sent, e->len);
	else if (!e->holds_acks || sim_chance(&e->rng, 300))
		feed_bytes(e, e->len, e->len);
	else
		return;
	time_goes(e);
}

static void
step(struct edges *e)
{
	const enum edge edge =
		sim_chance(&e->rng, 500) ? EDGE_NONE : sim_below(&e->rng, EDGE_COUNT);

	e->used[edge]++;
	/* Now and then the peer's MAC is not known, and replies take the slow path. */
	if (sim_chance(&e->rng, 900))
		sim_neigh_know(e->sc->cores[0].core.stack, SIM_PEERS, sim_peer_mac, e->sc->now_ns);
	if (e->len + TEXT_SPARE > TEXT_BYTES)
		open_conn(e);
	e->window = (uint16_t)(sim_chance(&e->rng, 900) ? WINDOW : WINDOW / 2);
	request_make(e);
	if (edge == EDGE_JOINED) {
		const uint32_t first = e->last;

		request_make(e);
		e->last = first;
	}
	feed_request(e, edge);
	time_goes(e);
	settle(e, edge);
	e->sent = e->len;
	if (edge == EDGE_FIN) {
		time_goes(e);
		open_conn(e);
	}
}

static void
store_big(struct edges *e)
{
	static const uint8_t zeros[BIG_BYTES];
	const struct view key = {(const uint8_t *)"big", 3};
	struct store_core *sc = store_core_of(e->sc->store, 0);
	struct fill f;

	check(store_begin(sc, &f, key, store_hash(sc, key), BIG_BYTES, 0, 0) == STORE_OK);
	store_fill(sc, &f, zeros, BIG_BYTES);
	check(store_finish(sc, &f, STORE_SET, 0) == STORE_OK);
}

static void
play(uint64_t seed, struct paths paths, struct played *p, uint64_t used[EDGE_COUNT])
{
	static struct edges e;
	struct sim_cores_options options = sim_cores_defaults(seed);

	e = (struct edges){.rng = {seed}, .port = 1024, .ts_value = TIME_S * 1000};
	options.stack.tcp.ecn = ECN_PASSIVE;
	options.stack.tcp.congestion = sim_below(&e.rng, CC_DCTCP + 1);
	e.sc = sim_cores_create(&options);
	if (!paths.tcp)
		sim_paths_off(e.sc->cores[0].core.stack);
	e.sc->cores[0].core.serve->plain_off = !paths.plain;
	store_big(&e);
	open_conn(&e);
	for (uint32_t i = 0; i < STEPS; i++)
		step(&e);
	*p = (struct played){.hash = e.hash,
			     .frames = e.frames,
			     .state = sim_conns_hash(e.sc->cores[0].core.stack),
			     .sent = e.sent};
	for (uint32_t i = 0; i < STACK_COUNTER_COUNT; i++)
		p->stack[i] = counter_read(&stack_counters(e.sc->cores[0].core.stack)[i]);
	for (uint32_t i = 0; i < SERVE_COUNTER_COUNT; i++)
		p->serve[i] = counter_read(&serve_counters(e.sc->cores[0].core.serve)[i]);
	for (uint32_t i = 0; i < EDGE_COUNT; i++)
		used[i] += e.used[i];
	sim_cores_destroy(e.sc);
}

static void
check_same(uint64_t seed, const struct played *a, const struct played *b)
{
	for (uint32_t i = 0; i < STACK_COUNTER_COUNT; i++)
		if (a->stack[i] != b->stack[i])
			fail_msg("seed %llu: %s %llu and %llu", (unsigned long long)seed,
				 stack_counter_names[i].symbol, (unsigned long long)a->stack[i],
				 (unsigned long long)b->stack[i]);
	for (uint32_t i = 0; i < SERVE_COUNTER_COUNT; i++)
		if (a->serve[i] != b->serve[i])
			fail_msg("seed %llu: %s %llu and %llu", (unsigned long long)seed,
				 serve_counter_names[i].symbol, (unsigned long long)a->serve[i],
				 (unsigned long long)b->serve[i]);
	if (a->hash != b->hash || a->frames != b->frames)
		fail_msg("seed %llu: frames differ", (unsigned long long)seed);
	if (a->state != b->state)
		fail_msg("seed %llu: connections differ", (unsigned long long)seed);
}

static const struct paths modes[] = {{true, true}, {true, false}, {false, true}};

TEST(odd_segments_have_the_same_effect_on_both_paths)
{
	static struct played slow, fast;
	uint64_t used[EDGE_COUNT] = {0}, requests = 0, challenged = 0, frames = 0, datagrams = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		play(seed, (struct paths){false, false}, &slow, used);
		for (uint32_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
			play(seed, modes[i], &fast, used);
			check_same(seed, &slow, &fast);
		}
		requests += slow.serve[REQ_TCP];
		datagrams += slow.serve[REQ_UDP];
		challenged += slow.stack[TCP_CHALLENGED_RST];
		frames += slow.frames;
	}
	for (uint32_t i = 0; i < EDGE_COUNT; i++)
		check(used[i] > SEEDS);
	/* Each datagram was answered, in all four modes. */
	check_eq(4 * datagrams, used[EDGE_DATAGRAM]);
	/* Most requests were answered in spite of the other frames. */
	check(requests > SEEDS * STEPS * 2 / 3 && frames > requests && challenged > SEEDS / 2);
}

int
main(int argc, char **argv)
{
	static struct played slow, fast;
	uint64_t used[EDGE_COUNT] = {0}, differ = 0;

	if (argc != 3)
		return tests_run(NULL, NULL);
	for (uint64_t seed = strtoull(argv[1], NULL, 0); seed <= strtoull(argv[2], NULL, 0);
	     seed++) {
		play(seed, (struct paths){false, false}, &slow, used);
		for (uint32_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
			play(seed, modes[i], &fast, used);
			if (memcmp(&slow, &fast, sizeof slow) == 0)
				continue;
			differ++;
			printf("seed %llu differs in mode %u\n", (unsigned long long)seed, i);
		}
	}
	printf("%s to %s: %llu runs differ\n", argv[1], argv[2], (unsigned long long)differ);
	return differ != 0;
}
