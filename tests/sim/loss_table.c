/*
 * A table of throughput against loss: our stack talks to itself over a cable of 1 Gbit/s that loses
 * frames in each direction, behind a queue of 20 ms. It runs in virtual time, so the figures are
 * the same on every machine.
 *
 * loss_table [--quick] [--json FILE] [--seeds N]
 *
 * bulk:  one connection, the server sends 10 MB; MB (10^6 bytes) a second from the client's SYN
 *        to the last byte.
 * reply: one connection, 2,000 requests of 50 bytes, each sent after the reply of 1,000 bytes to
 *        the one before; replies a second, and the 99th percentile of their times (ms).
 *
 * A cell is the mean over the seeds. A run that does not end in LIMIT_NS, or that TCP gives up,
 * counts with the bytes that it moved until then.
 *
 * Exit: 1 if a byte was wrong, or if a connection was reset for another reason than RETRIES_MAX
 *       timeouts.
 */
#include "sim_pair.h"

#include "base/check.h"
#include "base/time_units.h"
#include "support/sorted.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_NS      (1000 * NS_PER_S)
#define LINK_RATE     125000000ull /* bytes a second */
#define LINK_QUEUE_NS 20000000ull
#define REQUEST_BYTES 50u
#define REPLY_BYTES   1000u
#define REQUESTS_MAX  2000u

static const uint32_t losses_permille[] = {0, 1, 10, 30, 50, 100, 200};
static const uint64_t rtts_us[] = {200, 2000, 20000};
#define LOSSES (sizeof losses_permille / sizeof *losses_permille)
#define RTTS   (sizeof rtts_us / sizeof *rtts_us)

struct size {
	uint32_t bulk_bytes, requests, seeds;
};

/* The state of one connection and its planned transfer. */
struct talk {
	struct sim_pair *pair;
	struct conn *conn[2];
	uint64_t ask_bytes, answer_bytes; /* bytes of a request and of a reply */
	uint32_t requests;                /* 0: the server sends answer_bytes without a request */
	uint64_t sent[2], got[2];
	uint64_t asked_ns, began_ns;
	uint32_t waits; /* number of waits for a reply */
	uint64_t wait_ns[REQUESTS_MAX];
	uint64_t holes; /* black holes detected, although there are none */
	bool opened[2], wrong, given_up;
};

struct cell {
	double mb_s, replies_s, slow_ms;
	uint32_t given_up;
	uint64_t holes;
};

static uint8_t
text_at(uint64_t offset, uint32_t side)
{
	return (uint8_t)(offset * 31 + (offset >> 8) * 7 + side * 101);
}

struct end {
	struct talk *talk;
	uint32_t side;
};

static void
on_opened(void *arg, struct conn *c)
{
	const struct end *e = arg;

	e->talk->conn[e->side] = c;
	e->talk->opened[e->side] = true;
}

static void
on_gone(void *arg, struct conn *c)
{
	const struct end *e = arg;

	e->talk->conn[e->side] = NULL;
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	const struct end *e = arg;

	e->talk->wrong = true;
}

static void
read_all(struct talk *t, uint32_t side)
{
	struct stack *s = t->pair->side[side]->stack;

	for (struct view v = conn_peek(t->conn[side]); v.len > 0; v = conn_peek(t->conn[side])) {
		for (uint32_t i = 0; i < v.len; i++)
			t->wrong |= v.data[i] != text_at(t->got[side] + i, !side);
		t->got[side] += v.len;
		conn_advance(s, t->conn[side], v.len);
	}
}

/* Returns how many bytes this side may send in all, by what it has received. */
static uint64_t
due(const struct talk *t, uint32_t side)
{
	if (t->requests == 0)
		return side == SIM_SERVER ? t->answer_bytes : 0;
	if (side == SIM_SERVER)
		return t->got[SIM_SERVER] / t->ask_bytes * t->answer_bytes;
	if (t->waits == t->requests)
		return t->sent[SIM_CLIENT];
	return (t->got[SIM_CLIENT] / t->answer_bytes + 1) * t->ask_bytes;
}

