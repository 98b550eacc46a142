/*
 * flash_evicted.c - how long requests are in the core while evicted values are copied to flash.
 *
 *   flash_evicted [--value BYTES] [--rounds NUMBER] [--steps NUMBER] [--thread 0]
 *
 * Two cores of the appliance take turns, one with a tier over a device in memory, one without. In
 * both, TCP clients get small values, and new values of one size are stored at a rate; so both
 * evict alike. Values come in pieces of four frames, so one in ten turns has a piece: with pieces
 * of 32 frames it is one in a hundred, and the 99th percentile lies between the two kinds of turns.
 * A request is in the core for the turn that takes and answers it. Turns are measured by processor
 * time of the thread, so other processes do not count. The device works between turns, and so does
 * the tier's thread, each THREAD_STEPS turns and on another processor, so that it takes nothing out
 * of the core's caches. The core without a tier waits as long.
 */
#include "../../sim/mem_flash_end.h"
#include "../bench_pair.h"

#include "flash/flash_backend.h"
#include "store/conditional.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KIND         "tcp_get" /* 50 connections */
#define KEYS         10000u
#define DEVICE_BYTES (512ull << 20)
#define SEGMENTS     ((uint32_t)(DEVICE_BYTES / FLASH_SEGMENT_BYTES))
#define SEGMENT_NS   10000000ull /* 200 MB a second */
#define RATE_SHARE   2u          /* of it */
#define PIECE_BYTES  (4u * 1448u)
#define DEPTH        8u
#define THREAD_STEPS 16u /* the tier's thread sleeps for this many steps when it has no work */
#define READS        2u
#define DEADLINE_NS  100000000ull
#define STEP_NS      4000u          /* time of a step of bench_pair */
#define FILL_BYTES   (128ull << 20) /* twice the memory */
#define FILL_STEPS   20000000u
#define FILL_RATE    10u /* rate of the fill, in units of a round's */
#define NO_END       (UINT64_MAX / 4)

struct world {
	struct bench_pair pair;
	struct mem_flash media;
	struct mem_flash_end ends[2]; /* of the core and of the tier's thread */
	struct flash_tier *tier;      /* NULL: none */
	struct flash_shard *shard;
	struct flash_kept kept;
	struct flash_intents intents;
	struct flash_writer writer;
	struct fill fill; /* of the value that is being stored */
	uint64_t number, due, steps;
	uint32_t len, at; /* at: bytes of it stored so far; 0: it is not begun */
};

static struct world worlds[2];
static uint32_t thread_copies = 1; /* 0: the core copies */
static struct {
	struct world *w; /* the world of the present turn */
	uint64_t begun_ns, turns;
	double *ns;
	uint32_t most;
} timed;
static uint8_t piece[PIECE_BYTES];

static uint64_t
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct store_core *
store_of(const struct world *w)
{
	return w->pair.fixture.sc;
}

static void *
pages(size_t bytes)
{
	bool huge;

	return bench_region(bytes, &huge).base;
}

/* ---- the tier ---- */

static void
shard_create(struct world *w)
{
	const uint32_t buckets =
		(uint32_t)align_up(DEVICE_BYTES / w->len / (BUCKET_SLOTS / 2) + 16, 2);

	flash_shard_init(w->shard, &(struct flash_shard_config){
					   .log = {.id = {.device = 1},
						   .segments = SEGMENTS,
						   .segment_pages = FLASH_SEGMENT_PAGES,
						   .live = SEGMENTS - SEGMENTS / 16},
					   .buckets = pages(buckets * sizeof(struct bucket)),
					   .bucket_count = buckets,
					   .kept = &w->kept,
					   .intents = &w->intents,
					   .pages = pages(FLASH_BUFFERS * FLASH_SEGMENT_BYTES)});
}

