/*
 * Fairness. Goal: a client that pipelines without end raises the 99th percentile of 50 clients with
 * one request at a time by at most half, and -R is the reason: without it the percentile rises
 * more. Method: one core in memory on a lossless cable, and a clock that advances by the cost of
 * each turn, frame and request. The costs were measured for this simulation by the thread's CPU
 * clock: about 450 ns for a request alone in its frame, 190 ns for one of many in a frame.
 */
#include "serve/serve.h"
#include "sim_core.h"
#include "sim_peer.h"
#include "sim_wire.h"
#include "stack/stack.h"
#include "support/sorted.h"

#include "support/test.h"

#include <stdlib.h>

#define POLITE      50u
#define ROUNDS      60u
#define SAMPLES     (POLITE * ROUNDS)
#define GREEDY_MAX  200000u /* more requests than the client can send */
#define TURN_NS     500u
#define REQUEST_NS  190u
#define FRAME_NS    90u
#define STEPS_MAX   200000u
#define ASK         "get none\r\n"
#define ANSWER      "END\r\n"
#define PIPELINE    4096u /* requests sent ahead */
#define WARM_ROUNDS 5u

struct polite {
	struct sim_peer *peer;
	uint32_t rounds;
	uint64_t asked_ns;
};

struct run {
	struct sim_cores *sc;
	struct mem_port *cable;
	struct sim_wire *wire;
	struct sim_peers *peers;
	struct polite polite[POLITE];
	struct sim_peer *greedy; /* NULL: none */
	uint32_t greedy_asked;
	uint32_t samples;
	uint64_t took_ns[SAMPLES];
};

/* Returns the cost of the core's work so far, in ns. */
static uint64_t
worked_ns(const struct run *r)
{
	const struct core *core = &r->sc->cores[0].core;
	const struct counter *stack = stack_counters(core->stack);
	const uint64_t frames = counter_read(&stack[RX_FRAMES]) + counter_read(&stack[TX_FRAMES]);

	return FRAME_NS * frames + REQUEST_NS * counter_read(&serve_counters(core->serve)[REQ_TCP]);
}

static void
ask(struct run *r, struct polite *p)
{
	p->asked_ns = r->sc->now_ns;
	sim_peer_send(p->peer, ASK, sizeof ASK - 1);
}

/* Sends the next request of each client that has its answer. */
static void
look(struct run *r)
{
	for (uint32_t i = 0; i < POLITE; i++) {
		struct polite *p = &r->polite[i];

		if (p->rounds == ROUNDS + WARM_ROUNDS ||
		    p->peer->in_len < (p->rounds + 1) * (sizeof ANSWER - 1))
			continue;
		if (p->rounds++ >= WARM_ROUNDS)
			r->took_ns[r->samples++] = r->sc->now_ns - p->asked_ns;
		if (p->rounds < ROUNDS + WARM_ROUNDS)
			ask(r, p);
	}
}

static void
press(struct run *r)
{
	const uint32_t got = r->greedy->in_len / (sizeof ANSWER - 1);

	for (; r->greedy_asked < got + PIPELINE && r->greedy_asked < GREEDY_MAX; r->greedy_asked++)
		sim_peer_send(r->greedy, ASK, sizeof ASK - 1);
}

static void
build(struct run *r, uint32_t requests_max, bool greedy)
{
	struct sim_cores_options options = sim_cores_defaults(7);
	const struct sim_faults none = {.delay_ns = 0};

	options.conn_requests_max = requests_max;
	options.memory_bytes = 16u << 20;
	options.stack.tcp.conns_max = 128; /* more than needed */
	r->sc = sim_cores_create(&options);
	r->cable = mem_port_create(sim_peer_mac, 2048, 0);
	r->wire = sim_wire_create(r->sc->cores[0].port, r->cable, &none, 1);
	r->peers = sim_peers_create(r->cable, 2);
	for (uint32_t i = 0; i < POLITE; i++) {
		r->polite[i].peer =
			sim_peer_open(r->peers, SIM_PEERS + 1, (uint16_t)(2000 + i), 1024, 1024);
		ask(r, &r->polite[i]);
	}
	if (greedy)
		r->greedy =
			sim_peer_open(r->peers, SIM_PEERS + 1, 3000, GREEDY_MAX * (sizeof ASK - 1),
				      GREEDY_MAX * (sizeof ANSWER - 1));
}

/* Returns the 99th percentile of the polite clients' waiting times, in ns. */
static uint64_t
p99_ns(uint32_t requests_max, bool greedy)
{
	struct run *r = calloc(1, sizeof *r);
	uint64_t result;

	check_ptr(r);
	build(r, requests_max, greedy);
	for (uint32_t i = 0; i < STEPS_MAX && r->samples < SAMPLES; i++) {
		const uint64_t before_ns = worked_ns(r);

		if (greedy)
			press(r);
		sim_wire_turn(r->wire, r->sc->now_ns);
		sim_cores_turn(r->sc);
		r->sc->now_ns += TURN_NS + worked_ns(r) - before_ns;
		sim_wire_turn(r->wire, r->sc->now_ns);
		sim_peers_turn(r->peers, r->sc->now_ns);
		look(r);
		sim_peers_turn(r->peers, r->sc->now_ns); /* new requests are sent at once */
	}
	check_eq(r->samples, SAMPLES);
	check(!greedy || r->greedy_asked < GREEDY_MAX); /* it sent requests until the end */
	sort_u64(r->took_ns, SAMPLES);
	result = r->took_ns[SAMPLES * 99 / 100];
	sim_peers_destroy(r->peers);
	sim_wire_destroy(r->wire);
	mem_port_destroy(r->cable);
	sim_cores_destroy(r->sc);
	free(r);
	return result;
}

TEST(one_greedy_client_does_not_slow_fifty_polite_ones_by_more_than_half)
{
	const uint64_t alone = p99_ns(20, false), beside = p99_ns(20, true);

	print_message("p99 alone %llu ns, beside a greedy client %llu ns\n",
		      (unsigned long long)alone, (unsigned long long)beside);
	check(beside * 2 <= alone * 3);
}

TEST(without_a_request_limit_one_greedy_client_slows_polite_ones)
{
	const uint64_t alone = p99_ns(65535, false), beside = p99_ns(65535, true);

	print_message("p99 alone %llu ns, beside a greedy client without -R %llu ns\n",
		      (unsigned long long)alone, (unsigned long long)beside);
	check(beside * 2 > alone * 3);
}