static void
write_due(struct talk *t, uint32_t side)
{
	struct stack *s = t->pair->side[side]->stack;
	const uint64_t until = due(t, side);

	while (t->sent[side] < until && conn_writable(s, t->conn[side], 1)) {
		const uint64_t left = until - t->sent[side];
		const uint32_t n = left < CONN_RESERVE_MAX ? (uint32_t)left : CONN_RESERVE_MAX;
		uint8_t *to = conn_reserve(s, t->conn[side], n);

		for (uint32_t i = 0; i < n; i++)
			to[i] = text_at(t->sent[side] + i, side);
		conn_commit(s, t->conn[side], n);
		t->sent[side] += n;
	}
}

static void
serve(void *arg)
{
	const struct end *e = arg;
	struct talk *t = e->talk;

	while (stack_pop_ready(t->pair->side[e->side]->stack) != NULL)
		continue; /* the only connection is checked below */
	if (t->conn[e->side] == NULL)
		return;
	read_all(t, e->side);
	if (e->side == SIM_CLIENT && t->requests != 0 &&
	    t->got[SIM_CLIENT] / t->answer_bytes > t->waits) {
		t->wait_ns[t->waits++] = t->pair->now_ns - t->asked_ns;
		t->asked_ns = t->pair->now_ns;
	}
	if (e->side == SIM_CLIENT && t->sent[SIM_CLIENT] == 0)
		t->asked_ns = t->pair->now_ns;
	write_due(t, e->side);
}

static bool
talk_done(void *arg)
{
	const struct talk *t = arg;
	const bool lost =
		(t->opened[0] && t->conn[0] == NULL) || (t->opened[1] && t->conn[1] == NULL);

	if (t->wrong || lost)
		return true;
	return t->requests != 0 ? t->waits == t->requests : t->got[SIM_CLIENT] == t->answer_bytes;
}

static struct sim_pair *
pair_of(uint32_t permille, uint64_t rtt_us, uint64_t seed)
{
	const struct sim_faults faults = {
		.lose = permille,
		.delay_ns = rtt_us * 1000 / 2,
		.rate = LINK_RATE,
		.queue_ns = LINK_QUEUE_NS,
	};
	struct stack_config cfg[2];

	for (uint32_t i = 0; i < 2; i++) {
		cfg[i] = sim_config(seed * 2 + i);
		cfg[i].tcp.conns_max = 4;
		cfg[i].tcp.chunks = 4200;
		cfg[i].net.rx_frames_max = 4096;
	}
	return sim_pair_create(cfg, &faults, seed);
}

/* Checks a connection that has ended: one side must have timed out. */
static void
judge_end(struct talk *t)
{
	uint64_t timeouts = 0;

	for (uint32_t i = 0; i < 2; i++)
		timeouts += sim_stack_count(t->pair->side[i], TCP_TIMEOUT) +
			    sim_stack_count(t->pair->side[i], TCP_TIMEOUT_SYN);
	t->given_up = timeouts != 0;
	t->wrong |= timeouts == 0;
}

/* Returns the time from the SYN to the end, in ns. */
static uint64_t
talk_run(struct talk *t, uint32_t permille, uint64_t rtt_us, uint64_t seed)
{
	struct end ends[2] = {{t, SIM_CLIENT}, {t, SIM_SERVER}};

	t->pair = pair_of(permille, rtt_us, seed);
	for (uint32_t i = 0; i < 2; i++) {
		const struct stack_user user = {&ends[i], on_opened, on_gone, on_failed};

		stack_attach(t->pair->side[i]->stack, &user);
		t->pair->side[i]->serve = serve;
		t->pair->side[i]->arg = &ends[i];
	}
	sim_pair_connect(t->pair);
	t->began_ns = t->pair->now_ns;
	sim_pair_run(t->pair, t->began_ns + LIMIT_NS, talk_done, t);
	if (t->conn[0] == NULL || t->conn[1] == NULL)
		judge_end(t);
	for (uint32_t i = 0; i < 2; i++)
		t->holes += sim_stack_count(t->pair->side[i], TCP_PMTU_BLACK_HOLES);
	const uint64_t took = t->pair->now_ns - t->began_ns;

	sim_pair_destroy(t->pair);
	return took;
}

