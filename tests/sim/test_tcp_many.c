/*
 * Many connections. Goal: with every slot taken each connection still gets its own bytes, and a
 * flow that ended leaves nothing in the table. Method: rounds of opening all slots, talking on
 * each, and closing a random half, with other ports every round.
 */
#include "sim_frame.h"
#include "sim_rng.h"
#include "sim_stack.h"

#include "support/test.h"

#include <stdlib.h>

#define FLOWS  2000u
#define ROUNDS 4u

struct flow {
	uint32_t ip, iss, ack; /* ack: the next sequence number expected of the stack */
	uint16_t port;
	bool open;
};

struct crowd {
	struct sim_stack *ss;
	struct sim_rng rng;
	struct flow flow[FLOWS];
	struct conn *last;
	uint32_t opened, gone;
};

static void
on_opened(void *arg, struct conn *c)
{
	struct crowd *w = arg;

	w->opened++;
	w->last = c;
}

static void
on_gone(void *arg, struct conn *c)
{
	struct crowd *w = arg;

	w->gone++;
}

/* Sends a segment and takes the answer. False: there was none. */
static bool
talk(struct crowd *w, struct flow *f, uint8_t flags, uint32_t seq, struct sim_segment *answer)
{
	struct sim_segment seg = {
		.src_ip = f->ip,
		.dst_ip = SIM_IP,
		.tcp = {.src_port = f->port,
			.dst_port = SIM_PORT,
			.seq = f->iss + seq,
			.ack = f->ack,
			.window = 10000,
			.flags = flags},
	};
	bool got = false;
	const uint8_t *frame;
	uint32_t len;

	if (flags & TCP_PSH)
		seg.tcp.payload = (struct view){(const uint8_t *)&f->iss, sizeof f->iss};
	check(sim_feed_segment(w->ss->port, sim_mac, sim_peer_mac, &seg));
	w->ss->now_ns += 1000;
	sim_stack_turn(w->ss);
	while ((frame = mem_port_sent(w->ss->port, &len)) != NULL) {
		if (sim_read_segment(answer, frame, len)) {
			check_eq(answer->dst_ip, f->ip);
			check_eq(answer->tcp.dst_port, f->port);
			got = true;
		}
		mem_port_done(w->ss->port);
	}
	return got;
}

static void
open_flow(struct crowd *w, struct flow *f, uint32_t round, uint32_t i)
{
	struct sim_segment answer;

	*f = (struct flow){
		.ip = SIM_PEERS + i % 5,
		.port = (uint16_t)(1024 + round * FLOWS + i),
		.iss = (uint32_t)sim_random(&w->rng),
		.open = true,
	};
	check(talk(w, f, TCP_SYN, 0, &answer));
	check_eq(answer.tcp.flags, TCP_SYN | TCP_ACK);
	f->ack = answer.tcp.seq + 1;
	check(!talk(w, f, TCP_ACK, 1, &answer));
}

/* Sends four bytes unique to this flow, which must arrive on its connection. */
static void
speak(struct crowd *w, struct flow *f)
{
	struct sim_segment answer;
	struct conn *c;

	check(talk(w, f, TCP_ACK | TCP_PSH, 1, &answer));
	c = stack_pop_ready(w->ss->stack);
	check_ptr(c);
	check_eq(conn_peek(c).len, sizeof f->iss);
	check_bytes(conn_peek(c).data, &f->iss, sizeof f->iss);
	conn_advance(w->ss->stack, c, sizeof f->iss);
	check_null(stack_pop_ready(w->ss->stack));
}

TEST(every_flow_has_its_own_bytes)
{
	struct crowd *w = calloc(1, sizeof *w);
	struct stack_config cfg = sim_config(3);
	const struct stack_user user = {.arg = w, .opened = on_opened, .gone = on_gone};
	struct sim_segment answer;

	cfg.tcp.conns_max = FLOWS;
	w->rng.state = 11;
	w->ss = sim_stack_create(&cfg, 1024, 0);
	stack_attach(w->ss->stack, &user);
	sim_stack_turn(w->ss);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < FLOWS; i++) {
			if (w->flow[i].open)
				continue;
			open_flow(w, &w->flow[i], round, i);
			speak(w, &w->flow[i]);
		}
		for (uint32_t i = 0; i < FLOWS; i++) {
			if (round + 1 < ROUNDS && sim_chance(&w->rng, 500))
				continue;
			check(!talk(w, &w->flow[i], TCP_RST, 5, &answer));
			w->flow[i].open = false;
		}
		check_eq(sim_stack_count(w->ss, TCP_RESET_BY_PEER), w->gone);
	}
	check_eq(w->opened, w->gone);
	check_eq(sim_stack_count(w->ss, TCP_REFUSED_TABLE), 0);
	/* Now all flows are unknown. */
	for (uint32_t i = 0; i < FLOWS; i++) {
		w->ss->now_ns += 2000000;
		check(talk(w, &w->flow[i], TCP_ACK, 5, &answer));
		check_eq(answer.tcp.flags, TCP_RST);
	}
	sim_stack_destroy(w->ss);
	free(w);
}
