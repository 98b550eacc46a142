/*
 * hot_zipf.c - passes Zipf streams through the sampler of one core (lib/observe/hot_keys.h), and
 * checks whether the ten hottest keys are named in order. Prints a line of JSON.
 *
 *   hot_zipf [--runs N] [--requests N] [--keys N]
 *
 * A run is a stream of --requests requests of one key each, with exponent 1 and 2 million
 * requests a second by its own clock, in passes of 32. Only sampled requests are drawn: the
 * others change nothing.
 */
#include "base/region.h"
#include "load/zipf.h"
#include "observe/hot_keys.h"

#include "bench_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPONENT      1.0
#define NS_A_REQUEST  500u
#define HOTTEST       10u
#define HASH_MULTIPLE 0x9e3779b97f4a7c15ull

struct options {
	uint32_t runs, requests, keys;
};

static uint64_t
hash_of(uint64_t n)
{
	n *= HASH_MULTIPLE;
	n = (n ^ n >> 32) * HASH_MULTIPLE;
	return n ^ n >> 29;
}

static bool
in_order(const struct hot_list *list)
{
	for (uint32_t i = 0; i < HOTTEST; i++) {
		uint32_t rank;

		if (i >= list->count || list->key[i].len != sizeof rank)
			return false;
		memcpy(&rank, list->key[i].bytes, sizeof rank);
		if (rank != i + 1)
			return false;
	}
	return true;
}

static bool
run(const struct options *opt, struct hot_keys *hot, uint32_t seed)
{
	static struct hot_candidate scratch[HOT_CANDIDATES];
	static struct hot_list list;
	const struct hot_keys *cores[] = {hot};
	struct load_rng rng = {load_mix(seed)};
	struct zipf zipf;
	uint64_t now_ns = 0;

	zipf_init(&zipf, opt->keys, EXPONENT);
	memset(hot, 0, sizeof *hot);
	hot_keys_begin(hot, seed);
	for (uint64_t at = hot->left; at < opt->requests; at += 1 + hot_keys_next(hot)) {
		const uint32_t rank = zipf_draw(&zipf, &rng);
		uint32_t i;

		now_ns = at * NS_A_REQUEST;
		i = hot_keys_count(hot, hash_of(rank), now_ns);
		if (i != HOT_NONE)
			hot_keys_record(hot, i, (struct view){(const uint8_t *)&rank, sizeof rank},
					1);
	}
	hot_keys_list(cores, 1, scratch, now_ns, &list);
	return in_order(&list);
}

int
main(int argc, char **argv)
{
	struct options opt = {.runs = 100, .requests = 100000000, .keys = 1000000};
	struct region region = {0};
	struct hot_keys *hot;
	uint32_t right = 0;
	bool huge;

	const struct bench_option known[] = {
		BENCH_NUMBER("runs", &opt.runs, 1, 10000),
		BENCH_NUMBER("requests", &opt.requests, 1, 4000000000u),
		BENCH_NUMBER("keys", &opt.keys, HOTTEST, 100000000),
		{0}};

	bench_options(argc, argv, known);
	region = bench_region(sizeof *hot + CACHE_LINE_BYTES, &huge);
	hot = region_take(&region, sizeof *hot, CACHE_LINE_BYTES);
	for (uint32_t i = 0; i < opt.runs; i++)
		right += run(&opt, hot, i + 1);
	printf("{\"part\": \"hotkeys\", \"runs\": %u, \"in_order\": %u}\n", opt.runs, right);
	return 0;
}
