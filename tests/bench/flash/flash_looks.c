/*
 * flash_looks.c - looks up absent keys as the product does: the misses of a pass are announced to
 * its backend, which then answers for which of them it may have an item. There are two streams,
 * as with layout hash: 16 full columns and the index of a full log; and the index of large items,
 * which is empty at first, as all items of the bench are small, and then full, too. All are
 * larger than the caches.
 *
 * One filter is built; column c has its buckets turned by c strides, so that a row's columns have
 * fingerprints of different keys. The store has few items, so its lines are cached, as they are
 * after the pass's lookup in it.
 */
#include "flash_parts.h"
#include "flash_rig.h"

#include "../store/own_store.h"

#include "flash/flash_backend.h"
#include "support/cuckoo_filter.h"

#include <stdio.h>
#include <stdlib.h>

#define FULL         0.95
#define LOG_SHARE    18u /* the log has one item for this many of the columns, */
#define LARGE_SHARE  13u /* and the log of large items one for this many */
#define LOG_FULL     0.98
#define LOG_SEGMENTS 4096u
#define LOG_LIVE     (LOG_SEGMENTS - LOG_SEGMENTS / 16)
#define STRIDE       1000003u
#define ABSENT       (1ull << 40)
#define ITEM_BYTES   1.87
#define STORE_BYTES  (8ull << 20)
#define STORE_ITEMS  20000u
#define VALUE_BYTES  100u

#define DRAWN (16u * OPS_MAX)
static uint64_t drawn[DRAWN];

struct looked {
	uint64_t count, ns;
	uint32_t keys; /* keys found that may be on flash */
};

struct looks {
	struct own_store own;
	struct flash_tier tier;
	struct flash_shard shards[FLASH_STREAMS];
	struct flash_kept kept[FLASH_STREAMS];
	struct flash_intents intents;
	struct ram_device ram;
	struct backend backend;
	uint64_t items, index_items;
	size_t column_bytes, index_bytes;
};

static uint64_t
hash_of(uint64_t n)
{
	return bench_mix(n * 0x9e3779b97f4a7c15ull + 1);
}

/* ---- content ---- */

static void
fill_columns(struct looks *l, struct flash_shard *s)
{
	const uint32_t buckets = s->column.buckets;
	const struct filter_shape shape = flash_column_shape(buckets);
	const uint64_t count = (uint64_t)(FULL * buckets * FLASH_COLUMN_SLOTS);
	struct filter *filter = bench_map(filter_bytes(&shape));
	uint32_t slots[FILTER_SLOTS_MAX];

	filter_init(filter, &shape, 1);
	for (uint64_t n = 0; n < count; n++) {
		ensure(filter_insert(filter, hash_of(n)));
		if (n % 65536 == 0)
			bench_progress("filling a column", n, count);
	}
	for (uint32_t c = 0; c < FLASH_COLUMNS; c++) {
		for (uint32_t b = 0; b < buckets; b++) {
			filter_bucket(filter, (uint32_t)((b + (uint64_t)c * STRIDE) % buckets),
				      slots);
			flash_columns_put(&s->columns, c, b, slots, b % 5 == 4);
		}
		s->columns.kept->pages[c] = s->column.pages;
		s->columns.kept->number[c] = FLASH_COLUMNS + c;
	}
	flash_columns_show(&s->columns, (1u << FLASH_COLUMNS) - 1);
	l->items = count * FLASH_COLUMNS;
	bench_unmap(filter, filter_bytes(&shape));
}

static uint32_t
index_buckets(uint64_t items)
{
	return (uint32_t)((double)items / (BUCKET_SLOTS * LOG_FULL)) / 2 * 2 + 2;
}

