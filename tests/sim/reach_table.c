/*
 * A table of how much of a link one connection uses, and of how bulk slows others: our stack talks
 * to itself over 10 Gbit/s. It runs in virtual time, so the figures are the same on every machine.
 *
 * reach_table [--quick] [--json FILE] [--seed N]
 *
 * bulk: one connection on which the server sends endless values of 64 KiB, with a round trip of 1
 * and 20 ms and a queue of the same length. The share of the link during the second second, where 1
 * is the most that frames of 1,500 bytes carry. short: with a round trip of 100 us, four
 * connections send bulk, and a fifth requests 1,000 bytes 50 us after each reply. The 99th
 * percentile of the fifth's replies, with CUBIC before a queue of 1 ms that drops, and with DCTCP
 * before the same queue, which marks above 65 frames (as RFC 8257's authors did at 10 Gbit/s).
 *
 * Exit: 1 if a byte was wrong or a connection ended; without --quick also if bulk takes less than
 * 0.95 of a link, or DCTCP leaves more than a fifth of CUBIC's time.
 */
#include "sim_pair.h"

#include "base/check.h"
#include "base/time_units.h"
#include "support/sorted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINK_RATE     1250000000ull /* bytes a second */
#define SHORT_RTT_NS  100000ull
#define SHORT_WAIT_NS 50000ull
#define QUEUE_NS      1000000ull
#define MARK_FRAMES   65u
#define FRAME_BYTES   1514u
#define DATA_BYTES    1448u /* data of a frame, with timestamps */
#define VALUE_BYTES   65536u
#define ASK_BYTES     50u
#define REPLY_BYTES   1000u
#define CONNS_MAX     5u
#define REPLIES_MAX   20000u
#define FLIGHTS       65536u
#define SHARE_LEAST   0.95
#define RATIO_MOST    0.2

static uint8_t value[2 * VALUE_BYTES];

struct stream {
	struct conn *conn[2]; /* enum sim_side */
	uint64_t sent, got;
};

struct reach {
	struct sim_pair *pair;
	struct stream stream[CONNS_MAX];
	uint32_t bulks, opened[2];
	bool shorts; /* the last connection requests short replies */
	uint64_t asked_ns, ask_at_ns;
	uint32_t replies;
	uint64_t reply_ns[REPLIES_MAX];
	bool wrong;
};

struct end {
	struct reach *r;
	enum sim_side side;
};

/* Connections are opened one after the other, so both sides see them in one order. */
static void
on_opened(void *arg, struct conn *c)
{
	const struct end *e = arg;

	e->r->stream[e->r->opened[e->side]++].conn[e->side] = c;
}

static void
on_gone(void *arg, struct conn *c)
{
	((const struct end *)arg)->r->wrong = true;
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	on_gone(arg, c);
}

static void
on_release(const void *arg)
{
}

static void
read_stream(struct reach *r, struct stream *s)
{
	struct stack *stack = r->pair->side[SIM_CLIENT]->stack;
	struct conn *c = s->conn[SIM_CLIENT];

	for (struct view v = conn_peek(c); v.len > 0; v = conn_peek(c)) {
		r->wrong |= memcmp(v.data, value + s->got % VALUE_BYTES, v.len) != 0;
		s->got += v.len;
		conn_advance(stack, c, v.len);
	}
}

static void
send_bulk(struct reach *r, struct stream *s)
{
	struct stack *stack = r->pair->side[SIM_SERVER]->stack;
	struct conn *c = s->conn[SIM_SERVER];

	while (conn_piece_fits(stack, c) &&
	       conn_write_external(stack, c, value, VALUE_BYTES, on_release, NULL))
		s->sent += VALUE_BYTES;
}

static bool
write_copy(struct stack *stack, struct conn *c, uint64_t from, uint32_t len)
{
	if (!conn_writable(stack, c, 1))
		return false;
	memcpy(conn_reserve(stack, c, len), value + from % VALUE_BYTES, len);
	conn_commit(stack, c, len);
	return true;
}

static void
answer(struct reach *r, struct stream *s)
{
	struct stack *stack = r->pair->side[SIM_SERVER]->stack;
	struct conn *c = s->conn[SIM_SERVER];

	while (conn_unread(c) >= ASK_BYTES && conn_peek(c).len >= ASK_BYTES &&
	       write_copy(stack, c, s->sent, REPLY_BYTES)) {
		conn_advance(stack, c, ASK_BYTES);
		s->sent += REPLY_BYTES;
	}
}

