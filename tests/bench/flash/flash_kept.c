/*
 * flash_kept.c - of the bytes that memory evicts, the share that is found on flash.
 *
 * A store over a tier whose device writes a segment in SEGMENT_NS is set with values of one size,
 * at half of that rate and three times as many as it holds. Time is counted in turns of TURN_NS, so
 * two runs count alike. Values that the store lacks are looked up in the tier, read from the device
 * or a buffer, and compared.
 */
#include "flash_parts.h"

#include "../../sim/mem_flash.h"
#include "../store/own_store.h"

#include "flash/flash_tier.h"
#include "store/conditional.h"

#include <stdio.h>
#include <string.h>

#define MIB        (1ull << 20)
#define TURN_NS    50000ull
#define SEGMENT_NS 10000000ull /* 200 MB a second */
#define RATE_SHARE 2u          /* part of the device's rate */
#define FILLS      3u
#define FLASH_FILL 7u /* a value of 1 MiB takes a segment of 2 */
#define KEYS_MAX   (1u << 17)
#define LEAVE_MAX  100000u /* most turns until all waiting values have left */
#define DEPTH      8u

static const uint32_t sizes[] = {4096, 65536, 1u << 20};

static struct {
	struct own_store own;
	struct store_core *sc;
	struct mem_flash media;
	struct flash_tier tier;
	struct flash_shard shard;
	struct flash_kept kept;
	struct flash_intents intents;
	struct flash_writer writer;
	uint8_t *buffers, *record;
	struct bucket *buckets;
	uint32_t bucket_count;
	uint64_t now_ns;
	uint8_t value[2 << 20];
} w;

static void
open_tier(uint64_t bytes, uint32_t value_bytes)
{
	const uint32_t segments = (uint32_t)(bytes / FLASH_SEGMENT_BYTES);
	const struct flash_tier_config t = {.shards = &w.shard,
					    .shard_count = 1,
					    .cores = 1,
					    .item_max = FLASH_VALUE_MAX,
					    .admit_all = true,
					    .thread_copies = true};

	w.bucket_count = (uint32_t)align_up(bytes / value_bytes / (BUCKET_SLOTS / 2) + 16, 2);
	w.buckets = bench_map(w.bucket_count * sizeof *w.buckets);
	w.buffers = bench_map(FLASH_BUFFERS * FLASH_SEGMENT_BYTES);
	w.record = bench_map(FLASH_SEGMENT_BYTES);
	mem_flash_open(&w.media, bytes, DEPTH, 1);
	w.media.faults.write_ns = SEGMENT_NS;
	memset(&w.kept, 0, sizeof w.kept);
	flash_tier_init(&w.tier, &t);
	w.writer = (struct flash_writer){.tier = &w.tier, .device = &w.media.device};
	flash_shard_init(&w.shard,
			 &(struct flash_shard_config){.log = {.id = {.device = 1},
							      .segments = segments,
							      .segment_pages = FLASH_SEGMENT_PAGES,
							      .live = segments - 2},
						      .buckets = w.buckets,
						      .bucket_count = w.bucket_count,
						      .kept = &w.kept,
						      .intents = &w.intents,
						      .pages = w.buffers});
	store_tier_attach(w.own.store, &w.tier.hooks);
}

static void
close_all(void)
{
	mem_flash_close(&w.media);
	bench_unmap(w.buckets, w.bucket_count * sizeof *w.buckets);
	bench_unmap(w.buffers, FLASH_BUFFERS * FLASH_SEGMENT_BYTES);
	bench_unmap(w.record, FLASH_SEGMENT_BYTES);
	own_destroy(&w.own);
}

static void
turn(void)
{
	w.now_ns += TURN_NS;
	mem_flash_tick(&w.media, w.now_ns);
	flash_writer_work(&w.writer, w.now_ns);
	store_turn(w.sc, STORE_CLOCK_START);
	store_housekeeping(w.sc);
	flash_tier_turn(&w.tier, 0, w.now_ns, store_evictions_wait(w.sc));
	store_evict_waiting(w.sc);
}

