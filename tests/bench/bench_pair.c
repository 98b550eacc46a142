/*
 * bench_pair.c - carries frames between the two ports, turns each end, and adds up cycles.
 */
#include "bench_pair.h"

#include <stdio.h>
#include <stdlib.h>

#define VALUE_BYTES    32u
#define RX_FRAMES      1024u
#define CONNS          50u
#define DEPTH_MAX      32u
#define TURN_NS        4000u
#define FILL_DEPTH     8u
#define FILL_STEPS_MAX (1u << 28)

static const struct kind kinds[] = {
	{"udp_get", LOAD_UDP, 32, 1, 0, 0, VALUE_BYTES, false},
	{"udp_set", LOAD_UDP, 32, 1, 1, 0, VALUE_BYTES, false},
	{"udp_mix", LOAD_UDP, 32, 1, 0.05, 0, VALUE_BYTES, false},
	{"udp_zipf_mix", LOAD_UDP, 32, 1, 0.05, 0.99, VALUE_BYTES, false},
	{"tcp_get", LOAD_TCP, 1, 1, 0, 0, VALUE_BYTES, false},
	{"tcp_set", LOAD_TCP, 1, 1, 1, 0, VALUE_BYTES, false},
	{"tcp_mix", LOAD_TCP, 1, 1, 0.05, 0, VALUE_BYTES, false},
	{"tcp_pipelined", LOAD_TCP, 32, 1, 0, 0, VALUE_BYTES, false},
	{"tcp_pipelined_mix", LOAD_TCP, 32, 1, 0.05, 0, VALUE_BYTES, false},
	{"tcp_multiget", LOAD_TCP, 1, 100, 0, 0, VALUE_BYTES, false},
	{"tcp_value_64k", LOAD_TCP, 1, 1, 0, 0, 65536, false},
	{"tcp_value_64k_lent", LOAD_TCP, 1, 1, 0, 0, 65536, true},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static uint64_t
served(const struct bench_pair *b, enum serve_counter which)
{
	return counter_read(&serve_counters(b->fixture.serve)[which]);
}

static void
make_generator(struct bench_pair *b, uint32_t keys, uint32_t core, uint32_t cores)
{
	const struct bench_workload workload = {
		.transport = b->kind->transport,
		.keys = keys,
		.value_bytes = b->kind->value_bytes,
		.multiget = b->kind->multiget,
		.conns = CONNS,
		.depth_max = DEPTH_MAX,
		.sets = b->kind->sets,
		.zipf = b->kind->zipf,
		.core = core,
		.cores = cores,
		.rx_frames_max = RX_FRAMES,
	};
	const size_t frames = REPLAY_FRAMES * REPLAY_FRAME_BYTES;
	struct region r = {0};
	bool huge;

	bench_client_plan(&b->client, &workload);
	r = bench_region(bench_client_bytes(&b->client, &workload) + frames, &huge);
	replay_init(&b->port, region_take(&r, frames, 4096), bench_client_mac);
	bench_client_make(&b->client, &workload, &r, &b->port.port);
	b->core = b->client.core;
}

static void
turn(struct bench_pair *b, struct turn_timing *turn_timing)
{
	const uint64_t from = bench_cycles();
	uint64_t cycles;

	if (turn_timing->hook != NULL)
		turn_timing->hook();
	if (turn_timing->clock != NULL)
		core_turn_timed(&b->fixture.core, b->now_ns, turn_timing->clock);
	else
		core_turn(&b->fixture.core, b->now_ns);
	if (turn_timing->hook != NULL)
		turn_timing->hook();
	cycles = bench_cycles() - from;
	turn_timing->cycles += cycles;
	if (b->cycles_a_ns != 0)
		b->now_ns += (uint64_t)((double)cycles / b->cycles_a_ns);
}

/* Loads frames first.. that one end sent into the other end's port. */
static uint32_t
carry(struct replay_port *from, uint32_t first, struct replay_port *to)
{
	uint32_t i = first;

	for (; i < from->sent_count && i - first < BURST_MAX; i++) {
		replay_gather(from, i);
		replay_load(to, from->sent[i], from->sent_len[i]);
	}
	return i;
}

void
bench_pair_step(struct bench_pair *b, struct turn_timing *turn_timing)
{
	uint32_t at = 0;

	if (b->cycles_a_ns == 0)
		b->now_ns += TURN_NS;
	do {
		at = carry(&b->port, at, &b->fixture.port);
		turn(b, turn_timing);
	} while (at < b->port.sent_count);
	replay_recycle(&b->port);
	at = 0;
	do {
		at = carry(&b->fixture.port, at, &b->port);
		load_core_turn(b->core, b->now_ns);
	} while (at < b->fixture.port.sent_count);
	replay_recycle(&b->fixture.port);
}

void
bench_pair_check(const struct bench_pair *b)
{
	bench_client_check(&b->client);
}

static void
start_command(struct bench_pair *b, enum load_task task, uint64_t requests)
{
	const struct kind *k = b->kind;
	const struct load_command o = {
		.task = task,
		.conns = CONNS,
		.depth = k->transport == LOAD_UDP || task == LOAD_RUN ? k->depth : FILL_DEPTH,
		.measure_ns = UINT64_MAX / 4,
		.requests = requests,
	};

	load_core_command_mt(b->core, &o);
}

double
bench_pair_served(const struct bench_pair *b)
{
	return (double)(served(b, CMD_GET) + served(b, CMD_SET)) / b->kind->multiget;
}

void
bench_pair_command(struct bench_pair *b, uint64_t requests)
{
	start_command(b, LOAD_RUN, requests);
}

bool
bench_pair_done(const struct bench_pair *b)
{
	return load_core_done_mt(b->core);
}

/* Fills the store by all pairs in turns: a grown index waits until every core has turned. */
static void
fill(struct bench_pair *pairs, uint32_t count, uint32_t keys)
{
	struct turn_timing unseen = {0};
	uint64_t stored = 0;
	bool done = false;

	for (uint32_t i = 0; i < count; i++)
		start_command(&pairs[i], LOAD_FILL, 0);
	for (uint32_t step = 0; step < FILL_STEPS_MAX && !done; step++) {
		done = true;
		for (uint32_t i = 0; i < count; i++) {
			bench_pair_step(&pairs[i], &unseen);
			done &= bench_pair_done(&pairs[i]);
		}
	}
	for (uint32_t step = 0; step < FILL_STEPS_MAX && bench_fixture_resizing(&pairs[0].fixture);
	     step++)
		for (uint32_t i = 0; i < count; i++)
			bench_pair_step(&pairs[i], &unseen);
	for (uint32_t i = 0; i < count; i++) {
		bench_pair_check(&pairs[i]);
		stored += bench_client_count(&pairs[i].client, LOAD_STORED);
	}
	if (!done || stored != keys) {
		fputs("bench: not all keys were stored\n", stderr);
		exit(1);
	}
}

void
bench_pair_make(struct bench_pair *b, const struct kind *kind, uint32_t keys, const char *file)
{
	b->kind = kind;
	b->fixture.lends = kind->lent;
	bench_fixture_create(&b->fixture, keys, file);
	make_generator(b, keys, 0, 1);
	fill(b, 1, keys);
}

void
bench_pairs_make(struct bench_pair *pairs, uint32_t count, const struct kind *kind, uint32_t keys)
{
	const size_t one = bench_fixture_bytes() + REPLAY_FRAMES * REPLAY_FRAME_BYTES;
	const uint32_t mib = bench_fixture_mib(keys);
	struct bench_shared shared;
	bool huge;
	struct region r = bench_region(bench_shared_bytes(mib, count) + count * one, &huge);

	bench_shared_make(&shared, mib, count, &r);
	for (uint32_t i = 0; i < count; i++) {
		pairs[i].kind = kind;
		pairs[i].fixture.hugepages = huge;
		bench_fixture_create_shared(&pairs[i].fixture, &shared, i, &r);
		make_generator(&pairs[i], keys, i, count);
	}
	fill(pairs, count, keys);
}

const struct kind *
kind_by_name(const char *name)
{
	for (uint32_t i = 0; i < KINDS; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	fprintf(stderr, "expected one of:");
	for (uint32_t i = 0; i < KINDS; i++)
		fprintf(stderr, " %s", kinds[i].name);
	fputs("\n", stderr);
	return NULL;
}
