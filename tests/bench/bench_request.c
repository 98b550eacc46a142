/*
 * bench_request.c - measures the cost of a request in core_turn, by kind of request: cycles, or
 * instructions.
 *
 * The client is the load generator, in the same process (bench_pair.h); only turns of the
 * appliance are counted. Cycles are those of the median block of BLOCK_STEPS turns, which leaves
 * out other processes on the CPU, and the median of several runs: first in total without clocks
 * between the stages, then by stage. Instructions are described in bench_count.h.
 *
 *   bench_request CASE [--keys N] [--runs N] [--requests N] [--memory-file PATH] [--json FILE]
 *                 [--instructions] [--networks N] [--captured WHEN] [--kernel]
 *
 * --networks: N networks decide which clients may connect. Their lengths range from /17 to /24. The
 * client's /24, the first one, is allowed; all others are denied, some of the same /16. --captured:
 * with "before" the port's frames were captured for a while earlier, with "now" they are being
 * captured (CAPTURE_SNAP bytes of each, into a ring without a reader). --kernel: the net has a lane
 * to the kernel.
 */
#include "bench_count.h"

#include <stdlib.h>
#include <time.h>

#include "kernel/kernel_lane.h"
#include "net/access_list.h"
#include "net/net_core.h"
#include "pkt/capture.h"
#include "tcp/conn.h"

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

#define RUNS_MAX     99u
#define BLOCK_STEPS  16u
#define BLOCKS_MAX   65536u /* most blocks of a run; later ones are ignored */
#define BLOCKS_LIMIT (1u << 24)
#define CAPTURE_SNAP 128u

struct options {
	const struct kind *kind;
	uint32_t keys, runs, requests, networks;
	const char *memory_file, *json;
	bool instructions, captured_before, captured_now, kernel;
};

struct bench {
	struct options opt;
	struct bench_pair pair;
};

struct figures {
	double total;
	double stage[STAGE_COUNT];
};

/* The cost of a request in the blocks of a run: in total and by stage. */
struct blocks {
	uint32_t count;
	double total[BLOCKS_MAX], stage[STAGE_COUNT][BLOCKS_MAX];
};

static void
fail(const char *words)
{
	fprintf(stderr, "bench_request: %s\n", words);
	exit(1);
}

/* Measures some turns as one block. A block without a request is discarded. */
static void
take_block(struct bench_pair *b, struct turn_timing *turn_timing, struct blocks *blocks)
{
	const double from = bench_pair_served(b);
	const uint64_t cycles = turn_timing->cycles;
	struct stage_clock before = {0};
	double requests;

	if (turn_timing->clock != NULL)
		before = *turn_timing->clock;
	for (uint32_t i = 0; i < BLOCK_STEPS; i++)
		bench_pair_step(b, turn_timing);
	requests = bench_pair_served(b) - from;
	if (requests == 0 || blocks->count == BLOCKS_MAX)
		return;
	blocks->total[blocks->count] = (double)(turn_timing->cycles - cycles) / requests;
	for (uint32_t s = 0; turn_timing->clock != NULL && s < STAGE_COUNT; s++)
		blocks->stage[s][blocks->count] =
			(double)(turn_timing->clock->spent[s] - before.spent[s]) / requests;
	blocks->count++;
}

/* Runs a command to its end. */
static void
run_command(struct bench_pair *b, uint64_t requests, struct turn_timing *turn_timing,
	    struct blocks *blocks)
{
	bench_pair_command(b, requests);
	blocks->count = 0;
	for (uint32_t i = 0; i < BLOCKS_LIMIT && !bench_pair_done(b); i++)
		take_block(b, turn_timing, blocks);
	if (!bench_pair_done(b))
		fail("the generator found no end");
	bench_pair_check(b);
}

static uint64_t
clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double
median(double *v, uint32_t n)
{
	bench_sort(v, n);
	return v[n / 2];
}

