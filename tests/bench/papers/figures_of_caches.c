/*
 * figures_of_caches.c - MemC3's figures 8a and 8b (a cache larger than its working set, and one
 * of a tenth of it), table 3 (items held, misses) and table 1 (bytes of index and upkeep).
 *
 * In the baselines the memory is for items alone, as in the paper; clockoo's includes its index.
 * For figures 8 caches take turns, round by round. For table 3 every cache gets the same keys in
 * the same order.
 */
#include "memc3_figures.h"

#include "cache_load.h"

#include "base/check.h"

#include <stdio.h>
#include <string.h>

#define COUNT(a)      (sizeof(a) / sizeof *(a))
#define KINDS_MAX     8u
#define WORKING_BYTES 112u /* bytes of an item of the first baseline */
#define SMALL_PART    10u  /* the small cache has a tenth of the working set */
#define BIG_PERCENT   110u
#define VALUE_BYTES   32u
#define MEMORY_LEAST  (8u << 20) /* of clockoo's store */

static const struct cache_kind *const kinds[] = {
	&cache_chaining_lru, &cache_cuckoo_lru, &cache_chaining_clock,
	&cache_cuckoo_clock, &cache_own,        &cache_own_many,
};

struct caches {
	void *cache[KINDS_MAX];
	struct cache_load load;
};

static void
caches_open(struct caches *c, const struct paper_options *o, uint32_t keys, size_t memory_bytes)
{
	const struct cache_need need = {.memory_bytes = memory_bytes > MEMORY_LEAST ? memory_bytes
										    : MEMORY_LEAST,
					.value_bytes = VALUE_BYTES,
					.threads = crew_cpus() < CREW_MAX ? crew_cpus() : CREW_MAX};

	load_open(&c->load, keys, VALUE_BYTES, o->seed);
	for (uint32_t i = 0; i < COUNT(kinds); i++) {
		c->cache[i] = kinds[i]->create(&need);
		load_preload(&c->load, kinds[i], c->cache[i]);
		load_touch(&c->load, kinds[i], c->cache[i]);
		bench_progress("filling caches", i + 1, COUNT(kinds));
	}
}

static void
caches_close(struct caches *c)
{
	for (uint32_t i = 0; i < COUNT(kinds); i++)
		kinds[i]->destroy(c->cache[i]);
	load_close(&c->load);
}

/* Measures all caches by threads. Without misses no get may miss. */
static void
figure8(struct caches *c, const struct paper_options *o, const char *figure, uint32_t warm)
{
	const uint32_t cpus = crew_cpus(), rounds = paper_sized(o, 1, 3, 15),
		       blocks = paper_sized(o, 1, 3, 10);

	for (uint32_t i = 0; i < COUNT(kinds); i++)
		load_run(&c->load, kinds[i], c->cache[i], 1, warm);
	for (uint32_t threads = 1; threads <= cpus && threads <= CREW_MAX; threads++) {
		struct paper_rounds mops[COUNT(kinds)] = {0};

		for (uint32_t round = 0; round < rounds; round++)
			for (uint32_t i = 0; i < COUNT(kinds); i++) {
				const struct load_counts n =
					load_run(&c->load, kinds[i], c->cache[i], threads, blocks);

				ensure(c->load.set_missed || n.misses == 0);
				paper_rounds_add(&mops[i], (double)n.operations / n.seconds / 1e6);
				bench_progress(figure, round, rounds);
			}
		for (uint32_t i = 0; i < COUNT(kinds); i++) {
			const struct paper_row row = {.part = "memc3",
						      .figure = figure,
						      .series = kinds[i]->name,
						      .unit = "Mops",
						      .x = threads,
						      .keys = c->load.keys};

			paper_time(&row, &mops[i]);
		}
	}
}

static void
figure8_big(const struct paper_options *o)
{
	const uint32_t keys = paper_sized(o, 20000, 500000, 8000000);
	struct caches c;

	caches_open(&c, o, keys, (size_t)keys * WORKING_BYTES * BIG_PERCENT / 100);
	figure8(&c, o, "fig8a", 1);
	c.load.sets_in_100 = 5;
	figure8(&c, o, "fig8a_5_percent_sets", 1);
	caches_close(&c);
}

static void
figure8_small(const struct paper_options *o)
{
	const uint32_t keys = paper_sized(o, 120000, 750000, 10000000);
	struct caches c;

	caches_open(&c, o, keys, (size_t)keys * WORKING_BYTES / SMALL_PART);
	c.load.set_missed = true;
	figure8(&c, o, "fig8b", paper_sized(o, 1, 40, 600));
	caches_close(&c);
}

/* ---- table 3, table 1 ---- */

struct size3 {
	uint32_t value_bytes, memory_mib;
};

static const struct size3 full[] = {{2, 32},  {2, 128},  {32, 8},   {32, 16},  {32, 32},
				    {32, 64}, {32, 128}, {32, 256}, {256, 64}, {256, 256}};
