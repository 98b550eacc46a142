/*
 * bench_space.c - measures the memory of an item in total, for a 16-byte key and 32 bytes of
 * value, or as given.
 *
 * A store (or a memcached at --peer) of a given size is filled until it has long been evicting.
 * The bytes of an item are the whole budget divided by the items, including memory outside the
 * budget: clockoo's tables for each core, memcached's hash table. The resident memory that the
 * kernel reports is printed, too.
 *
 *   bench_space [--memory MB] [--key BYTES] [--value BYTES] [--peer SOCKET]
 */
#include "memcached_peer.h"
#include "own_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EVICTED_SHARE 64u /* the store is full when one item of this number was evicted */
#define SETTLE_TRIES  400u
#define SETTLE_US     50000u
#define LOOK_EVERY    4096u /* sets between two checks of how full it is */

/* The items to store, and the memory. */
struct shape {
	uint32_t mebibytes, key, value;
};

static void
say(const char *who, const struct shape *s, uint64_t items, uint64_t bytes, uint64_t rss_kb,
    uint64_t pss_kb)
{
	const double kb_per_item = 1024 / (double)items;

	printf("{\"part\": \"memory\", \"who\": \"%s\", \"mb\": %u, \"items\": %llu, "
	       "\"bytes_per_item\": %.2f, \"rss_per_item\": %.2f, \"pss_per_item\": %.2f}\n",
	       who, s->mebibytes, (unsigned long long)items, (double)bytes / (double)items,
	       (double)rss_kb * kb_per_item, (double)pss_kb * kb_per_item);
}

/* Returns twice the items that would fit if an item were only its key and value. */
static uint64_t
puts_max(const struct shape *s)
{
	return s->mebibytes * BENCH_MIB / (s->key + s->value) * 2;
}

static void
own(const struct shape *s)
{
	static uint8_t value[PEER_VALUE_MAX], key[PEER_KEY_MAX];
	const uint64_t rss_before = bench_memory_kb(0, "Rss"),
		       pss_before = bench_memory_kb(0, "Pss");
	struct store_usage usage = {0};
	struct own_store o;
	bool full = false;

	own_create(&o, s->mebibytes * BENCH_MIB, 1);

	struct store_core *sc = store_core_of(o.store, 0);

	for (uint64_t i = 0; i < puts_max(s) && !full; i++) {
		const struct bench_key k = bench_key_of(i);
		const struct view name = {key, s->key};

		memcpy(key, &k, sizeof k);
		own_turn(&o, sc);
		ensure(own_put(sc, name, store_hash(sc, name), value, s->value) == STORE_OK);
		if (i % LOOK_EVERY != 0)
			continue;
		store_usage_mt(o.store, &usage);
		full = own_counted(&o, STORE_EVICTED) > usage.items / EVICTED_SHARE;
		bench_progress("filling the store", i, puts_max(s));
	}
	ensure(full);
	fprintf(stderr, "%.2f %% of the index's slots are used\n",
		100.0 * (double)usage.items / (double)usage.index_slots);
	say("clockoo", s, usage.items, o.bytes, bench_memory_kb(0, "Rss") - rss_before,
	    bench_memory_kb(0, "Pss") - pss_before);
	own_destroy(&o);
}

/* Waits for memcached's hash table. memcached checks once a second whether the table has 3 items
 * on 2 buckets, and then doubles it on a thread of its own; a fast filling outruns that, and
 * figures read then would be random. */
static void
settle(struct peer *p)
{
	for (uint32_t i = 0; i < SETTLE_TRIES; i++) {
		const uint64_t buckets = 1ull << peer_stat(p, "hash_power_level");

		if (peer_stat(p, "hash_is_expanding") == 0 &&
		    peer_stat(p, "curr_items") <= buckets * 3 / 2)
			return;
		bench_progress("memcached's hash table grows", i, SETTLE_TRIES);
		usleep(SETTLE_US);
	}
	fprintf(stderr, "memcached's hash table does not come to rest\n");
	exit(1);
}

static void
peer(const struct shape *s, const char *path)
{
	static struct peer p;
	uint64_t items = 0;
	bool full = false;

	peer_open(&p, path);
	for (uint64_t i = 0; i < puts_max(s) && !full; i++) {
		peer_set_sized(&p, i, s->key, s->value);
		if (i % PEER_BATCH == PEER_BATCH - 1)
			peer_flush(&p, NULL);
		if (i % LOOK_EVERY != LOOK_EVERY - 1)
			continue;
		items = peer_stat(&p, "curr_items");
		full = peer_stat(&p, "evictions") > items / EVICTED_SHARE;
		bench_progress("filling memcached", i, puts_max(s));
	}

	ensure(full);
	settle(&p);

	const int pid = (int)peer_stat(&p, "pid");

	say("memcached", s, items, s->mebibytes * BENCH_MIB + peer_stat(&p, "hash_bytes"),
	    bench_memory_kb(pid, "Rss"), bench_memory_kb(pid, "Pss"));
	peer_close(&p);
}

int
main(int argc, char **argv)
{
	const char *path = NULL;
	struct shape s = {64, BENCH_KEY_BYTES, BENCH_VALUE_BYTES};

	const struct bench_option known[] = {
		BENCH_NUMBER("memory", &s.mebibytes, 8, 65536),
		BENCH_NUMBER("key", &s.key, BENCH_KEY_BYTES, PEER_KEY_MAX),
		BENCH_NUMBER("value", &s.value, 0, PEER_VALUE_MAX),
		BENCH_TEXT("peer", &path),
		{0}};

	bench_options(argc, argv, known);
	if (path != NULL)
		peer(&s, path);
	else
		own(&s);
	return 0;
}