static bool
fill_cell(struct cell *cell, const struct size *size, uint32_t permille, uint64_t rtt_us)
{
	bool wrong = false;

	*cell = (struct cell){0};
	for (uint64_t seed = 1; seed <= size->seeds; seed++) {
		static struct talk t;
		double took;

		t = (struct talk){.answer_bytes = size->bulk_bytes};
		took = (double)talk_run(&t, permille, rtt_us, seed) / 1e9;
		cell->mb_s += (double)t.got[SIM_CLIENT] / 1e6 / took / size->seeds;
		wrong |= t.wrong;
		cell->given_up += t.given_up;
		cell->holes += t.holes;
		t = (struct talk){.ask_bytes = REQUEST_BYTES,
				  .answer_bytes = REPLY_BYTES,
				  .requests = size->requests};
		took = (double)talk_run(&t, permille, rtt_us, seed) / 1e9;
		wrong |= t.wrong;
		cell->given_up += t.given_up;
		cell->holes += t.holes;
		cell->replies_s += t.waits / took / size->seeds;
		sort_u64(t.wait_ns, t.waits);
		cell->slow_ms += t.waits == 0 ? 0
					      : (double)t.wait_ns[t.waits - 1 - t.waits / 100] /
							1e6 / size->seeds;
	}
	return wrong;
}

static void
print_table(const char *words, const struct cell cells[LOSSES][RTTS], size_t member)
{
	printf("\n%s\n  loss %%", words);
	for (size_t r = 0; r < RTTS; r++)
		printf("%11.1f ms", (double)rtts_us[r] / 1e3);
	printf("\n");
	for (size_t l = 0; l < LOSSES; l++) {
		printf("%8.1f", losses_permille[l] / 10.0);
		for (size_t r = 0; r < RTTS; r++)
			printf("%14.3f", *(const double *)((const char *)&cells[l][r] + member));
		printf("\n");
	}
}

static void
write_json(const char *path, const struct cell cells[LOSSES][RTTS])
{
	FILE *f = fopen(path, "w");
	const char *between = "";

	ensure(f != NULL);
	fprintf(f, "[");
	for (size_t l = 0; l < LOSSES; l++)
		for (size_t r = 0; r < RTTS; r++) {
			const struct cell *c = &cells[l][r];

			fprintf(f,
				"%s\n  {\"loss_percent\": %.1f, \"rtt_us\": %" PRIu64
				", \"bulk_mb_s\": %.3f, \"replies_s\": %.3f, \"p99_ms\": %.3f}",
				between, losses_permille[l] / 10.0, rtts_us[r], c->mb_s,
				c->replies_s, c->slow_ms);
			between = ",";
		}
	fprintf(f, "\n]\n");
	fclose(f);
}

int
main(int argc, char **argv)
{
	static struct cell cells[LOSSES][RTTS];
	struct size size = {.bulk_bytes = 10000000, .requests = REQUESTS_MAX, .seeds = 5};
	const char *json = NULL;
	bool wrong = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0)
			size = (struct size){.bulk_bytes = 200000, .requests = 50, .seeds = 1};
		else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
			json = argv[++i];
		else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
			size.seeds = (uint32_t)atoi(argv[++i]);
		else
			return 2;
	}
	for (size_t l = 0; l < LOSSES; l++)
		for (size_t r = 0; r < RTTS; r++)
			wrong |= fill_cell(&cells[l][r], &size, losses_permille[l], rtts_us[r]);
	print_table("bulk, MB/s, by round trip", cells, offsetof(struct cell, mb_s));
	print_table("replies a second, by round trip", cells, offsetof(struct cell, replies_s));
	print_table("the slowest of 100 replies, ms", cells, offsetof(struct cell, slow_ms));
	if (json != NULL)
		write_json(json, cells);
	for (size_t l = 0; l < LOSSES; l++)
		for (size_t r = 0; r < RTTS; r++)
			if (cells[l][r].given_up != 0)
				printf("%u given up at %.1f %%, %.1f ms\n", cells[l][r].given_up,
				       losses_permille[l] / 10.0, (double)rtts_us[r] / 1e3);
	for (size_t l = 0; l < LOSSES; l++)
		for (size_t r = 0; r < RTTS; r++)
			if (cells[l][r].holes != 0)
				printf("%" PRIu64 " black holes seen at %.1f %%, %.1f ms\n",
				       cells[l][r].holes, losses_permille[l] / 10.0,
				       (double)rtts_us[r] / 1e3);
	if (wrong)
		printf("a byte was wrong, or a connection was reset without a reason\n");
	return wrong;
}