static struct figures
run_once(struct bench *b, struct blocks *blocks)
{
	struct stage_clock clock = {.cycles = bench_cycles};
	struct turn_timing plain = {0}, staged = {.clock = &clock};
	struct figures f;

	run_command(&b->pair, b->opt.requests, &plain, blocks);
	f.total = median(blocks->total, blocks->count);
	run_command(&b->pair, b->opt.requests, &staged, blocks);
	for (uint32_t s = 0; s < STAGE_COUNT; s++)
		f.stage[s] = median(blocks->stage[s], blocks->count);
	return f;
}

static FILE *
json_open(const struct bench *b)
{
	FILE *out;

	if (b->opt.json == NULL)
		return NULL;
	out = fopen(b->opt.json, "w");
	if (out == NULL)
		fail("--json: cannot write there");
	fprintf(out,
		"{\"compiler\": \"" COMPILER
		"\", \"case\": \"%s\", \"keys\": %u, \"hugepages\": %s",
		b->opt.kind->name, b->opt.keys, b->pair.fixture.hugepages ? "true" : "false");
	return out;
}

static void
json_close(FILE *out)
{
	if (out == NULL)
		return;
	fputs("}\n", out);
	if (fclose(out) != 0)
		fail("--json: cannot write there");
}

static void
measure(struct bench *b, struct blocks *blocks, FILE *out)
{
	static struct figures runs[RUNS_MAX];
	const uint32_t n = b->opt.runs;
	const double keys = b->opt.kind->multiget;
	const uint64_t from_ns = clock_ns(), from_cycles = bench_cycles();
	double v[RUNS_MAX], cycles_per_ns;

	for (uint32_t i = 0; i < n; i++) {
		runs[i] = run_once(b, blocks);
		v[i] = runs[i].total;
	}
	cycles_per_ns = (double)(bench_cycles() - from_cycles) / (double)(clock_ns() - from_ns);
	printf("%s, %u keys, %s\n", b->opt.kind->name, b->opt.keys,
	       b->pair.fixture.hugepages ? "hugepages" : "no hugepages");
	printf("cycles a request: %.1f", median(v, n));
	printf(" (least %.1f, most %.1f of %u runs)", v[0], v[n - 1], n);
	if (keys > 1)
		printf(", a key %.1f", v[n / 2] / keys);
	if (out != NULL)
		fprintf(out,
			", \"cycles\": %.1f, \"least\": %.1f, \"most\": %.1f, "
			"\"keys_per_request\": %.0f, \"cycles_per_ns\": %.4f",
			v[n / 2], v[0], v[n - 1], keys, cycles_per_ns);
	printf("\n");
	for (uint32_t s = 0; s < STAGE_COUNT; s++) {
		for (uint32_t i = 0; i < n; i++)
			v[i] = runs[i].stage[s];
		printf("  %-12s %7.1f\n", bench_stage_names[s], median(v, n));
		if (out != NULL)
			fprintf(out, ", \"stage_%s\": %.1f", bench_stage_names[s], v[n / 2]);
	}
}

static uint32_t
net_add(struct access_net *nets, uint32_t count, uint32_t ip, uint32_t len)
{
	nets[count] = (struct access_net){.ip = ip_addr_v4(ip & ~(0xffffffffu >> len)),
					  .prefix_len = (uint8_t)(IP_ADDR_V4_BITS + len),
					  .allow = len == 8};
	return count + 1;
}

static void
let_in(struct bench_pair *b, uint32_t networks)
{
	struct access_net *nets = calloc(networks + 2, sizeof *nets);
	uint32_t count = 0, at = 0;
	struct region region = {0};
	bool huge;

	if (nets == NULL)
		fail("--networks: no memory");
	count = net_add(nets, count, 0, 8);
	nets[0].prefix_len = IP_ADDR_V4_BITS;
	for (uint32_t i = 1; i < networks; i++) {
		uint32_t ip = i < 64 ? BENCH_CLIENT_IP + (i << 9) : i * 2654435761u;

		if (i >= 64 && (ip ^ BENCH_CLIENT_IP) >> 16 == 0)
			ip ^= 1u << 16;

		count = net_add(nets, count, ip, i < 64 ? 24 : 17 + i % 8);
	}
	access_nets_sort(nets, count);
	for (uint32_t i = 0; i < count; i++)
		if (i == 0 || !ip_addr_equal(&nets[at - 1].ip, &nets[i].ip) ||
		    nets[at - 1].prefix_len != nets[i].prefix_len)
			nets[at++] = nets[i];
	region = bench_region(access_list_bytes(nets, at), &huge);
	stack_access_set(b->fixture.stack, access_list_make(&region, nets, at));
	free(nets);
}

