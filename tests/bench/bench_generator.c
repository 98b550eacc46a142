/*
 * bench_generator.c - measures the cost of a request for the load generator itself, from frame to
 * frame.
 *
 * There is one core over UDP, with a port that answers each request outside the measured span, as
 * a perfect server would. A turn takes a burst of replies, checks every byte, records latencies
 * and sends as many new requests. So the figure is the generator's whole cost except the driver.
 * It must stay below the appliance's cost of the same request (bench_turn), or else the generator
 * would be measured.
 *
 * Figures are TSC cycles a request in the median turn of a run, so that another process
 * between two turns is left out: the median of several runs and their spread.
 *
 *   bench_generator [--keys N] [--burst N] [--runs N] [--requests N] [--sets PERCENT] [--zipf S]
 */
#include "bench_options.h"
#include "replay_port.h"

#include "base/ticks.h"
#include "load/load_core.h"
#include "proto/mc_udp.h"
#include "net/neigh_table.h"
#include "wire/arp_wire.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/udp_wire.h"

#include "../support/sorted.h"

#include <stdio.h>
#include <stdlib.h>

#define KEY_BYTES    16u
#define VALUE_BYTES  32u
#define RUNS_MAX     99u
#define SERVER_IP    0x0a630001u /* 10.99.0.1 */
#define CLIENT_IP    0x0a630002u
#define CLIENT_PORT  40000u
#define CLIENT_PORTS 16u
#define CACHE_PORT   11211u
#define TURN_NS      5000u
#define TEXT_AT      (ETH_HEADER_BYTES + IPV4_HEADER_BYTES + UDP_HEADER_BYTES + MC_UDP_FRAME_BYTES)

static const uint8_t server_mac[6] = {2, 0, 0, 0, 0, 1};
static const uint8_t client_mac[6] = {2, 0, 0, 0, 0, 2};

struct options {
	uint32_t keys, burst, runs, requests;
	double sets, zipf;
};

struct bench {
	struct options opt;
	struct replay_port port;
	struct workload w;
	struct load_core *core;
	uint64_t now_ns;
	struct histogram turns;
	uint8_t answers[BURST_MAX][REPLAY_FRAME_BYTES];
	uint32_t answer_len[BURST_MAX], answer_count;
};

static uint64_t
cycles(void)
{
	return ticks_read_after();
}

static void
build(struct bench *b)
{
	const struct stack_config stack_cfg = {
		.net.ipv4 = CLIENT_IP,
		.net.prefix_len = 24,
		.net.udp_port = CLIENT_PORT,
		.net.udp_ports = CLIENT_PORTS,
		.tcp.conns_max = 1,
		.tcp.chunks = 64,
		.net.rx_frames_max = 64,
		.tcp.keepalive_idle_ns = 7200000000000ull,
	};
	const struct load_config load_cfg = {
		.workload = &b->w,
		.transport = LOAD_UDP,
		.server = ip_addr_v4(SERVER_IP),
		.port = CACHE_PORT,
		.local_port = CLIENT_PORT,
		.local_ports = CLIENT_PORTS,
		.timeout_ns = 1000000000ull,
		.cores = 1,
		.seed = 42,
	};
	struct region r = {0};
	const struct ip_addr server = ip_addr_v4(SERVER_IP);
	struct neigh_table *neigh;
	struct stack *stack;

	b->w = (struct workload){
		.keys = {.kind = b->opt.zipf > 0 ? KEYS_ZIPF : KEYS_UNIFORM,
			 .n = b->opt.keys,
			 .zipf_s = b->opt.zipf},
		.set_share = b->opt.sets / 100,
		.multiget = 1,
	};
	size_distribution_uniform(&b->w.key_size, KEY_BYTES, KEY_BYTES);
	size_distribution_uniform(&b->w.value_size, VALUE_BYTES, VALUE_BYTES);
	workload_init(&b->w);
	r.size = stack_bytes(&stack_cfg) + neigh_table_bytes() + load_core_bytes(&load_cfg) +
		 (64u << 10) + REPLAY_FRAMES * REPLAY_FRAME_BYTES;
	r.base = aligned_alloc(4096, align_up(r.size, 4096));
	r.used = 0;
	ensure(r.base != NULL);
	replay_init(&b->port, region_take(&r, REPLAY_FRAMES * REPLAY_FRAME_BYTES, 4096),
		    client_mac);
	neigh = neigh_table_create(&r);
	neigh_learn_mt(neigh, &server, server_mac, 0);
	stack = stack_create(&r, &stack_cfg, &b->port.port, neigh);
	b->core = load_core_create(&r, &load_cfg, &b->port.port, stack);
}

/* Returns the number that the first eight letters of a key encode. */
static uint32_t
number_of(const uint8_t *key)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < 8; i++)
		n |= (uint32_t)(key[i] - 'A') << (4 * i);
	return n;
}