static void
backend_create(struct world *w)
{
	struct flash_backend_config c = {.tier = w->tier,
					 .serve = w->pair.fixture.serve,
					 .store = store_of(w),
					 .device = &w->ends[0].device,
					 .reads_small = READS,
					 .reads_large = READS,
					 .item_max = FLASH_VALUE_MAX,
					 .deadline_ns = DEADLINE_NS};
	struct region region = {.size = flash_backend_bytes() + backend_bytes()};
	struct backend backend;

	region.base = pages(region.size);
	c.pages = pages((size_t)flash_backend_pages(&c) * FLASH_PAGE_BYTES);
	backend = flash_backend_of(flash_backend_create(&region, &c));
	backend_attach(&region, c.serve, &backend);
}

static void
tier_create(struct world *w)
{
	w->shard = pages(sizeof *w->shard);
	w->tier = pages(sizeof *w->tier);
	mem_flash_open(&w->media, DEVICE_BYTES, 2 * DEPTH, 1);
	mem_flash_ends_open(w->ends, 2, &w->media, DEPTH);
	shard_create(w);
	flash_tier_init(w->tier, &(struct flash_tier_config){.shards = w->shard,
							     .shard_count = 1,
							     .cores = 1,
							     .item_max = FLASH_VALUE_MAX,
							     .admit_all = true,
							     .thread_copies = thread_copies});
	w->writer = (struct flash_writer){.tier = w->tier, .device = &w->ends[1].device};
	store_tier_attach(w->pair.fixture.store, &w->tier->hooks);
	backend_create(w);
}

/* ---- turns ---- */

/* Stores as much of a new value as one burst has. False: it waits for memory. */
static bool
store_piece(struct world *w)
{
	char name[32];
	const struct view key = {
		(const uint8_t *)name,
		(uint32_t)snprintf(name, sizeof name, "new:%llu", (unsigned long long)w->number)};
	const uint32_t left = w->len - w->at, n = left < PIECE_BYTES ? left : PIECE_BYTES;
	struct store_core *sc = store_of(w);

	if (w->at == 0 &&
	    store_begin(sc, &w->fill, key, store_hash(sc, key), w->len, 0, 0) != STORE_OK)
		return false;
	store_fill(sc, &w->fill, piece, n);
	w->at += n;
	if (w->at == w->len) {
		ensure(store_finish(sc, &w->fill, STORE_SET, 0) == STORE_OK);
		w->at = 0;
		w->number++;
	}
	return true;
}

/* Called before and after each turn. What is stored within it is a part of the turn. */
static void
hook(void)
{
	struct world *w = timed.w;
	uint32_t stored = 0;

	if (timed.begun_ns != 0) {
		timed.ns[timed.turns++ % timed.most] = (double)(cpu_ns() - timed.begun_ns);
		timed.begun_ns = 0;
		return;
	}
	timed.begun_ns = cpu_ns();
	while (w->due >= PIECE_BYTES && stored < PIECE_BYTES && store_piece(w)) {
		const uint32_t n = w->len < PIECE_BYTES ? w->len : PIECE_BYTES;

		w->due -= n;
		stored += n;
	}
}

/* ---- the tier's thread ---- */

static struct {
	_Atomic uint64_t asked, done; /* rounds of work */
	struct world *w;
	bool is_used;
} thread;

static void *
thread_run(void *arg)
{
	(void)arg;
	for (uint64_t n = 1;; n++) {
		for (uint32_t i = 0; atomic_load(&thread.asked) < n; i++)
			if (i % 1000 == 999)
				sched_yield();
		if (thread.w->tier != NULL)
			flash_writer_work(&thread.w->writer, thread.w->pair.now_ns);
		atomic_store(&thread.done, n);
	}
	return NULL;
}

/* Has the tier's thread make a round of its work, on another processor. */
static void
thread_works(struct world *w)
{
	const uint64_t n = atomic_load(&thread.asked) + 1;

	thread.w = w;
	atomic_store(&thread.asked, n);
	for (uint32_t i = 0; atomic_load(&thread.done) < n; i++)
		if (i % 1000 == 999)
			sched_yield();
}

static void
thread_pin(pthread_t t, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(t, sizeof set, &set);
}

