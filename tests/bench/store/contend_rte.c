/*
 * DPDK's rte_hash, with readers without locks (RW_CONCURRENCY_LF), in bulk and key by key. Its
 * memory is an external heap, so that it lies in the same kind of pages as the other tables.
 */
#include "contender.h"

#include "base/hash.h"

#include <rte_eal.h>
#include <rte_hash.h>
#include <rte_malloc.h>
#include <stdio.h>
#include <string.h>

#define HEAP_NAME     "bench"
#define BYTES_PER_KEY 64u /* 40 for the key and its index, 9 for its slot, rounded up */
#define PAGE_BYTES    (2u << 20)
#define SLOTS_PER_KEY 1.25 /* slots for each key */
#define BULK          64u  /* RTE_HASH_LOOKUP_BULK_MAX */

static struct rte_hash *table;

static uint32_t
hash_of(const void *key, uint32_t len, uint32_t seed)
{
	return (uint32_t)hash_bytes(key, len, seed);
}

static bool
heap(size_t bytes)
{
	char words[][16] = {"bench", "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry",
			    "-m",    "64",        "-l",          "0",        "--log-level=3"};
	char *argv[sizeof words / sizeof *words + 1] = {NULL};
	const int argc = sizeof words / sizeof *words;
	void *memory;

	for (int i = 0; i < argc; i++)
		argv[i] = words[i];
	if (rte_eal_init(argc, argv) < 0)
		return false;
	memory = bench_map(bytes);
	return rte_malloc_heap_create(HEAP_NAME) == 0 &&
	       rte_malloc_heap_memory_add(HEAP_NAME, memory, bytes, NULL,
					  (unsigned)(bytes / PAGE_BYTES), PAGE_BYTES) == 0;
}

static bool
create(struct bench_item *items, uint32_t count)
{
	const size_t bytes =
		((size_t)(count * SLOTS_PER_KEY) * 2 * BYTES_PER_KEY / PAGE_BYTES + 32) *
		PAGE_BYTES;

	if (!heap(bytes)) {
		fprintf(stderr, "rte_hash: no EAL or no heap\n");
		return false;
	}

	const struct rte_hash_parameters p = {
		.name = "bench",
		.entries = (uint32_t)(count * SLOTS_PER_KEY),
		.key_len = BENCH_KEY_BYTES,
		.hash_func = hash_of,
		.hash_func_init_val = CONTENDER_SEED,
		.socket_id = rte_malloc_heap_get_socket(HEAP_NAME),
		.extra_flag = RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF,
	};

	table = rte_hash_create(&p);
	if (table == NULL)
		fprintf(stderr, "rte_hash: no table\n");
	return table != NULL;
}

static void
insert(struct bench_item *item)
{
	const uint32_t hash = hash_of(&item->key, BENCH_KEY_BYTES, CONTENDER_SEED);

	if (rte_hash_add_key_with_hash_data(table, &item->key, hash, item) != 0)
		fprintf(stderr, "rte_hash: a key found no place\n");
}

static void
lookup_bulk(uint32_t thread, struct lookup_batch *l)
{
	const void *keys[BULK];
	hash_sig_t hash[BULK];
	void *found[BULK];

	for (uint32_t at = 0; at < l->count; at += BULK) {
		const uint32_t n = l->count - at < BULK ? l->count - at : BULK;
		uint64_t mask = 0;

		for (uint32_t i = 0; i < n; i++) {
			keys[i] = &l->keys[at + i];
			hash[i] = hash_of(keys[i], BENCH_KEY_BYTES, CONTENDER_SEED);
		}
		rte_hash_lookup_with_hash_bulk_data(table, keys, hash, n, &mask, found);
		l->hits += (uint32_t)__builtin_popcountll(mask);
		for (uint32_t i = 0; i < n && l->touch; i++)
			if (mask >> i & 1)
				l->sum += ((const struct bench_item *)found[i])->value[0];
	}
}

static void
lookup_single(uint32_t thread, struct lookup_batch *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		const void *key = &l->keys[i];
		void *found;

		if (rte_hash_lookup_with_hash_data(
			    table, key, hash_of(key, BENCH_KEY_BYTES, CONTENDER_SEED), &found) < 0)
			continue;
		l->hits++;
		if (l->touch)
			l->sum += ((const struct bench_item *)found)->value[0];
	}
}

const struct contender contend_rte_bulk = {
	.name = "rte_hash bulk", .create = create, .insert = insert, .lookup = lookup_bulk};

/* Uses the table that the previous contender created and filled. */
const struct contender contend_rte_single = {.name = "rte_hash single", .lookup = lookup_single};