/* Gives the net a lane to the kernel, which no request uses. */
static void
beside_kernel(struct bench_pair *b)
{
	struct net *net = stack_net(b->fixture.stack);
	struct region region = {0};
	bool huge;

	region = bench_region(kernel_lane_bytes(net->port->mtu, true), &huge);
	net->kernel = kernel_lane_create(&region, net->port->mtu, true);
	kernel_lane_add_port(net->kernel, KERNEL_TCP, BENCH_CACHE_PORT);
	kernel_lane_add_port(net->kernel, KERNEL_UDP, BENCH_CACHE_PORT);
}

static uint64_t
no_clock(const void *clock)
{
	(void)clock;
	return bench_cycles();
}

static void
capture(struct bench_pair *b, bool now)
{
	static struct capture_rule rule = {.snap = CAPTURE_SNAP, .now_ns = no_clock};
	struct port *port = &b->fixture.port.port;
	struct turn_timing timing = {0};
	struct region region = {0};
	struct capture *c;
	bool huge;

	region = bench_region(capture_bytes(CAPTURE_RING_MAX), &huge);
	c = capture_create(&region, &rule, 0, CAPTURE_RING_MAX);
	capture_begin(c, port);
	if (now)
		return;
	for (uint32_t i = 0; i < BLOCK_STEPS; i++)
		bench_pair_step(b, &timing);
	capture_end(c);
	for (uint32_t i = 0; i < BLOCK_STEPS && !capture_ended(c); i++)
		bench_pair_step(b, &timing);
	if (!capture_ended(c))
		fail("--captured: the core does not leave");
}

static struct options
options_of(int argc, char **argv)
{
	struct options opt = {.keys = 1000000, .runs = 5, .requests = 1000000};
	const char *captured = NULL;

	const struct bench_option known[] = {
		BENCH_NUMBER("keys", &opt.keys, 1, 100000000),
		BENCH_NUMBER("runs", &opt.runs, 1, RUNS_MAX),
		BENCH_NUMBER("requests", &opt.requests, 100, 1000000000),
		BENCH_TEXT("json", &opt.json),
		BENCH_TEXT("memory-file", &opt.memory_file),
		BENCH_NUMBER("networks", &opt.networks, 1, ACCESS_NETS_MAX),
		BENCH_TEXT("captured", &captured),
		BENCH_FLAG("instructions", &opt.instructions),
		BENCH_FLAG("kernel", &opt.kernel),
		{0}};

	bench_options(argc, argv, known);
	opt.captured_before = captured != NULL && strcmp(captured, "before") == 0;
	opt.captured_now = captured != NULL && !opt.captured_before;
	opt.kind = kind_by_name(optind < argc ? argv[optind] : "");
	if (opt.kind == NULL)
		exit(1);
	return opt;
}

int
main(int argc, char **argv)
{
	static struct bench b;
	static struct blocks blocks;
	FILE *out;

	b.opt = options_of(argc, argv);
	if (b.opt.instructions && (!bench_count_can() || b.opt.json == NULL))
		fail("--instructions: only under valgrind, built with its header, and with --json");
	bench_pair_make(&b.pair, b.opt.kind, b.opt.keys, b.opt.memory_file);
	if (b.opt.networks != 0)
		let_in(&b.pair, b.opt.networks);
	if (b.opt.kernel)
		beside_kernel(&b.pair);
	if (b.opt.captured_before || b.opt.captured_now)
		capture(&b.pair, b.opt.captured_now);
	out = json_open(&b);
	if (b.opt.instructions)
		bench_count(&b.pair, out);
	else
		measure(&b, &blocks, out);
	json_close(out);
	return 0;
}