static void
make_value(uint64_t n, uint32_t len)
{
	uint64_t x = bench_mix(n);

	for (uint32_t at = 0; at + sizeof x <= len; at += (uint32_t)sizeof x) {
		x += 0x9e3779b97f4a7c15ull;
		memcpy(w.value + at, &x, sizeof x);
	}
}

/* Returns the turns that the set waited for memory. */
static uint32_t
set(uint64_t n, uint32_t len)
{
	const struct bench_key k = bench_key_of(n);
	uint32_t turns = 0;
	enum store_result r;

	make_value(n, len);
	while ((r = own_put_once(w.sc, own_key(&k), store_hash(w.sc, own_key(&k)), w.value, len)) ==
	       STORE_NOT_YET) {
		turn();
		turns++;
	}
	ensure(r == STORE_OK);
	return turns;
}

static bool
read_is_of(struct view key, uint64_t n, uint32_t len, const struct flash_candidate *at)
{
	const uint32_t bytes = flash_candidate_pages(at) * FLASH_PAGE_BYTES;
	const bool buffered = flash_read_buffer(&w.shard, at, w.record);
	struct flash_found found;

	if (!buffered)
		memcpy(w.record, w.media.now + flash_candidate_offset(&w.shard, at), bytes);
	if (flash_read_judge(&w.shard, at, w.record, buffered, key, &found) != FLASH_FOUND)
		return false;
	ensure(found.record.value_len == len);
	make_value(n, len);
	for (uint32_t i = 0; i < len; i += 8) {
		uint64_t word;

		flash_payload_get(w.record, found.walk.value_at + i, &word, sizeof word);
		ensure(memcmp(&word, w.value + i, sizeof word) == 0);
	}
	return true;
}

static bool
is_on_flash(uint64_t n, uint32_t len)
{
	const struct bench_key k = bench_key_of(n);
	const uint64_t hash = store_hash(w.sc, own_key(&k));
	struct flash_look l = {0};

	do
		flash_look_begin(&w.shard, &l);
	while (!flash_look_end(&w.shard, &l, hash));
	for (uint32_t i = 0; i < l.count; i++)
		if (read_is_of(own_key(&k), n, len, &l.at[i]))
			return true;
	return false;
}

static bool
is_in_memory(uint64_t n)
{
	const struct bench_key k = bench_key_of(n);

	return store_peek(w.sc, own_key(&k), store_hash(w.sc, own_key(&k))) != NULL;
}

static void
measure(const struct flash_trial *t, uint32_t len)
{
	const uint64_t per_turn = FLASH_SEGMENT_BYTES * TURN_NS / SEGMENT_NS / RATE_SHARE;
	const uint64_t sets = FILLS * t->mib * MIB / len;
	uint64_t evicted = 0, kept = 0, due = 0;
	uint32_t longest = 0, waited;

	own_create(&w.own, t->mib * MIB, 1);
	w.sc = store_core_of(w.own.store, 0);
	open_tier(FLASH_FILL * t->mib * MIB, len);
	for (uint64_t n = 0; n < sets; n++) {
		for (; due < len; due += per_turn)
			turn();
		due -= len;
		waited = set(n, len);
		longest = waited > longest ? waited : longest;
	}
	for (uint32_t i = 0; i < LEAVE_MAX && store_evictions_wait(w.sc) != 0; i++)
		turn();
	for (uint64_t n = 0; n < sets; n++) {
		const bool out = !is_in_memory(n);

		evicted += out ? len : 0;
		kept += out && is_on_flash(n, len) ? len : 0;
	}
	ensure(evicted != 0);
	printf("{\"part\": \"kept\", \"run\": %u, \"value\": %u, \"evicted_bytes\": %llu, "
	       "\"kept_bytes\": %llu, \"refused_device\": %llu, \"longest_wait_turns\": %u}\n",
	       t->run, len, (unsigned long long)evicted, (unsigned long long)kept,
	       (unsigned long long)counter_read(&w.tier.core[0].counters[FLASH_REFUSED_DEVICE]),
	       longest);
	close_all();
}

void
flash_part_kept(const struct flash_trial *t)
{
	for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		measure(t, sizes[i]);
}