static void
fill_index(struct looks *l, struct flash_shard *s, uint64_t first, uint64_t items)
{
	s->log.head = LOG_LIVE;
	for (uint64_t n = 0; n < items; n++)
		ensure(flash_index_insert(
			&s->index, hash_of(first + n),
			flash_location(1 + (uint32_t)(n % LOG_LIVE),
				       1 + (uint32_t)(n / LOG_LIVE) % (FLASH_SEGMENT_PAGES - 2),
				       1)));
	l->index_items += items;
	l->index_bytes += s->index.bucket_count * sizeof(struct bucket);
}

static void
open_shard(struct looks *l, uint32_t stream, uint64_t items, uint32_t column_buckets)
{
	const uint32_t buckets = index_buckets(items);
	const size_t column_bytes = column_buckets != 0 ? flash_columns_bytes(column_buckets) : 0;
	const struct flash_shard_config c = {
		.log = {.segments = LOG_SEGMENTS,
			.segment_pages = FLASH_SEGMENT_PAGES,
			.live = LOG_LIVE},
		.bucket_count = buckets,
		.buckets = bench_map(buckets * sizeof(struct bucket)),
		.kept = &l->kept[stream],
		.intents = &l->intents,
		.pages = bench_map((size_t)FLASH_BUFFERS * FLASH_SEGMENT_BYTES),
		.column = {.memory = column_bytes != 0 ? bench_map(column_bytes) : NULL,
			   .count = column_bytes != 0 ? FLASH_COLUMNS : 0,
			   .buckets = column_buckets,
			   .pages = column_buckets / 5 + 1}};

	flash_shard_init(&l->shards[stream], &c);
	l->column_bytes += column_bytes;
}

static void
open_backend(struct looks *l)
{
	struct flash_backend_config c = {.tier = &l->tier,
					 .store = store_core_of(l->own.store, 0),
					 .device = &l->ram.device,
					 .reads_small = 1,
					 .reads_large = 1,
					 .item_max = VALUE_BYTES,
					 .deadline_ns = 1};
	struct region region = {.size = flash_backend_bytes()};

	region.base = bench_map(region.size);
	c.pages = bench_map((size_t)flash_backend_pages(&c) * FLASH_PAGE_BYTES);
	ram_device_open(&l->ram, FLASH_SEGMENT_BYTES, 2);
	l->backend = flash_backend_of(flash_backend_create(&region, &c));
}

static void
fill_store(struct looks *l)
{
	static const uint8_t value[VALUE_BYTES];
	struct store_core *sc;

	own_create(&l->own, STORE_BYTES, 1);
	sc = store_core_of(l->own.store, 0);
	for (uint32_t n = 0; n < STORE_ITEMS; n++) {
		const struct bench_key k = bench_key_of(n);

		ensure(own_put(sc, own_key(&k), store_hash(sc, own_key(&k)), value, VALUE_BYTES) ==
		       STORE_OK);
		own_turn(&l->own, sc);
	}
}

static void
open_looks(struct looks *l, uint64_t column_bytes)
{
	const struct flash_tier_config t = {.shards = l->shards,
					    .shard_count = FLASH_STREAMS,
					    .streams = FLASH_STREAMS,
					    .cores = 1,
					    .item_max = VALUE_BYTES};
	const uint32_t buckets =
		(uint32_t)((double)column_bytes /
			   (FLASH_COLUMNS * FLASH_COLUMN_SLOTS * ITEM_BYTES * FULL));
	const uint64_t items = (uint64_t)(FULL * buckets * FLASH_COLUMN_SLOTS) * FLASH_COLUMNS;

	open_shard(l, 0, items / LOG_SHARE, buckets);
	open_shard(l, 1, items / LARGE_SHARE, 0);
	fill_columns(l, &l->shards[0]);
	fill_index(l, &l->shards[0], ABSENT / 2, items / LOG_SHARE);
	flash_tier_init(&l->tier, &t);
	fill_store(l);
	open_backend(l);
}

/* ---- lookups ---- */

/* Draws the hashes. This is outside the measured time: a pass already has its keys' hashes. */
static void
draw_hashes(uint64_t *random)
{
	for (uint32_t i = 0; i < DRAWN; i++)
		drawn[i] = hash_of(ABSENT + (bench_random(random) & (ABSENT - 1)));
}