/* Prepares the answer to one frame. False: it is not a request (ARP). */
static bool
answer(struct bench *b, const uint8_t *request)
{
	uint8_t *at = b->answers[b->answer_count], *text = at + TEXT_AT, *p = text;
	const bool set = request[TEXT_AT] == 's';
	const uint8_t *key = request + TEXT_AT + 4;
	uint8_t *udp = at + ETH_HEADER_BYTES + IPV4_HEADER_BYTES;
	struct item_value v;
	uint16_t asked_from;
	uint32_t udp_len;

	if (be16_get(((const struct eth_header *)(const void *)request)->type) != ETH_TYPE_IPV4)
		return false;
	memcpy(at, request, TEXT_AT);
	asked_from = be16_get(((const struct udp_header *)(const void *)udp)->src_port);
	if (set) {
		p += sprintf((char *)p, "STORED\r\n");
	} else {
		p += sprintf((char *)p, "VALUE %.*s 0 %u\r\n", (int)KEY_BYTES, (const char *)key,
			     VALUE_BYTES);
		item_value_begin(&v, number_of(key), VALUE_BYTES, 0);
		item_value_put(&v, p, VALUE_BYTES);
		p += VALUE_BYTES;
		p += sprintf((char *)p, "\r\nEND\r\n");
	}
	udp_len = UDP_HEADER_BYTES + MC_UDP_FRAME_BYTES + (uint32_t)(p - text);
	eth_emit(at, client_mac, server_mac, ETH_TYPE_IPV4);
	udp_emit(udp, CACHE_PORT, asked_from, (uint16_t)udp_len);
	ipv4_emit(at + ETH_HEADER_BYTES, SERVER_IP, CLIENT_IP, IPV4_UDP,
		  (uint16_t)(IPV4_HEADER_BYTES + udp_len));
	b->answer_len[b->answer_count++] = (uint32_t)(p - at);
	return true;
}

/* Runs one turn, and the server's work between two. Returns the cycles of the turn. */
static uint64_t
play(struct bench *b)
{
	uint64_t t;

	for (uint32_t i = 0; i < b->answer_count; i++)
		replay_load(&b->port, b->answers[i], b->answer_len[i]);
	b->now_ns += TURN_NS;
	t = cycles();
	load_core_turn(b->core, b->now_ns);
	t = cycles() - t;
	b->answer_count = 0;
	for (uint32_t i = 0; i < b->port.sent_count; i++)
		answer(b, b->port.sent[i]);
	replay_recycle(&b->port);
	return t;
}

static double
run_once(struct bench *b)
{
	const uint32_t turns = b->opt.requests / b->opt.burst;
	const struct load_command command = {
		.task = LOAD_RUN,
		.depth = b->opt.burst,
		.measure_ns = UINT64_MAX / 4,
		.requests = b->opt.requests,
	};
	const struct load_result *r = load_core_result(b->core);
	uint64_t answered;

	load_core_command_mt(b->core, &command);
	play(b);
	histogram_clear(&b->turns);
	for (uint32_t i = 0; i < turns && !load_core_done_mt(b->core); i++)
		histogram_add(&b->turns, play(b));
	for (uint32_t i = 0; i < 4 && !load_core_done_mt(b->core); i++)
		play(b);
	ensure(load_core_done_mt(b->core));
	answered = counter_read(&r->all[LOAD_ANSWERED]);
	if (answered != b->opt.requests || counter_read(&r->all[LOAD_WRONG_VALUE]) != 0 ||
	    counter_read(&r->all[LOAD_BROKEN]) != 0 || counter_read(&r->all[LOAD_MISSES]) != 0) {
		fprintf(stderr, "bench_generator: not every answer was right\n");
		exit(1);
	}
	return (double)histogram_quantile(&b->turns, 0.5) / b->opt.burst;
}

static struct options
options_of(int argc, char **argv)
{
	struct options opt = {
		.keys = 1000000, .burst = 64, .runs = 5, .requests = 2000000, .sets = 5};
	const struct bench_option known[] = {
		BENCH_NUMBER("keys", &opt.keys, 1, KEYS_MAX),
		BENCH_NUMBER("burst", &opt.burst, 1, BURST_MAX),
		BENCH_NUMBER("runs", &opt.runs, 1, RUNS_MAX),
		BENCH_NUMBER("requests", &opt.requests, BURST_MAX, 1e9),
		BENCH_NUMBER("sets", &opt.sets, 0, 100),
		BENCH_NUMBER("zipf", &opt.zipf, 0.01, ZIPF_S_MAX),
		{0}};

	bench_options(argc, argv, known);
	return opt;
}

int
main(int argc, char **argv)
{
	static struct bench b;
	static double runs[RUNS_MAX];

	b.opt = options_of(argc, argv);
	build(&b);
	run_once(&b);
	for (uint32_t i = 0; i < b.opt.runs; i++)
		runs[i] = run_once(&b);
	sort_doubles(runs, b.opt.runs);
	printf("UDP, %u-byte keys, %u-byte values, %u keys, %g %% sets, bursts of %u\n"
	       "cycles per request: %.1f (least %.1f, most %.1f of %u runs)\n",
	       KEY_BYTES, VALUE_BYTES, b.opt.keys, b.opt.sets, b.opt.burst, runs[b.opt.runs / 2],
	       runs[0], runs[b.opt.runs - 1], b.opt.runs);
	return 0;
}