static const struct size3 quick[] = {{2, 8}, {32, 8}, {32, 64}, {256, 32}};
static const struct size3 tiny[] = {{32, 8}};

static const struct cache_kind *const kinds3[] = {
	&cache_chaining_lru, &cache_cuckoo_lru, &cache_chaining_clock,
	&cache_cuckoo_clock, &cache_own,
};

static struct cache_state
measure_size(const struct paper_options *o, struct cache_load *l, const struct cache_kind *kind,
	     const struct size3 *size, uint32_t blocks)
{
	const struct cache_need need = {.memory_bytes = size->memory_mib * BENCH_MIB,
					.value_bytes = size->value_bytes,
					.threads = 1};
	void *cache = kind->create(&need);
	struct load_counts n;
	struct cache_state state;
	char label[32];
	struct paper_row row = {
		.part = "memc3", .series = kind->name, .label = label, .keys = l->keys};

	load_rewind(l, o->seed);
	load_preload(l, kind, cache);
	load_run(l, kind, cache, 1, blocks);
	n = load_run(l, kind, cache, 1, blocks);
	state = kind->state(cache);
	snprintf(label, sizeof label, "%u MB, %u bytes", size->memory_mib, size->value_bytes);
	row.figure = "table3_items";
	row.unit = "items";
	paper_count(&row, (double)state.items);
	row.figure = "table3_misses";
	row.unit = "share";
	paper_count(&row, (double)n.misses / (double)n.gets);
	kind->destroy(cache);
	return state;
}

/* Prints table 1 for full caches. Clockoo's store has the paper's index and upkeep in its items'
 * bytes. */
static void
print_table1(const struct cache_state *state, const struct size3 *size)
{
	const double data = sizeof(struct bench_key) + size->value_bytes;

	for (uint32_t i = 0; i < COUNT(kinds3); i++) {
		const double items = (double)state[i].items;
		struct paper_row row = {.part = "memc3",
					.figure = "table1",
					.series = kinds3[i]->name,
					.label = "index_bytes_per_key",
					.unit = "bytes"};
		const bool chains =
			kinds3[i] == &cache_chaining_lru || kinds3[i] == &cache_chaining_clock;
		const double links = chains ? sizeof(void *) : 0;

		paper_count(&row, (double)state[i].index_bytes / items + links);
		row.label = "overhead_bytes_per_item";
		paper_count(&row,
			    (double)(state[i].item_bytes + state[i].index_bytes) / items - data);
	}
}

/* Prints by how much more items clockoo's store holds in the same bytes. */
static void
print_items_more(const struct cache_state *state)
{
	const struct cache_state *lru = &state[0], *own = &state[COUNT(kinds3) - 1];
	const double own_bytes = (double)(own->item_bytes + own->index_bytes) / (double)own->items;
	struct paper_row row = {.part = "memc3",
				.figure = "derived",
				.series = "ours",
				.label = "items_more_than_lru_chaining",
				.unit = "share"};

	paper_count(&row, (double)lru->item_bytes / (double)lru->items / own_bytes - 1);
	row.label = "items_more_than_lru_chaining_with_its_index";
	paper_count(&row,
		    (double)(lru->item_bytes + lru->index_bytes) / (double)lru->items / own_bytes -
			    1);
}

static void
table3(const struct paper_options *o, const struct size3 *sizes, uint32_t count)
{
	const uint32_t keys = paper_sized(o, 130000, 1200000, 12500000),
		       blocks = paper_sized(o, 1, 30, 300);
	struct cache_state state[COUNT(kinds3)], largest[COUNT(kinds3)];
	const struct size3 *of_largest = sizes;

	for (uint32_t s = 0; s < count; s++) {
		struct cache_load l;

		load_open(&l, keys, sizes[s].value_bytes, o->seed);
		l.sets_in_100 = 5;
		l.set_missed = true;
		for (uint32_t i = 0; i < COUNT(kinds3); i++) {
			state[i] = measure_size(o, &l, kinds3[i], &sizes[s], blocks);
			bench_progress("table 3", s * COUNT(kinds3) + i, count * COUNT(kinds3));
		}
		load_close(&l);
		if (sizes[s].value_bytes == VALUE_BYTES) {
			of_largest = &sizes[s];
			memcpy(largest, state, sizeof state);
		}
	}
	if (paper_wants(o, "table1"))
		print_table1(largest, of_largest);
	print_items_more(largest);
}

void
figures_of_caches(const struct paper_options *o)
{
	if (paper_wants(o, "fig8a"))
		figure8_big(o);
	if (paper_wants(o, "fig8b"))
		figure8_small(o);
	if (!paper_wants(o, "table3") && !paper_wants(o, "table1"))
		return;
	if (o->size == PAPER_FULL)
		table3(o, full, COUNT(full));
	else if (o->size == PAPER_QUICK)
		table3(o, quick, COUNT(quick));
	else
		table3(o, tiny, COUNT(tiny));
}
