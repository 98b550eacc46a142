/*
 * flash_looks.c - looks for keys that are nowhere: 16 full columns and the index of a full log,
 * beyond the caches.
 *
 * One filter is built; column c has its buckets turned by c strides, so that a row's columns have
 * fingerprints of different keys.
 */
#include "flash_parts.h"

#include "../store/bench_load.h"

#include "base/prefetch.h"
#include "flash/flash_columns.h"
#include "flash/flash_index.h"

#include <stdio.h>
#include <stdlib.h>

#define FULL       0.95
#define LOG_SHARE  18u /* a log has so many-th part of all items */
#define LOG_FULL   0.98
#define STRIDE     1000003u
#define BATCH      64u
#define ABSENT     (1ull << 40)
#define MIB        (1ull << 20)
#define ITEM_BYTES 1.87

struct looks {
	struct flash_columns columns;
	struct flash_index index;
	struct filter *filter;
	uint64_t items, index_items;
	size_t column_bytes, index_bytes;
};

static uint64_t
hash_of(uint64_t n)
{
	return bench_mix(n * 0x9e3779b97f4a7c15ull + 1);
}

static void
fill_columns(struct looks *l, uint32_t buckets)
{
	const struct filter_shape shape = flash_column_shape(buckets);
	const uint64_t count = (uint64_t)(FULL * buckets * FLASH_COLUMN_SLOTS);
	uint32_t slots[FILTER_SLOTS_MAX];
	struct region region = {.size = flash_columns_bytes(buckets)};

	l->filter = bench_map(filter_bytes(&shape));
	filter_init(l->filter, &shape, 1);
	for (uint64_t n = 0; n < count; n++) {
		ensure(filter_insert(l->filter, hash_of(n)));
		if (n % 65536 == 0)
			bench_progress("filling a column", n, count);
	}
	l->column_bytes = region.size;
	region.base = bench_map(region.size);
	flash_columns_init(&l->columns, &region, buckets);
	for (uint32_t c = 0; c < FLASH_COLUMNS; c++)
		for (uint32_t b = 0; b < buckets; b++) {
			filter_bucket(l->filter, (uint32_t)((b + (uint64_t)c * STRIDE) % buckets),
				      slots);
			flash_columns_put(&l->columns, c, b, slots, b % 5 == 4);
		}
	flash_columns_show(&l->columns, (1u << FLASH_COLUMNS) - 1);
	l->items = count * FLASH_COLUMNS;
}

static void
fill_index(struct looks *l)
{
	const uint64_t items = l->items / LOG_SHARE;

	l->index.bucket_count = (uint32_t)((double)items / (BUCKET_SLOTS * LOG_FULL)) / 2 * 2 + 2;
	l->index_bytes = l->index.bucket_count * sizeof(struct bucket);
	l->index.buckets = bench_map(l->index_bytes);
	for (uint64_t n = 0; n < items; n++)
		ensure(flash_index_insert(&l->index, hash_of(ABSENT / 2 + n),
					  (uint32_t)(n & 0x7fffffff) | 1));
	l->index_items = items;
}

/* As may_have of the supplier, for BATCH keys whose lines are asked for at once. */
static uint32_t
look_many(const struct looks *l, const uint64_t *hashes, uint32_t *candidates)
{
	struct filter_place places[BATCH];
	struct flash_column_match found[FLASH_COLUMN_MATCHES];
	uint32_t locations[FLASH_INDEX_MATCHES], keys = 0;

	for (uint32_t i = 0; i < BATCH; i++) {
		const struct place p = flash_index_place(&l->index, hashes[i]);

		prefetch(&l->index.buckets[p.primary]);
		prefetch(&l->index.buckets[p.alternate]);
		places[i] = flash_columns_fetch(&l->columns, hashes[i]);
	}
	for (uint32_t i = 0; i < BATCH; i++) {
		const uint32_t n = flash_index_look(&l->index, hashes[i], locations) +
				   flash_columns_look(&l->columns, &places[i], found);

		*candidates += n;
		keys += n != 0;
	}
	return keys;
}

/* One after the other: a look's own lines come together, those of the next one do not. */
static uint64_t
look_one_by_one_ns(const struct looks *l, uint64_t count, uint64_t *random, uint32_t *candidates)
{
	struct flash_column_match found[FLASH_COLUMN_MATCHES];
	uint32_t locations[FLASH_INDEX_MATCHES];
	const uint64_t from = bench_cpu_ns();

	for (uint64_t i = 0; i < count; i++) {
		const uint64_t hash = hash_of(ABSENT + (bench_random(random) & (ABSENT - 1)));
		const struct filter_place p = flash_columns_fetch(&l->columns, hash);

		*candidates += flash_index_look(&l->index, hash, locations) +
			       flash_columns_look(&l->columns, &p, found);
	}
	return bench_cpu_ns() - from;
}

void
flash_part_misses(const struct flash_trial *t)
{
	struct looks l = {0};
	/* So many MiB of columns. */
	const uint32_t buckets =
		(uint32_t)(t->mib * MIB / (FLASH_COLUMNS * FLASH_COLUMN_SLOTS * ITEM_BYTES * FULL));
	uint64_t hashes[BATCH], random = t->run + 1, done = 0;
	uint32_t candidates = 0, keys = 0;

	fill_columns(&l, buckets);
	fill_index(&l);

	const uint64_t from = bench_cpu_ns();

	for (; done < t->gets; done += BATCH) {
		for (uint32_t i = 0; i < BATCH; i++)
			hashes[i] = hash_of(ABSENT + (bench_random(&random) & (ABSENT - 1)));
		keys += look_many(&l, hashes, &candidates);
	}

	const uint64_t ns = bench_cpu_ns() - from;
	uint32_t others = 0;
	const uint64_t one_ns = look_one_by_one_ns(&l, done, &random, &others);

	printf("{\"part\": \"misses\", \"run\": %u, \"items\": %llu, \"column_bytes\": %zu, "
	       "\"index_bytes\": %zu, \"column_bytes_per_item\": %.4f, \"bytes_per_item\": %.4f, "
	       "\"candidates\": %.6f, \"keys\": %.6f, \"mops\": %.3f, \"ns\": %.1f, \"one_mops\": "
	       "%.3f}\n",
	       t->run, (unsigned long long)(l.items + l.index_items), l.column_bytes, l.index_bytes,
	       (double)l.column_bytes / (double)l.items,
	       (double)(l.column_bytes + l.index_bytes) / (double)(l.items + l.index_items),
	       (double)candidates / (double)done, (double)keys / (double)done,
	       (double)done * 1e3 / (double)ns, (double)ns / (double)done,
	       (double)done * 1e3 / (double)one_ns);
	bench_unmap(l.index.buckets, l.index_bytes);
}
