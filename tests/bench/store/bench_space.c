/*
 * bench_space.c - what an item of a 16-byte key and a 32-byte value costs, everything counted.
 *
 * A store (or a memcached at --peer) of a given size is filled until it has long been evicting.
 * Bytes an item are the whole budget by the items it holds, with what is not part of the budget:
 * our tables a core, memcached's hash table. Beside it, what the kernel says is resident.
 *
 *   bench_space [--memory MB] [--peer SOCKET]
 */
#include "memcached_peer.h"
#include "own_store.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BYTES_AT_LEAST 40u /* an item costs more, so so many of them do not fit */
#define EVICTED_SHARE  64u /* full for sure: one item of so many was evicted */
#define SETTLE_TRIES   400u
#define SETTLE_US      50000u
#define LOOK_EVERY     65536u /* sets between two looks at how full it is */

static void
say(const char *who, uint32_t mebibytes, uint64_t items, uint64_t bytes, uint64_t rss_kb)
{
	printf("{\"part\": \"memory\", \"who\": \"%s\", \"mb\": %u, \"items\": %llu, "
	       "\"bytes_per_item\": %.2f, \"rss_per_item\": %.2f}\n",
	       who, mebibytes, (unsigned long long)items, (double)bytes / (double)items,
	       (double)rss_kb * 1024 / (double)items);
}

static uint64_t
puts_max(uint32_t mebibytes)
{
	return mebibytes * BENCH_MIB / BYTES_AT_LEAST * 2;
}

static void
own(uint32_t mebibytes)
{
	static const uint8_t value[BENCH_VALUE_BYTES];
	const uint64_t rss_before = bench_memory_kb(0, "Rss");
	struct store_usage usage = {0};
	struct own_store o;
	bool full = false;

	own_create(&o, mebibytes * BENCH_MIB, 1);

	struct store_core *sc = store_core_of(o.store, 0);

	for (uint64_t i = 0; i < puts_max(mebibytes) && !full; i++) {
		const struct bench_key k = bench_key_of(i);

		own_turn(&o, sc);
		ensure(own_put(sc, own_key(&k), store_hash(sc, own_key(&k)), value, sizeof value) ==
		       STORE_OK);
		if (i % LOOK_EVERY != 0)
			continue;
		store_usage_mt(o.store, &usage);
		full = own_counted(&o, STORE_EVICTED) > usage.items / EVICTED_SHARE;
		bench_progress("filling the store", i, puts_max(mebibytes));
	}
	ensure(full);
	fprintf(stderr, "%.2f %% of the index's slots are used\n",
		100.0 * (double)usage.items / (double)usage.index_slots);
	say("clockoo", mebibytes, usage.items, o.bytes, bench_memory_kb(0, "Rss") - rss_before);
	own_destroy(&o);
}

/* memcached looks once a second whether its hash table has 3 items on 2 buckets, and then doubles
 * it on a thread of its own: a fast filling outruns that, and a count taken then is one of chance.
 */
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
peer(uint32_t mebibytes, const char *path)
{
	static struct peer p;
	uint64_t items = 0;
	bool full = false;

	peer_open(&p, path);
	for (uint64_t i = 0; i < puts_max(mebibytes) && !full; i++) {
		peer_set(&p, i);
		if (i % PEER_BATCH == PEER_BATCH - 1)
			peer_flush(&p, NULL);
		if (i % LOOK_EVERY != LOOK_EVERY - 1)
			continue;
		items = peer_stat(&p, "curr_items");
		full = peer_stat(&p, "evictions") > items / EVICTED_SHARE;
		bench_progress("filling memcached", i, puts_max(mebibytes));
	}

	ensure(full);
	settle(&p);

	const uint64_t rss = bench_memory_kb((int)peer_stat(&p, "pid"), "Rss");

	say("memcached", mebibytes, items, mebibytes * BENCH_MIB + peer_stat(&p, "hash_bytes"),
	    rss);
	peer_close(&p);
}

int
main(int argc, char **argv)
{
	static const struct option names[] = {{"memory", required_argument, NULL, 'm'},
					      {"peer", required_argument, NULL, 'p'},
					      {0}};
	const char *path = NULL;
	uint32_t mebibytes = 64;
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (c == 'm')
			mebibytes = bench_number(optarg, 8, 65536);
		else if (c == 'p')
			path = optarg;
		else
			exit(2);
	}
	if (path != NULL)
		peer(mebibytes, path);
	else
		own(mebibytes);
	return 0;
}
