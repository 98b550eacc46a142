/*
 * bench_sizes.c - measures items and hits with values of mixed sizes, beside memcached.
 *
 * Lengths are log-uniform from 16 bytes to --most, each key has one; keys are drawn from a Zipf
 * distribution (0.99) over WORKING_SETS times the memory in keys and values. A batch is gets, then
 * a set for each that missed: the same for both. Sets turn the memory over --turnovers times, and
 * the second half of the operations is measured.
 *
 * With --once each miss also sets this many keys of 40 bytes that are never requested; they must
 * not displace those that are.
 *
 * The memory of memcached's pages is printed, since it gives each class a page beyond its -m.
 * With --workload MB keys and operations are those of that size, independent of the memory.
 * --by-size prints, for each power of two of the length, the items held at the end and the hits.
 *
 * With --best the cache is an ideal one: it knows how often each key is requested, and keeps
 * those with most hits for each byte of key and value in all of the memory, from their first set
 * on.
 *
 *   bench_sizes [--memory MB] [--workload MB] [--most BYTES] [--turnovers N] [--once N]
 *               [--seed N] [--probation | --best] [--by-size] [--peer SOCKET]
 */
#include "memcached_peer.h"
#include "memory_shares.h"
#include "own_store.h"
#include "slab/eviction.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THETA        0.99
#define LEAST        16u
#define WORKING_SETS 8u
#define BATCH        32u
#define SEED         20261122u /* without --seed */
#define ONCE_BYTES   40u
#define SAMPLES      64u
/* Share of the gets that is assumed to miss when operations are counted for the turnovers. */
#define MISSES_IN_100 40u

struct workload {
	uint32_t keys, most, once;
	uint64_t operations, seed;
	size_t memory_mb, workload_mb;
	bool probation, best, by_size;
	struct zipf zipf;
};

#define OCTAVES 16u /* powers of two of lengths, up to PEER_VALUE_MAX */

struct octave {
	uint64_t gets, hits, keys, kept, kept_bytes;
};

struct figures {
	uint64_t gets, hits, hit_bytes, got_bytes;
	struct octave octaves[OCTAVES];
};

/* A cache under test: look gets a batch of keys, set sets one. */
struct cache {
	void *state;
	void (*look)(void *state, const uint32_t *keys, bool *hit);
	void (*set)(void *state, uint32_t key, uint32_t bytes);
	void (*sample)(void *state); /* called SAMPLES times while it is measured; may be NULL */
};

static uint32_t
bytes_of(const struct workload *w, uint32_t key)
{
	const double u = (double)(bench_mix(key + 0x5eedull) >> 11) * 0x1p-53;

	return (uint32_t)(LEAST * pow((double)w->most / LEAST, u));
}

static void
workload_init(struct workload *w, uint32_t turnovers)
{
	const double mean = (w->most - LEAST) / log((double)w->most / LEAST) + BENCH_KEY_BYTES;
	const double items = (double)(w->workload_mb * BENCH_MIB) / mean;

	w->keys = (uint32_t)(WORKING_SETS * items);
	w->operations = (uint64_t)(turnovers * items * 100 / MISSES_IN_100);
	zipf_init(&w->zipf, w->keys, THETA);
}

static uint32_t
octave_of(uint32_t bytes)
{
	return 31 - (uint32_t)__builtin_clz(bytes / LEAST);
}

/* Gets every key once, to count those that are held. */
static void
count_kept(const struct workload *w, struct cache *c, struct figures *f)
{
	for (uint32_t at = 0; at < w->keys; at += BATCH) {
		uint32_t keys[BATCH];
		bool hit[BATCH];

		for (uint32_t i = 0; i < BATCH; i++)
			keys[i] = (at + i) % w->keys;
		c->look(c->state, keys, hit);
		for (uint32_t i = 0; i < BATCH && at + i < w->keys; i++) {
			const uint32_t bytes = bytes_of(w, keys[i]);
			struct octave *o = &f->octaves[octave_of(bytes)];

			o->keys++;
			o->kept += hit[i];
			o->kept_bytes += hit[i] ? bytes + BENCH_KEY_BYTES : 0;
		}
	}
}

static void
say_octaves(const struct figures *f, const char *who)
{
	for (uint32_t i = 0; i < OCTAVES && f->octaves[i].keys != 0; i++) {
		const struct octave *o = &f->octaves[i];

		printf("{\"part\": \"octave\", \"who\": \"%s\", \"from\": %u, \"keys\": %llu, "
		       "\"kept\": %llu, \"kept_kb\": %llu, \"gets\": %llu, \"hits\": %llu}\n",
		       who, LEAST << i, (unsigned long long)o->keys, (unsigned long long)o->kept,
		       (unsigned long long)o->kept_bytes / 1024, (unsigned long long)o->gets,
		       (unsigned long long)o->hits);
	}
}