static void
ask(struct reach *r, struct stream *s)
{
	const uint64_t now_ns = r->pair->now_ns;

	if (r->asked_ns != 0) {
		if (s->got < (uint64_t)(r->replies + 1) * REPLY_BYTES)
			return;
		if (r->replies < REPLIES_MAX)
			r->reply_ns[r->replies] = now_ns - r->asked_ns;
		r->replies++;
		r->asked_ns = 0;
		r->ask_at_ns = now_ns + SHORT_WAIT_NS;
	}
	if (now_ns >= r->ask_at_ns &&
	    write_copy(r->pair->side[SIM_CLIENT]->stack, s->conn[SIM_CLIENT], 0, ASK_BYTES))
		r->asked_ns = now_ns;
}

static void
serve(void *arg)
{
	const struct end *e = arg;
	struct reach *r = e->r;

	while (stack_pop_ready(r->pair->side[e->side]->stack) != NULL)
		continue; /* all connections are examined below */
	for (uint32_t i = 0; i < r->opened[e->side] && !r->wrong; i++) {
		struct stream *s = &r->stream[i];

		if (e->side == SIM_CLIENT)
			read_stream(r, s);
		if (i < r->bulks && e->side == SIM_SERVER)
			send_bulk(r, s);
		else if (i >= r->bulks && e->side == SIM_SERVER)
			answer(r, s);
		else if (i >= r->bulks)
			ask(r, s);
	}
}

static void
reach_create(struct reach *r, struct end ends[2], const struct sim_faults *faults,
	     enum congestion congestion, uint64_t seed)
{
	struct stack_config cfg[2];

	for (uint32_t i = 0; i < 2; i++) {
		cfg[i] = sim_config(seed * 2 + i);
		cfg[i].tcp.conns_max = 16;
		cfg[i].tcp.chunks = 4096;
		cfg[i].tcp.congestion = congestion;
		/* The client's window covers the link, as that of a host with its memory. */
		cfg[i].net.rx_frames_max = i == SIM_CLIENT ? 65536 : 5120;
	}
	r->pair = sim_pair_create(cfg, faults, seed);
	for (uint32_t i = 0; i < 2; i++) {
		struct sim_stack *side = r->pair->side[i];
		struct stack_user user;

		ends[i] = (struct end){r, i};
		user = (struct stack_user){&ends[i], on_opened, on_gone, on_failed};
		stack_attach(side->stack, &user);
		side->serve = serve;
		side->arg = &ends[i];
	}
	for (uint32_t i = 0; i < r->bulks + r->shorts; i++) {
		ensure(sim_pair_connect(r->pair) != NULL);
		sim_pair_run(r->pair, r->pair->now_ns + 2 * faults->delay_ns, NULL, NULL);
	}
}

static uint64_t
stack_sum(const struct reach *r, uint32_t which)
{
	return sim_stack_count(r->pair->side[0], which) + sim_stack_count(r->pair->side[1], which);
}

static void
print_counts(const struct reach *r)
{
	static const uint32_t shown[] = {TCP_RETRANSMITS, TCP_FAST_RECOVERIES,
					 TCP_TIMEOUTS_RETRANSMIT, TCP_ECN_REDUCTIONS};

	for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
		printf("  %s %llu", stack_counter_names[shown[i]].symbol,
		       (unsigned long long)stack_sum(r, shown[i]));
	printf("  queue full %llu, marked %llu\n",
	       (unsigned long long)r->pair->wire->counts.queue_full,
	       (unsigned long long)r->pair->wire->counts.marked);
}

