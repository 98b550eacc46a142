/*
 * bench_bags.c - measures Intel's bag LRU (2012) beside LRU under a global lock and clockoo's
 * store: throughput by threads, and by the share of sets.
 *
 * As in the paper a value has 64 bytes and keys are drawn evenly; here also by Zipf's law. Memory
 * is larger than the working set; with sets the bags' cleaner also removes replaced items.
 *
 *   bench_bags [--quick | --tiny] [--figure NAME]... [--seed N]
 */
#include "cache_load.h"
#include "paper_rows.h"

#include "base/check.h"

#include <string.h>

#define COUNT(a)    (sizeof(a) / sizeof *(a))
#define VALUE_BYTES 64u
#define ITEM_BYTES  144u /* in the baselines */
#define ROOM        5u   /* quarters of the working set: replaced items stay for a while */

static const struct cache_kind *const kinds[] = {&cache_chaining_lru, &cache_bags, &cache_own,
						 &cache_own_many};
static const char *const names[] = {"LRU+global lock", "bags", "ours", "ours, batches"};

struct bed {
	const struct paper_options *o;
	void *cache[COUNT(kinds)];
	struct cache_load load;
	uint32_t threads;
};

static void
bed_open(struct bed *b, const struct paper_options *o)
{
	const uint32_t keys = paper_sized(o, 20000, 1000000, 8000000), cpus = crew_cpus();
	const size_t items = (size_t)keys * ITEM_BYTES;

	*b = (struct bed){.o = o, .threads = cpus < CREW_MAX ? cpus : CREW_MAX};
	const struct cache_need need = {.memory_bytes = items / 4 * ROOM + 8 * BENCH_MIB,
					.value_bytes = VALUE_BYTES,
					.threads = b->threads};

	load_open(&b->load, keys, VALUE_BYTES, o->seed);
	for (uint32_t i = 0; i < COUNT(kinds); i++) {
		b->cache[i] = kinds[i]->create(&need);
		load_preload(&b->load, kinds[i], b->cache[i]);
		load_touch(&b->load, kinds[i], b->cache[i]);
		bench_progress("filling caches", i + 1, COUNT(kinds));
	}
}

static void
bed_close(struct bed *b)
{
	for (uint32_t i = 0; i < COUNT(kinds); i++)
		kinds[i]->destroy(b->cache[i]);
	load_close(&b->load);
}

/* Checks the misses. Only bags may miss an item that is held, because its neighbour left. */
static void
check_misses(const struct bed *b, uint32_t i, const struct load_counts *n)
{
	ensure(n->misses == 0 || (kinds[i] == &cache_bags && b->load.sets_in_100 != 0));
}

static void
print_ratios(struct paper_row row, const struct paper_rounds *mops)
{
	struct paper_rounds bags = {0}, own = {0};

	for (uint32_t r = 0; r < mops[0].count; r++) {
		paper_rounds_add(&bags, mops[1].value[r] / mops[0].value[r]);
		paper_rounds_add(&own, mops[COUNT(kinds) - 1].value[r] / mops[1].value[r]);
	}
	row.unit = "times";
	row.figure = "bags_by_lru";
	row.series = names[1];
	paper_time(&row, &bags);
	row.figure = "ours_by_bags";
	row.series = names[COUNT(kinds) - 1];
	paper_time(&row, &own);
}

static void
measure(struct bed *b, const char *figure, double x, uint32_t threads)
{
	const uint32_t rounds = paper_sized(b->o, 1, 3, 15), blocks = paper_sized(b->o, 1, 3, 12);
	struct paper_rounds mops[COUNT(kinds)] = {0};
	struct paper_row row = {.part = "bags", .x = x, .keys = b->load.keys};

	for (uint32_t round = 0; round < rounds; round++)
		for (uint32_t i = 0; i < COUNT(kinds); i++) {
			const struct load_counts n =
				load_run(&b->load, kinds[i], b->cache[i], threads, blocks);

			check_misses(b, i, &n);
			paper_rounds_add(&mops[i], (double)n.operations / n.seconds / 1e6);
			bench_progress(figure, round, rounds);
		}
	row.figure = figure;
	row.unit = "Mops";
	for (uint32_t i = 0; i < COUNT(kinds); i++) {
		row.series = names[i];
		paper_time(&row, &mops[i]);
	}
	if (strcmp(figure, "bags_by_sets") == 0)
		print_ratios(row, mops);
}

int
main(int argc, char **argv)
{
	static const char *const figures[] = {"bags_by_threads", "bags_by_threads_zipf",
					      "bags_by_sets", NULL};
	static const uint32_t shares[] = {0, 1, 5, 10, 30, 50, 100};
	struct paper_options o;
	struct bed b;

	paper_options_read(&o, argc, argv, figures);
	bed_open(&b, &o);
	for (uint32_t t = 1; t <= b.threads && paper_wants(&o, "bags_by_threads"); t++) {
		b.load.even = true;
		measure(&b, "bags_by_threads", t, t);
	}
	b.load.even = false;
	for (uint32_t t = 1; t <= b.threads && paper_wants(&o, "bags_by_threads_zipf"); t++)
		measure(&b, "bags_by_threads_zipf", t, t);
	for (uint32_t i = 0; i < COUNT(shares) && paper_wants(&o, "bags_by_sets"); i++) {
		b.load.sets_in_100 = shares[i];
		measure(&b, "bags_by_sets", shares[i], b.threads);
	}
	bed_close(&b);
	return 0;
}