static void
thread_start(void)
{
	pthread_t t;

	ensure(pthread_create(&t, NULL, thread_run, NULL) == 0);
	thread_pin(pthread_self(), 0);
	thread_pin(t, 1);
}

static void
step(struct world *w)
{
	struct turn_timing timing = {.hook = hook};
	const uint64_t turns = timed.turns, before_ns = w->pair.now_ns;
	uint64_t took_ns = 0;

	timed.w = w;
	bench_pair_step(&w->pair, &timing);
	for (uint64_t i = turns; i < timed.turns; i++)
		took_ns += (uint64_t)timed.ns[i % timed.most];
	w->pair.now_ns = before_ns + (took_ns > STEP_NS ? took_ns : STEP_NS);
	w->due += (thread.is_used ? 1 : FILL_RATE) * FLASH_SEGMENT_BYTES *
		  (w->pair.now_ns - before_ns) / SEGMENT_NS / RATE_SHARE;
	if (w->tier != NULL)
		mem_flash_tick(&w->media, w->pair.now_ns);
	if (!thread.is_used && w->tier != NULL)
		flash_writer_work(&w->writer, w->pair.now_ns);
	else if (thread.is_used && ++w->steps % THREAD_STEPS == 0)
		thread_works(w);
}

static uint64_t
evictions(const struct world *w)
{
	return counter_read(&store_counters(store_of(w))[STORE_EVICTED]);
}

static void
world_create(struct world *w, bool with_tier, uint32_t len)
{
	w->len = len;
	bench_pair_make(&w->pair, kind_by_name(KIND), KEYS, NULL);
	if (with_tier)
		tier_create(w);
	bench_pair_command(&w->pair, NO_END);
	for (uint32_t i = 0; i < FILL_STEPS && w->number * len < FILL_BYTES; i++)
		step(w);
	ensure(evictions(w) != 0);
	w->media.faults.write_ns = SEGMENT_NS;
	w->due = 0;
}

/* ---- rounds ---- */

static void
run_round(struct world *w, uint32_t number, uint32_t steps)
{
	const uint64_t evicted = evictions(w);
	uint32_t n;

	timed.turns = 0;
	for (uint32_t i = 0; i < steps; i++)
		step(w);
	n = timed.turns < timed.most ? (uint32_t)timed.turns : timed.most;
	bench_sort(timed.ns, n);
	bench_pair_check(&w->pair);
	printf("{\"part\": \"evicted\", \"who\": \"%s\", \"value\": %u, \"round\": %u, "
	       "\"p50_ns\": %.0f, \"p99_ns\": %.0f, \"p999_ns\": %.0f, \"evictions\": %llu, "
	       "\"refused\": %llu}\n",
	       w->tier != NULL ? "tier" : "none", w->len, number, timed.ns[n / 2],
	       timed.ns[n * 99ull / 100], timed.ns[n * 999ull / 1000],
	       (unsigned long long)(evictions(w) - evicted),
	       (unsigned long long)(w->tier == NULL
					    ? 0
					    : counter_read(
						      &w->tier->core[0]
							       .counters[FLASH_REFUSED_DEVICE])));
}

int
main(int argc, char **argv)
{
	uint32_t len = 65536, rounds = 15, steps = 3000;

	const struct bench_option known[] = {BENCH_NUMBER("value", &len, 1024, 1u << 20),
					     BENCH_NUMBER("thread", &thread_copies, 0, 1),
					     BENCH_NUMBER("rounds", &rounds, 1, 1000),
					     BENCH_NUMBER("steps", &steps, 100, 10000000),
					     {0}};

	bench_options(argc, argv, known);
	timed.most = 4 * steps;
	timed.ns = calloc(timed.most, sizeof *timed.ns);
	ensure(timed.ns != NULL);
	for (uint32_t i = 0; i < 2; i++)
		world_create(&worlds[i], i == 1, len);
	thread_start();
	thread.is_used = true;
	for (uint32_t i = 0; i < rounds; i++) {
		run_round(&worlds[i % 2], i, steps);
		run_round(&worlds[1 - i % 2], i, steps);
	}
	return 0;
}
