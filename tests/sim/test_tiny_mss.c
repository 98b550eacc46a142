/*
 * Peers with a small MSS. Goal: fifty peers that request values of 1 MB in short segments raise the
 * 99th percentile of ten honest clients at most to 1.5 times that with segments of 1460 bytes; if
 * they request more than the core can send, at most to twice that. Method: one core in memory on a
 * lossless cable, a clock that advances by the cost of each turn, frame and request, as in
 * test_fairness.c, and of the copied bytes. The fifty send their requests one after the other.
 */
#include "serve/serve.h"
#include "sim_core.h"
#include "sim_peer.h"
#include "sim_wire.h"
#include "stack/stack.h"
#include "support/sorted.h"

#include "support/test.h"

#include <stdlib.h>

#define GREEDY      50u
#define HONEST      10u
#define BIG_BYTES   1000000u
#define BIG_HEADER  sizeof("VALUE big 0 1000000\r\n") - 1
#define BIG_ANSWER  (BIG_BYTES + BIG_HEADER + sizeof("\r\nEND\r\n") - 1)
#define RUN_NS      100000000u
#define THINK_NS    200000u /* an honest client sends one request in this time */
#define SAMPLES_MAX (HONEST * RUN_NS / THINK_NS)
#define TURN_NS     500u
#define REQUEST_NS  190u
#define FRAME_NS    90u
#define COPY_BYTES  16u /* bytes copied in a ns */
#define ASK         "get none\r\n"
#define ANSWER      "END\r\n"
#define ASK_BIG     "get big\r\n"

struct honest {
	struct sim_peer *peer;
	uint32_t asked;
	uint64_t asked_ns;
};

struct load {
	uint16_t mss;
	/* Each greedy peer sends one request in this time. */
	uint32_t window, period_ns;
};

struct run {
	struct load load;
	struct sim_cores *sc;
	struct mem_port *cable;
	struct sim_wire *wire;
	struct sim_peers *peers;
	struct honest honest[HONEST];
	struct sim_peer *greedy[GREEDY];
	uint32_t big_asked[GREEDY];
	uint32_t big_answered;
	uint64_t begun_ns;
	uint32_t samples;
	uint64_t took_ns[SAMPLES_MAX];
};

static uint64_t
stack_count(const struct run *r, uint32_t which)
{
	return counter_read(&stack_counters(r->sc->cores[0].core.stack)[which]);
}

/* Returns the cost of the core's work so far, in ns. */
static uint64_t
worked_ns(const struct run *r)
{
	const uint64_t requests =
		counter_read(&serve_counters(r->sc->cores[0].core.serve)[REQ_TCP]);

	return FRAME_NS * (stack_count(r, RX_FRAMES) + stack_count(r, TX_FRAMES)) +
	       REQUEST_NS * requests;
}

/* Returns the bytes of all answers. */
static uint64_t
copied_bytes(const struct run *r)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < GREEDY; i++)
		sum += (uint64_t)r->big_asked[i] * BIG_ANSWER + r->greedy[i]->in_len;
	return sum;
}

static void
ask(struct run *r, struct honest *h)
{
	h->asked_ns = r->sc->now_ns;
	h->asked++;
	sim_peer_send(h->peer, ASK, sizeof ASK - 1);
}

static void
honest_look(struct run *r, struct honest *h)
{
	const bool answered = h->peer->in_len == h->asked * (sizeof ANSWER - 1);

	if (answered && h->asked_ns != 0 && r->samples < SAMPLES_MAX) {
		r->took_ns[r->samples++] = r->sc->now_ns - h->asked_ns;
		h->asked_ns = 0;
	}
	if (answered && r->sc->now_ns - r->begun_ns >= (uint64_t)h->asked * THINK_NS)
		ask(r, h);
}

/* Empties the buffer of a complete answer, and requests the next one. */
static void
greedy_look(struct run *r, uint32_t i)
{
	struct sim_peer *p = r->greedy[i];

	if (p->in_len == BIG_ANSWER) {
		memset(p->have, 0, p->in_len);
		p->irs += p->in_len;
		p->in_len = 0;
		r->big_answered++;
		r->big_asked[i]++;
	}
	if (p->in_len == 0 && p->out_len / (sizeof ASK_BIG - 1) == r->big_asked[i] &&
	    r->sc->now_ns - r->begun_ns >= (uint64_t)r->big_asked[i] * r->load.period_ns +
						   i * (r->load.period_ns / GREEDY))
		sim_peer_send(p, ASK_BIG, sizeof ASK_BIG - 1);
}