/* Looks up the drawn keys as pending_may_have() does, for passes with OPS_MAX misses each;
 * prefetched: after a prefetch of the pass. */
static void
look_drawn(const struct looks *l, bool prefetched, struct looked *sum)
{
	static const struct bench_key absent = {{1, 2}};
	const struct backend *by = &l->backend;
	const uint64_t from = bench_cpu_ns();

	for (const uint64_t *pass = drawn; pass < drawn + DRAWN; pass += OPS_MAX) {
		if (prefetched)
			by->tier.prefetch(by->arg, pass, OPS_MAX);
		for (uint32_t i = 0; i < OPS_MAX; i++)
			sum->keys += by->tier.may_have(by->arg, own_key(&absent), pass[i]);
	}
	sum->ns += bench_cpu_ns() - from;
	sum->count += DRAWN;
}

/* Erases the drawn keys as sets of new keys do, under the store's locks. */
static void
erase_drawn(struct looks *l, bool prefetched, struct looked *sum)
{
	const struct backend *by = &l->backend;
	const struct store_tier *hooks = &l->tier.hooks;
	struct store_core *sc = store_core_of(l->own.store, 0);
	const uint64_t from = bench_cpu_ns();

	for (const uint64_t *pass = drawn; pass < drawn + DRAWN; pass += OPS_MAX) {
		if (prefetched)
			by->tier.prefetch(by->arg, pass, OPS_MAX);
		else
			by->tier.prefetch(by->arg, pass, 0);
		for (uint32_t i = 0; i < OPS_MAX; i++)
			hooks->absent(hooks->arg, sc, pass[i], 0);
	}
	sum->ns += bench_cpu_ns() - from;
	sum->count += DRAWN;
}

void
flash_part_misses(const struct flash_trial *t)
{
	static struct looks l;
	struct looked ahead = {0}, one = {0}, large = {0}, sets = {0}, sets_one = {0};
	uint64_t random = t->run + 1;

	open_looks(&l, t->mib * BENCH_MIB);
	while (ahead.count < t->gets) {
		draw_hashes(&random);
		look_drawn(&l, true, &ahead);
		draw_hashes(&random);
		look_drawn(&l, false, &one);
		draw_hashes(&random);
		erase_drawn(&l, true, &sets);
		draw_hashes(&random);
		erase_drawn(&l, false, &sets_one);
	}
	fill_index(&l, &l.shards[1], ABSENT / 4, l.items / LARGE_SHARE);
	while (large.count < t->gets) {
		draw_hashes(&random);
		look_drawn(&l, true, &large);
	}
	printf("{\"part\": \"misses\", \"run\": %u, \"items\": %llu, \"column_bytes\": %zu, "
	       "\"index_bytes\": %zu, \"column_bytes_per_item\": %.4f, \"bytes_per_item\": %.4f, "
	       "\"candidates\": %.6f, \"mops\": %.3f, \"ns\": %.1f, \"one_mops\": %.3f, "
	       "\"large_mops\": %.3f, \"sets_mops\": %.3f, \"sets_one_mops\": %.3f}\n",
	       t->run, (unsigned long long)(l.items + l.index_items), l.column_bytes, l.index_bytes,
	       (double)l.column_bytes / (double)l.items,
	       (double)(l.column_bytes + l.index_bytes) / (double)(l.items + l.index_items),
	       (double)ahead.keys / (double)ahead.count,
	       (double)ahead.count * 1e3 / (double)ahead.ns, (double)ahead.ns / (double)ahead.count,
	       (double)one.count * 1e3 / (double)one.ns,
	       (double)large.count * 1e3 / (double)large.ns,
	       (double)sets.count * 1e3 / (double)sets.ns,
	       (double)sets_one.count * 1e3 / (double)sets_one.ns);
}