/* Returns the share of the link between warm_ns and end_ns. */
static double
bulk_share(uint64_t rtt_ns, uint64_t warm_ns, uint64_t end_ns, uint64_t seed, bool *wrong)
{
	static struct reach r;
	struct end ends[2];
	const struct sim_faults faults = {
		.delay_ns = rtt_ns / 2, .rate = LINK_RATE, .queue_ns = rtt_ns, .flights = FLIGHTS};
	uint64_t start_ns, before;
	double most;

	r = (struct reach){.bulks = 1};
	reach_create(&r, ends, &faults, CC_CUBIC, seed);
	start_ns = r.pair->now_ns;
	sim_pair_run(r.pair, start_ns + warm_ns, NULL, NULL);
	before = r.stream[0].got;
	sim_pair_run(r.pair, start_ns + end_ns, NULL, NULL);
	most = (double)LINK_RATE * (double)(end_ns - warm_ns) / 1e9 * DATA_BYTES / FRAME_BYTES;
	printf("bulk, %g ms: %.3f of the link, %.3f from the start", (double)rtt_ns / 1e6,
	       (double)(r.stream[0].got - before) / most,
	       (double)r.stream[0].got / most * (double)(end_ns - warm_ns) / (double)end_ns);
	print_counts(&r);
	*wrong |= r.wrong;
	sim_pair_destroy(r.pair);
	return (double)(r.stream[0].got - before) / most;
}

/* Returns the 99th percentile of the replies' times, in us. */
static double
short_p99_us(enum congestion congestion, uint64_t run_ns, uint64_t seed, bool *wrong)
{
	static struct reach r;
	struct end ends[2];
	const struct sim_faults faults = {
		.delay_ns = SHORT_RTT_NS / 2,
		.rate = LINK_RATE,
		.queue_ns = QUEUE_NS,
		.mark_ns = MARK_FRAMES * FRAME_BYTES * NS_PER_S / LINK_RATE,
		.flights = FLIGHTS,
	};
	uint64_t got = 0;
	uint32_t n;
	double p99;

	r = (struct reach){.bulks = CONNS_MAX - 1, .shorts = true};
	reach_create(&r, ends, &faults, congestion, seed);
	sim_pair_run(r.pair, r.pair->now_ns + run_ns, NULL, NULL);
	n = r.replies < REPLIES_MAX ? r.replies : REPLIES_MAX;
	sort_u64(r.reply_ns, n);
	p99 = n == 0 ? 0 : (double)r.reply_ns[n - 1 - n / 100] / 1e3;
	for (uint32_t i = 0; i < r.bulks; i++)
		got += r.stream[i].got;
	printf("short beside bulk, %s: %u replies, median %.0f us, p99 %.0f us, bulk %.3f of the "
	       "link",
	       congestion == CC_DCTCP ? "DCTCP" : "CUBIC", r.replies,
	       n == 0 ? 0 : (double)r.reply_ns[n / 2] / 1e3, p99,
	       (double)got * FRAME_BYTES / DATA_BYTES / LINK_RATE / ((double)run_ns / 1e9));
	print_counts(&r);
	*wrong |= r.wrong || n == 0;
	sim_pair_destroy(r.pair);
	return p99;
}

int
main(int argc, char **argv)
{
	uint64_t seed = 1, whole_ns;
	const char *json = NULL;
	double near, far, ratio;
	bool wrong = false, quick = false;
	FILE *f;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0)
			quick = true;
		else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
			json = argv[++i];
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			seed = (uint64_t)atoll(argv[++i]);
		else
			return 2;
	}
	for (uint32_t i = 0; i < sizeof value; i++)
		value[i] = (uint8_t)(i % VALUE_BYTES * 31 + (i % VALUE_BYTES >> 8) * 7);
	whole_ns = quick ? NS_PER_S / 50 : NS_PER_S;
	near = bulk_share(1000000, whole_ns, 2 * whole_ns, seed, &wrong);
	far = bulk_share(20000000, whole_ns, 2 * whole_ns, seed, &wrong);
	ratio = short_p99_us(CC_DCTCP, whole_ns, seed, &wrong) /
		short_p99_us(CC_CUBIC, whole_ns, seed, &wrong);
	printf("DCTCP's p99 by CUBIC's: %.3f\n", ratio);
	if (wrong)
		printf("a byte was wrong, or a connection ended\n");
	if (json != NULL) {
		f = fopen(json, "w");
		ensure(f != NULL);
		fprintf(f,
			"{\"bulk_10g_1ms_share\": %.4f, \"bulk_10g_20ms_share\": %.4f, "
			"\"dctcp_short_p99_ratio\": %.4f}\n",
			near, far, ratio);
		fclose(f);
	}
	if (!quick && !(near >= SHARE_LEAST && far >= SHARE_LEAST && ratio <= RATIO_MOST)) {
		printf("at least %g and %g of the link, and at most %g, are wanted\n", SHARE_LEAST,
		       SHARE_LEAST, RATIO_MOST);
		return 1;
	}
	return wrong;
}
