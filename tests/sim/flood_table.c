/*
 * A table of SYN floods against one core: the service that new and old clients still get. It runs
 * in virtual time, so the figures are the same on every machine.
 *
 * flood_table [--quick]
 *
 * Ends with one line of JSON: new_served_4s, the share of new clients answered within 4 s, by SYNs
 * per second; and old_p99_vs_quiet, the 99th percentile of the old clients' answers relative to
 * that without a flood.
 */
#include "sim_flood.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MS 1000000ull

static const uint32_t rates[] = {0, 300000, 500000, 1000000, 2000000};
#define RATES (sizeof rates / sizeof *rates)

static struct sim_flood_result
run(uint32_t rate, bool quick)
{
	const struct sim_flood_plan plan = {
		.syns_s = rate,
		.olds = 16,
		.news = quick ? 100 : 400,
		.news_ns = (quick ? 200 : 2000) * MS,
		.least_ns = (quick ? 400 : 4000) * MS,
		.sent_ns = FLOOD_SENT_NS,
		.seed = 7,
	};

	return sim_flood_run(&plan);
}

static double
served(const struct sim_flood_result *r, bool quick)
{
	return (double)r->news_served / (quick ? 100 : 400);
}

int
main(int argc, char **argv)
{
	const bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
	struct sim_flood_result results[RATES];

	printf("   SYNs/s    served   new half ms   old half us   old p99 us    cookies    put "
	       "off\n");
	for (uint32_t i = 0; i < RATES; i++) {
		const struct sim_flood_result *r = &results[i];

		results[i] = run(rates[i], quick);
		printf("%9u %9.3f %13.3f %13.1f %12.1f %10" PRIu64 " %10" PRIu64 "\n", rates[i],
		       served(r, quick), (double)r->new_median_ns / 1e6,
		       (double)r->old_median_ns / 1e3, (double)r->old_p99_ns / 1e3, r->cookies,
		       r->deferred);
	}
	printf("{\"new_served_4s\": {");
	for (uint32_t i = 1; i < RATES; i++)
		printf("%s\"%u\": %.4f", i == 1 ? "" : ", ", rates[i], served(&results[i], quick));
	printf("}, \"old_p99_vs_quiet\": {");
	for (uint32_t i = 1; i < RATES; i++)
		printf("%s\"%u\": %.3f", i == 1 ? "" : ", ", rates[i],
		       (double)results[i].old_p99_ns / (double)results[0].old_p99_ns);
	printf("}}\n");
	return 0;
}
