/*
 * bench_wire.c - measures what one core of the appliance serves if the port costs nothing: core
 * and generator in one process, a CPU each, with a wire between them that copies no frame
 * (wire_port.h).
 *
 * It measures the wire alone (echo), stores all keys, and makes N runs. It prints a line of
 * JSON for the wire and one for the median run. In a closed loop the side that is always busy is
 * the limit. With --load, N open loops follow, at that share of the closed loops' median,
 * and the one with the median residence is printed: the time from putting a frame into the wire
 * to putting its answer there (over UDP a get is answered in the frame it came in).
 *
 *   bench_wire KIND [--keys N] [--value BYTES] [--connections N] [--depth N] [--multiget N]
 *              [--sets PERCENT] [--zipf S] [--runs N] [--ms N] [--requests N] [--load PERCENT]
 *              [--memory MIB] [--burst N] [--cpus SERVER,CLIENT] [--front SERVERS]
 *              [--copies N] [--bypassed] [--pairs N] [--flood FRAMES_A_SECOND] [--lent]
 *
 * With --front the core is a front of SERVERS servers, which keeps N copies (0); the servers are
 * connections to a core that shares the generator's CPU (wire_fleet.h). The wire alone is not
 * measured then, and one line is the front's. With --bypassed the servers run beside the
 * generator, too, but get no requests: a front's hits are compared with such a core. With --pairs
 * both are in this process and use the CPUs alternately for --ms, N times each, with the first
 * one changing: a machine of varying speed is the same for both of a pair. One line has all
 * pairs, then one the median run of each. With --pairs and --bypassed neither is a front, so the
 * remaining difference is that of the method.
 *
 * With --flood the core is beside the kernel (network.kernel), and each of the runs is a pair: with
 * a flood of SYNs to a port of the kernel between the requests (wire_flood.h) and without, the
 * first of them changing. One line has all pairs: the rate of both, the frames that the kernel's
 * share refused in a second, and the core's time for each, which is the time that it was busy
 * beyond that of its requests in the other run.
 *
 * With --lent the core's port takes values of the store as loans, without a copy; the generator
 * gathers them, so it is the limit: bytes_per_s by server_busy is what the core could send.
 *
 * With --requests a run ends after N requests, or after a minute, instead of after --ms.
 */
#include "wire_run.h"

#include "base/time_units.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define RUNS_MAX     99u
#define PAIRS_MAX    2000u
#define FLOOD_MAX    10000000u
#define WARM_NS      250000000ull /* each key is requested: an item's first use costs more */
#define WARM_NEXT_NS 50000000ull  /* warm-up of the runs after the first one */
#define WARM_OPEN_NS 2000000ull
#define WARM_PAIR_NS 5000000ull /* warm-up after the other run's turn */
#define REQUESTS_MS  60000u     /* longest run with --requests */
#define RX_FRAMES    8192u
#define ITEM_SPARE   2u /* times the memory of values and keys */

struct kind {
	const char *name;
	enum load_transport transport;
	uint32_t depth, multiget;
	double sets;
};