static void
step(struct run *r)
{
	const uint64_t before_ns = worked_ns(r), before = copied_bytes(r);

	sim_wire_turn(r->wire, r->sc->now_ns);
	sim_cores_turn(r->sc);
	r->sc->now_ns += TURN_NS + worked_ns(r) - before_ns;
	sim_wire_turn(r->wire, r->sc->now_ns);
	sim_peers_turn(r->peers, r->sc->now_ns);
	r->sc->now_ns += (copied_bytes(r) - before) / COPY_BYTES;
}

static void
store_big(struct run *r)
{
	static const uint8_t zeros[BIG_BYTES];
	const struct view key = {(const uint8_t *)"big", 3};
	struct store_core *sc = store_core_of(r->sc->store, 0);
	struct fill f;

	check_eq(store_begin(sc, &f, key, store_hash(sc, key), BIG_BYTES, 0, 0), STORE_OK);
	store_fill(sc, &f, zeros, BIG_BYTES);
	check_eq(store_finish(sc, &f, STORE_SET, 0), STORE_OK);
}

static struct sim_peer *
open_peer(struct run *r, uint16_t port, uint32_t out_cap, uint32_t in_cap)
{
	return sim_peer_open(r->peers, SIM_PEERS + 1, port, out_cap, in_cap);
}

static void
build(struct run *r)
{
	struct sim_cores_options options = sim_cores_defaults(7);
	const struct sim_faults none = {.delay_ns = 0};

	options.memory_bytes = 64u << 20;
	options.stack.tcp.conns_max = 128;
	options.stack.tcp.chunks = 4096;
	r->sc = sim_cores_create(&options);
	store_big(r);
	r->cable = mem_port_create(sim_peer_mac, 4096, 0);
	r->wire = sim_wire_create(r->sc->cores[0].port, r->cable, &none, 1);
	r->peers = sim_peers_create(r->cable, 2);
	for (uint32_t i = 0; i < HONEST; i++)
		r->honest[i].peer =
			open_peer(r, (uint16_t)(2000 + i), SAMPLES_MAX * (sizeof ASK - 1),
				  SAMPLES_MAX * (sizeof ANSWER - 1));
	for (uint32_t i = 0; i < GREEDY; i++) {
		r->greedy[i] = open_peer(r, (uint16_t)(3000 + i), 1000, BIG_ANSWER + UINT16_MAX);
		r->greedy[i]->mss = r->load.mss;
		r->greedy[i]->window = r->load.window;
	}
	for (uint32_t i = 0; i < 1000; i++)
		step(r);
	for (uint32_t i = 0; i < GREEDY; i++)
		check_eq(r->greedy[i]->state, PEER_OPEN);
	r->begun_ns = r->sc->now_ns;
}

static void
destroy(struct run *r)
{
	sim_peers_destroy(r->peers);
	sim_wire_destroy(r->wire);
	mem_port_destroy(r->cable);
	sim_cores_destroy(r->sc);
	free(r);
}

static uint64_t
p99_ns(struct load load)
{
	struct run *r = calloc(1, sizeof *r);
	uint64_t result;

	check_ptr(r);
	r->load = load;
	build(r);
	while (r->sc->now_ns - r->begun_ns < RUN_NS) {
		for (uint32_t i = 0; i < HONEST; i++)
			honest_look(r, &r->honest[i]);
		for (uint32_t i = 0; i < GREEDY; i++)
			greedy_look(r, i);
		sim_peers_turn(r->peers, r->sc->now_ns); /* new requests are sent at once */
		step(r);
	}
	check(r->samples > SAMPLES_MAX / 2);
	sort_u64(r->took_ns, r->samples);
	result = r->took_ns[r->samples * 99 / 100];
	print_message(
		"MSS %u, window %u, each asks in %u us: p99 %llu ns; %u values in %llu frames\n",
		load.mss, load.window, load.period_ns / 1000, (unsigned long long)result,
		r->big_answered, (unsigned long long)stack_count(r, TX_FRAMES));
	destroy(r);
	return result;
}

/* Compares short with full segments; most: the limit for short segments, in halves of the figure
 * with full ones. */
static void
with_short_segments(uint16_t mss, uint32_t window, uint32_t period_ns, uint32_t most)
{
	const struct load full = {1460, window, period_ns};
	const struct load tiny = {mss, window, period_ns};

	check(p99_ns(tiny) * 2 <= p99_ns(full) * most);
}

TEST(fast_readers_of_short_segments_do_not_slow_others_by_more_than_half)
{
	with_short_segments(64, UINT16_MAX, 50000000, 3);
	with_short_segments(256, UINT16_MAX, 50000000, 3);
	with_short_segments(536, UINT16_MAX, 50000000, 3);
}

TEST(slow_readers_of_short_segments_do_not_slow_others_by_more_than_half)
{
	with_short_segments(64, 8192, 50000000, 3);
}

TEST(short_segments_that_overload_the_core_do_not_slow_others_to_more_than_twice)
{
	with_short_segments(64, UINT16_MAX, 12500000, 4);
}
