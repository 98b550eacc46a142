/*
 * bench_operate.c - compares figures shown to operators with the truth; prints a line of JSON for
 * each.
 *
 *   bench_operate latency KIND [--keys N] [--requests N]
 *
 * The part latency compares residence (lib/observe/residence.h) with the load generator's own
 * stamps. The clock of both stands still while the generator works, so its stamps show the time
 * of the appliance's turns.
 */
#include "bench_pair.h"
#include "shown_cells.h"

#include "base/time_units.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STEPS_MAX   (1u << 26)
#define CALIBRATE_S 0.02

struct options {
	const char *part;
	const struct kind *kind;
	uint32_t keys, requests;
};

static void
operate_refuse(const char *words)
{
	fprintf(stderr, "bench_operate: %s\n", words);
	exit(1);
}

static struct options
options_of(int argc, char **argv)
{
	struct options opt = {.keys = 100000, .requests = 1000000};

	const struct bench_option known[] = {
		BENCH_NUMBER("keys", &opt.keys, 1, 100000000),
		BENCH_NUMBER("requests", &opt.requests, 100, 1000000000),
		{0}};

	bench_options(argc, argv, known);
	if (optind + 2 != argc)
		operate_refuse(
			"expected a part and its argument; the head of bench_operate.c lists them");
	opt.part = argv[optind];
	opt.kind = kind_by_name(argv[optind + 1]);
	if (opt.kind == NULL)
		exit(1);
	return opt;
}

/* ---- latency ---- */

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double
cycles_a_ns(void)
{
	const double from = seconds();
	const uint64_t cycles = bench_cycles();

	while (seconds() - from < CALIBRATE_S)
		;
	return (double)(bench_cycles() - cycles) / ((seconds() - from) * 1e9);
}

static void
say_pair(const char *name, uint64_t generator_ns, uint64_t stats_ns)
{
	printf(", \"generator_%s_us\": %.3f, \"stats_%s_us\": %.3f", name,
	       (double)generator_ns / NS_PER_US, name, (double)stats_ns / NS_PER_US);
}

static void
latency(const struct options *opt)
{
	static struct bench_pair b;
	static struct shown_cells before, after;
	struct turn_timing timing = {0};
	const struct histogram *stamps;
	uint64_t count = 0;

	bench_pair_make(&b, opt->kind, opt->keys, NULL);
	b.cycles_a_ns = cycles_a_ns();
	bench_pair_step(&b, &timing); /* the fill's last turn is over */
	shown_cells_read(b.fixture.serve, &before);
	bench_pair_command(&b, opt->requests);
	for (uint32_t i = 0; i < STEPS_MAX && !bench_pair_done(&b); i++)
		bench_pair_step(&b, &timing);
	bench_pair_step(&b, &timing);
	bench_pair_check(&b);
	shown_cells_read(b.fixture.serve, &after);
	for (uint32_t i = 0; i < LOG_CELLS; i++)
		count += after.count[i] -= before.count[i];
	stamps = &load_core_result(b.core)->latency;
	printf("{\"part\": \"latency\", \"kind\": \"%s\", \"requests\": %llu, \"counted\": %llu",
	       opt->kind->name, (unsigned long long)stamps->count, (unsigned long long)count);
	say_pair("p50", histogram_quantile(stamps, 0.5),
		 log_cells_percentile_ns(after.count, after.longest_ns, 500000));
	say_pair("p99", histogram_quantile(stamps, 0.99),
		 log_cells_percentile_ns(after.count, after.longest_ns, 990000));
	puts("}");
}

int
main(int argc, char **argv)
{
	const struct options opt = options_of(argc, argv);

	if (strcmp(opt.part, "latency") != 0)
		operate_refuse("no such part");
	latency(&opt);
	return 0;
}