static const struct kind kinds[] = {
	{"udp_get", LOAD_UDP, 256, 1, 5},
	{"tcp_get", LOAD_TCP, 1, 1, 5},
	{"tcp_pipelined", LOAD_TCP, 32, 1, 5},
	{"multiget", LOAD_TCP, 2, 100, 0},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

enum side { FRONT, ALONE, SIDES };
/* Runs of --flood are paired by the same index. */
#define FLOODED FRONT

struct bench {
	struct wire_run run[SIDES]; /* the second is used with pairs only */
	const struct kind *kind;
	struct bench_workload workload;
	uint32_t depth, runs, ms, requests, load, memory_mib;
	bool cpus_said;
	uint32_t pairs, flood;
	struct wire_row rows[RUNS_MAX];
	struct wire_row paired[SIDES][PAIRS_MAX];
};

static void
bench_refuse(const char *words)
{
	fprintf(stderr, "bench_wire: %s\n", words);
	exit(1);
}

static void
choose_kind(struct bench *b, const char *name)
{
	for (uint32_t i = 0; i < KINDS; i++)
		if (strcmp(kinds[i].name, name) == 0)
			b->kind = &kinds[i];
	if (b->kind == NULL)
		bench_refuse("expected udp_get, tcp_get, tcp_pipelined or multiget");
	b->depth = b->kind->depth;
	b->runs = 5;
	b->ms = 400;
	b->workload = (struct bench_workload){
		.transport = b->kind->transport,
		.keys = 1000000,
		.value_bytes = 32,
		.multiget = b->kind->multiget,
		.conns = 50,
		.sets = b->kind->sets / 100,
		.rx_frames_max = RX_FRAMES,
	};
}

/* Selects the first two usable CPUs, unless others were given. */
static void
choose_cpus(struct bench *b)
{
	uint32_t found = 0;
	cpu_set_t set;

	if (b->cpus_said)
		return;

	sched_getaffinity(0, sizeof set, &set);
	for (uint32_t i = 0; i < CPU_SETSIZE && found < 2; i++)
		if (CPU_ISSET(i, &set))
			b->run[FRONT].cpus[found++] = i;
	if (found < 2)
		bench_refuse("server and client need a CPU each; this machine lets us have one");
}

static void
read_cpus(const char *text, void *bench)
{
	struct bench *b = bench;

	b->cpus_said = true;
	if (sscanf(text, "%u,%u", &b->run[FRONT].cpus[0], &b->run[FRONT].cpus[1]) != 2)
		bench_refuse("--cpus A,B");
}

static void
options_of(struct bench *b, int argc, char **argv)
{
	uint32_t sets = UINT32_MAX;

	choose_kind(b, argc > 1 ? argv[1] : "");
	optind = 2;
	const struct bench_option known[] = {
		BENCH_NUMBER("keys", &b->workload.keys, 1, 100000000),
		BENCH_NUMBER("value", &b->workload.value_bytes, 1, 1u << 20),
		BENCH_NUMBER("connections", &b->workload.conns, 1, 256),
		BENCH_NUMBER("depth", &b->depth, 1, LOAD_DEPTH_MAX),
		BENCH_NUMBER("multiget", &b->workload.multiget, 1, MULTIGET_MAX),
		BENCH_NUMBER("sets", &sets, 0, 100),
		BENCH_NUMBER("zipf", &b->workload.zipf, 0.01, ZIPF_S_MAX),
		BENCH_NUMBER("runs", &b->runs, 1, RUNS_MAX),
		BENCH_NUMBER("ms", &b->ms, 1, 60000),
		BENCH_NUMBER("requests", &b->requests, 1, UINT32_MAX),
		BENCH_NUMBER("load", &b->load, 1, 100),
		BENCH_NUMBER("memory", &b->memory_mib, 1, 1u << 20),
		BENCH_NUMBER("burst", &b->workload.burst, 1, BURST_MAX),
		BENCH_READ("cpus", read_cpus, b),
		BENCH_NUMBER("front", &b->run[FRONT].fleet.servers, 1, WIRE_SERVERS_MAX),
		BENCH_NUMBER("copies", &b->run[FRONT].fleet.copies, 0, ADMISSION_ITEMS_MAX),
		BENCH_FLAG("lent", &b->run[FRONT].lends),
		BENCH_FLAG("bypassed", &b->run[FRONT].fleet.bypassed),
		BENCH_NUMBER("pairs", &b->pairs, 1, PAIRS_MAX),
		BENCH_NUMBER("flood", &b->flood, 1, FLOOD_MAX),
		{0}};

	bench_options(argc, argv, known);
	if (sets != UINT32_MAX)
		b->workload.sets = sets / 100.0;
	choose_cpus(b);
	if (b->run[FRONT].fleet.servers != 0 && b->kind->transport != LOAD_TCP)
		bench_refuse("--front is for TCP");
	if (b->pairs != 0 && b->run[FRONT].fleet.servers == 0)
		bench_refuse("--pairs are of a front (--front) and of a core that is none");
	if (b->flood != 0 && b->run[FRONT].fleet.servers != 0)
		bench_refuse("--flood is of a core that is no front");
	b->run[FRONT].flood.is_offered = b->flood != 0;
	b->workload.depth_max = b->depth < 32 ? 32 : b->depth;
	if (b->memory_mib == 0)
		b->memory_mib = bench_fixture_mib(b->workload.keys) +
				(uint32_t)(ITEM_SPARE * (uint64_t)b->workload.keys *
						   (b->workload.value_bytes & ~63u) >>
					   20);
}

/* Prints a row. least_us is the least of all runs' residences; 0: not measured. */
static void
say(const char *part, const struct wire_row *w, double least_us)
{
	printf("{\"part\": \"%s\", \"requests\": %.0f, \"requests_per_s\": %.1f, "
	       "\"slice_median_per_s\": %.1f, "
	       "\"slice_best_tenth_per_s\": %.1f, \"keys_per_s\": %.1f, \"bytes_per_s\": %.0f, "
	       "\"p50_us\": %.3f, \"p99_us\": %.3f, \"p999_us\": %.3f, "
	       "\"generator_busy\": %.3f, \"server_busy\": %.3f, \"generator_ns\": %.1f, "
	       "\"server_ns\": %.1f, \"server_burst\": %.1f, \"server_turn_ns\": %.0f, "
	       "\"server_frames_in\": %.3f, \"server_frames_out\": %.3f",
	       part, w->requests, w->requests_s, w->slice_median, w->slice_best, w->keys_s,
	       w->bytes_s, w->p50_us, w->p99_us, w->p999_us, w->generator_busy, w->server_busy,
	       w->generator_ns, w->server_ns, w->server_burst, w->server_turn_ns, w->server_in,
	       w->server_out);
	if (least_us > 0)
		printf(", \"residence_p99_least_us\": %.3f, \"residence_p50_us\": %.3f, "
		       "\"residence_p99_us\": %.3f, "
		       "\"residence_p999_us\": %.3f",
		       least_us, w->residence_p50_us, w->residence_p99_us, w->residence_p999_us);
	puts("}");
	fflush(stdout);
}

static int
by_rate(const void *a, const void *b)
{
	const double x = ((const struct wire_row *)a)->requests_s;
	const double y = ((const struct wire_row *)b)->requests_s;

	return (x > y) - (x < y);
}

static struct load_command
command_of(const struct bench *b)
{
	return (struct load_command){
		.task = LOAD_RUN,
		.conns = b->workload.conns,
		.depth = b->depth,
		.warmup_ns = WARM_NS,
		.measure_ns = (b->requests != 0 ? REQUESTS_MS : b->ms) * NS_PER_MS,
		.requests = b->requests,
	};
}

static int
by_residence(const void *a, const void *b)
{
	const double x = ((const struct wire_row *)a)->residence_p99_us;
	const double y = ((const struct wire_row *)b)->residence_p99_us;

	return (x > y) - (x < y);
}

static void
runs_of(struct bench *b, const struct load_command *command, bool residence)
{
	struct load_command next = *command;

	for (uint32_t i = 0; i < b->runs; i++) {
		wire_run_command(&b->run[FRONT], &next, residence, &b->rows[i]);
		if (!residence)
			next.warmup_ns = WARM_NEXT_NS;
	}
	qsort(b->rows, b->runs, sizeof b->rows[0], residence ? by_residence : by_rate);
}

/* Prints the median run of each kind. */
static void
measure(struct bench *b)
{
	const struct wire_row *median = &b->rows[b->runs / 2];
	struct load_command command = command_of(b);

	runs_of(b, &command, false);
	say(b->kind->name, median, 0);
	if (b->load == 0)
		return;
	command.rate = median->requests_s * b->load / 100;
	command.arrivals = ARRIVALS_POISSON;
	command.warmup_ns = WARM_OPEN_NS; /* residence counts from the first frame */
	command.depth = b->kind->transport == LOAD_UDP ? b->depth : b->workload.depth_max;
	runs_of(b, &command, true);
	say("open_loop", median, b->rows[0].residence_p99_us);
}

/* ---- pairs ---- */

static void
start(struct bench *b, enum side side)
{
	wire_run_start(&b->run[side], &b->workload, b->memory_mib);
	if (b->run[side].fleet.servers == 0)
		printf("{\"part\": \"echo\", \"frames_per_s\": %.1f, \"hugepages\": %s}\n",
		       wire_run_echo(&b->run[side], b->ms * NS_PER_MS / 2),
		       b->run[side].hugepages ? "true" : "false");
	wire_run_fill(&b->run[side]);
	wire_fleet_begin(&b->run[side].fleet);
}

static void
turn_of(struct bench *b, enum side side, const struct load_command *command, struct wire_row *row)
{
	wire_run_rest(&b->run[side], false);
	wire_run_command(&b->run[side], command, false, row);
	wire_run_rest(&b->run[side], true);
}

static void
say_pairs(const struct bench *b)
{
	printf("{\"part\": \"pairs\", \"columns\": [\"requests_per_s\", \"server_ns\"], \"pairs\": "
	       "[");
	for (uint32_t i = 0; i < b->pairs; i++) {
		const struct wire_row *front = &b->paired[FRONT][i], *alone = &b->paired[ALONE][i];

		printf("%s[[%.0f, %.1f], [%.0f, %.1f]]", i == 0 ? "" : ", ", front->requests_s,
		       front->server_ns, alone->requests_s, alone->server_ns);
	}
	puts("]}");
}

/* Measures pairs. The run that is not in its turn sleeps. */
static void
measure_pairs(struct bench *b)
{
	struct load_command command = command_of(b);

	wire_run_rest(&b->run[FRONT], true);
	b->run[ALONE].fleet.servers = b->run[FRONT].fleet.servers;
	b->run[ALONE].fleet.bypassed = true;
	memcpy(b->run[ALONE].cpus, b->run[FRONT].cpus, sizeof b->run[ALONE].cpus);
	start(b, ALONE);
	wire_run_rest(&b->run[ALONE], true);
	for (enum side side = FRONT; side < SIDES; side++)
		turn_of(b, side, &command, &b->paired[side][0]); /* discarded */
	command.warmup_ns = WARM_PAIR_NS;
	for (uint32_t i = 0; i < b->pairs; i++)
		for (uint32_t k = 0; k < SIDES; k++) {
			const enum side side = (i + k) % SIDES;

			turn_of(b, side, &command, &b->paired[side][i]);
		}
	say_pairs(b);
	for (enum side side = FRONT; side < SIDES; side++) {
		qsort(b->paired[side], b->pairs, sizeof b->paired[side][0], by_rate);
		say(side == FRONT ? b->kind->name : "alone", &b->paired[side][b->pairs / 2], 0);
		wire_run_end(&b->run[side]);
	}
}

/* ---- a flood ---- */

static void
say_flood(const struct bench *b)
{
	printf("{\"part\": \"flood\", \"columns\": [\"requests_per_s\", "
	       "\"requests_per_s_alone\", \"refused_per_s\", \"refused_ns\", "
	       "\"generator_busy\"], \"pairs\": [");
	for (uint32_t i = 0; i < b->runs; i++) {
		const struct wire_row *with = &b->paired[FLOODED][i];
		const struct wire_row *alone = &b->paired[ALONE][i];
		const double more_ns = (with->server_ns - alone->server_ns) * with->served;

		printf("%s[%.0f, %.0f, %.0f, %.1f, %.3f]", i == 0 ? "" : ", ", with->requests_s,
		       alone->requests_s, with->refused_s,
		       with->refused > 0 ? more_ns / with->refused : 0, with->generator_busy);
	}
	puts("]}");
}

static void
measure_flood(struct bench *b)
{
	struct load_command command = command_of(b);
	struct wire_run *r = &b->run[FRONT];

	wire_run_command(r, &command, false, &b->paired[ALONE][0]); /* discarded */
	command.warmup_ns = WARM_PAIR_NS;
	for (uint32_t i = 0; i < b->runs; i++)
		for (uint32_t k = 0; k < SIDES; k++) {
			const enum side side = (i + k) % SIDES;

			wire_flood_rate_mt(&r->flood, side == FLOODED ? b->flood : 0);
			wire_run_command(r, &command, false, &b->paired[side][i]);
		}
	wire_flood_rate_mt(&r->flood, 0);
	say_flood(b);
}

int
main(int argc, char **argv)
{
	static struct bench b;

	options_of(&b, argc, argv);
	start(&b, FRONT);
	if (b.pairs != 0) {
		measure_pairs(&b);
	} else {
		b.flood != 0 ? measure_flood(&b) : measure(&b);
		wire_run_end(&b.run[FRONT]);
	}
	if (b.run[FRONT].fleet.servers != 0 && !b.run[FRONT].fleet.bypassed)
		wire_fleet_say(&b.run[FRONT].fleet);
	return 0;
}