static struct figures
run(const struct workload *w, struct cache *c, const char *words)
{
	const uint64_t half = w->operations / 2, each = half / SAMPLES + 1;
	uint64_t random = w->seed, sampled = half;
	uint32_t once = 0;
	struct figures f = {0};

	for (uint64_t done = 0; done < w->operations; done += BATCH) {
		uint32_t keys[BATCH];
		bool hit[BATCH];

		for (uint32_t i = 0; i < BATCH; i++)
			keys[i] = zipf_next(&w->zipf, &random);
		c->look(c->state, keys, hit);
		for (uint32_t i = 0; i < BATCH; i++) {
			const uint32_t bytes = bytes_of(w, keys[i]);

			if (!hit[i])
				c->set(c->state, keys[i], bytes);
			for (uint32_t n = 0; !hit[i] && n < w->once; n++)
				c->set(c->state, w->keys + once++, ONCE_BYTES);
			if (done < half)
				continue;
			f.gets++;
			f.hits += hit[i];
			f.octaves[octave_of(bytes)].gets++;
			f.octaves[octave_of(bytes)].hits += hit[i];
			f.got_bytes += bytes;
			f.hit_bytes += hit[i] ? bytes : 0;
		}
		if (c->sample != NULL && done >= sampled) {
			c->sample(c->state);
			sampled += each;
		}
		bench_progress(words, done, w->operations);
	}
	return f;
}

static void
say(const struct workload *w, const char *who, struct figures f, uint64_t items,
    uint64_t page_bytes, double pss)
{
	printf("{\"part\": \"sizes\", \"who\": \"%s\", \"memory_mb\": %zu, \"most\": %u, "
	       "\"hit\": %.5f, \"hit_bytes\": %.5f, \"items\": %llu, \"page_mb\": %.1f, "
	       "\"pss_mb\": %.1f",
	       who, w->memory_mb, w->most, (double)f.hits / (double)f.gets,
	       (double)f.hit_bytes / (double)f.got_bytes, (unsigned long long)items,
	       (double)page_bytes / (double)BENCH_MIB, pss);
}

/* Returns all of a process's memory, with its share of mappings that others use, too; 0: not
 * readable. */
static double
pss_mb(uint64_t pid)
{
	return (double)bench_memory_kb((int)pid, "Pss") / 1024;
}

/* ---- the store ---- */

struct own {
	struct own_store store;
	uint64_t written; /* bytes of objects */
	struct memory_shares shares;
};

static void
own_look(void *state, const uint32_t *keys, bool *hit)
{
	struct own *o = state;
	struct store_core *sc = store_core_of(o->store.store, 0);

	store_turn(sc, STORE_CLOCK_START);
	store_housekeeping(sc);
	for (uint32_t i = 0; i < BATCH; i++) {
		const struct bench_key k = bench_key_of(keys[i]);

		hit[i] = store_get(sc, own_key(&k), store_hash(sc, own_key(&k))) != NULL;
	}
}

static void
own_set(void *state, uint32_t key, uint32_t bytes)
{
	static const uint8_t value[PEER_VALUE_MAX];
	struct own *o = state;
	struct slab *sl = &o->store.store->slab;
	struct store_core *sc = store_core_of(o->store.store, 0);
	const struct bench_key k = bench_key_of(key);

	ensure(own_put(sc, own_key(&k), store_hash(sc, own_key(&k)), value, bytes) == STORE_OK);
	o->written += sl->classes[slab_class_for(sl, (uint32_t)sizeof(struct item) +
							     BENCH_KEY_BYTES + bytes)]
			      .size;
}

static void
own_sample(void *state)
{
	struct own *o = state;

	memory_shares_add(&o->shares, o->store.store);
}

static void
own(const struct workload *w)
{
	const struct store_config cfg = {.memory_bytes = w->memory_mb * BENCH_MIB,
					 .cores = 1,
					 .value_max = STORE_VALUE_MAX,
					 .seed = 42,
					 .eviction = w->probation ? &eviction_2q : &eviction_clock};
	static struct own o;
	struct cache c = {&o, own_look, own_set, own_sample};
	const double pss_before = pss_mb(0);
	struct store_usage usage;

	own_create_for(&o.store, &cfg);

	struct figures f = run(w, &c, "the store");
	const uint64_t linked = own_counted(&o.store, STORE_BYTES_LINKED);

	store_usage_mt(o.store.store, &usage);
	say(w, w->probation ? "store, 2q" : "store", f, usage.items, w->memory_mb * BENCH_MIB,
	    pss_mb(0) - pss_before);
	printf(", \"rescued_share\": %.4f, \"rescued\": %llu, \"grace_waits\": %llu, "
	       "\"pages_moved\": %llu}\n",
	       (double)(linked - o.written) / (double)o.written,
	       (unsigned long long)own_counted(&o.store, STORE_RESCUED),
	       (unsigned long long)own_counted(&o.store, STORE_GRACE_WAITS),
	       (unsigned long long)atomic_load(&o.store.store->slab.evacuated_pages));
	memory_shares_print(&o.shares);
	if (w->by_size) {
		count_kept(w, &c, &f);
		say_octaves(&f, "store");
	}
	own_destroy(&o.store);
}

/* ---- the ideal cache ---- */

enum best_key { BEST_NOT, BEST_KEPT, BEST_SET };

struct ranked {
	double hits_a_byte;
	uint32_t key, bytes;
};

static int
sooner(const void *a, const void *b)
{
	const double x = ((const struct ranked *)a)->hits_a_byte;
	const double y = ((const struct ranked *)b)->hits_a_byte;

	return (x < y) - (x > y);
}

/* Chooses the keys to keep. Returns their number. */
static uint64_t
best_choose(const struct workload *w, uint8_t *keys)
{
	struct ranked *ranked = calloc(w->keys, sizeof *ranked);
	uint64_t left = w->memory_mb * BENCH_MIB, kept = 0;

	ensure(ranked != NULL);
	for (uint32_t i = 0; i < w->keys; i++) {
		const uint32_t bytes = bytes_of(w, i) + BENCH_KEY_BYTES;

		ranked[i] = (struct ranked){1 / (pow(i + 1, THETA) * bytes), i, bytes};
	}
	qsort(ranked, w->keys, sizeof *ranked, sooner);
	for (; kept < w->keys && ranked[kept].bytes <= left; kept++) {
		left -= ranked[kept].bytes;
		keys[ranked[kept].key] = BEST_KEPT;
	}
	free(ranked);
	return kept;
}

static void
best_look(void *state, const uint32_t *keys, bool *hit)
{
	const uint8_t *of = state;

	for (uint32_t i = 0; i < BATCH; i++)
		hit[i] = of[keys[i]] == BEST_SET;
}

static void
best_set(void *state, uint32_t key, uint32_t bytes)
{
	uint8_t *of = state;

	(void)bytes;
	if (of[key] == BEST_KEPT)
		of[key] = BEST_SET;
}

static void
best(const struct workload *w)
{
	/* Keys that are requested once follow the others. */
	uint8_t *keys = calloc(w->keys + w->operations * (w->once + 1), 1);
	struct cache c = {keys, best_look, best_set, NULL};
	uint64_t kept;

	ensure(keys != NULL);
	kept = best_choose(w, keys);
	say(w, "best possible", run(w, &c, "the best possible"), kept, w->memory_mb * BENCH_MIB, 0);
	printf("}\n");
	free(keys);
}

/* ---- memcached ---- */

static void
peer_look_batch(void *state, const uint32_t *keys, bool *hit)
{
	peer_flush(state, NULL); /* the sets of the previous batch */
	for (uint32_t i = 0; i < BATCH; i++)
		peer_look(state, keys[i]);
	peer_flush_looks(state, hit);
}

static void
peer_set_one(void *state, uint32_t key, uint32_t bytes)
{
	peer_set_sized(state, key, BENCH_KEY_BYTES, bytes);
}

static void
peer(const struct workload *w, const char *path)
{
	static struct peer p;
	struct cache c = {&p, peer_look_batch, peer_set_one, NULL};

	peer_open(&p, path);

	struct figures f = run(w, &c, "memcached");

	say(w, "memcached", f, peer_stat(&p, "curr_items"),
	    peer_stat_of_slabs(&p, "total_malloced"), pss_mb(peer_stat(&p, "pid")));
	printf("}\n");
	if (w->by_size) {
		count_kept(w, &c, &f);
		say_octaves(&f, "memcached");
	}
	peer_close(&p);
}

int
main(int argc, char **argv)
{
	struct workload w = {.memory_mb = 64, .most = 4000, .seed = SEED};
	uint32_t turnovers = 20;
	const char *path = NULL;

	const struct bench_option known[] = {
		BENCH_NUMBER("memory", &w.memory_mb, 8, 1u << 16),
		BENCH_NUMBER("workload", &w.workload_mb, 8, 1u << 16),
		BENCH_NUMBER("most", &w.most, 2 * LEAST, PEER_VALUE_MAX),
		BENCH_NUMBER("turnovers", &turnovers, 1, 10000),
		BENCH_NUMBER("once", &w.once, 0, 1000),
		BENCH_NUMBER("seed", &w.seed, 1, UINT32_MAX),
		BENCH_FLAG("probation", &w.probation),
		BENCH_FLAG("best", &w.best),
		BENCH_FLAG("by-size", &w.by_size),
		BENCH_TEXT("peer", &path),
		{0}};

	bench_options(argc, argv, known);
	if (w.workload_mb == 0)
		w.workload_mb = w.memory_mb;
	workload_init(&w, turnovers);
	if (path != NULL)
		peer(&w, path);
	else if (w.best)
		best(&w);
	else
		own(&w);
	return 0;
}
