/*
 * bench_grow.c - measures an index that follows its items: the delays of resizing it, and the
 * items it loses.
 *
 * Two threads fill an empty store with items of 16-byte keys and 32-byte values until it has long
 * been evicting, each with a turn and its upkeep every 32 sets; one of them also gets keys that
 * it has set. Then values of 10 kB follow until the index has shrunk, then small ones again. Each
 * phase has the longest turn, set and get, in CPU time of their thread, while the index was being
 * resized and while it was not; and the items lost for want of a slot.
 *
 *   bench_grow [--memory MB]
 */
#include "own_store.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS        2u
#define SETS_A_TURN    32u
#define GETS           128u /* gets in one batch */
#define GETS_EVERY     8u
#define LARGE_BYTES    10000u
#define LONG_NS        100000u /* limit that no turn and no set should exceed because of the index */
#define TURNS_A_SECOND 10000u

/* The two states of the index: at rest, and being resized. */
enum { REST, RESIZED, TIMES };

#define SLOT_NS 1000u /* width of a slot of the histogram */
#define SLOTS   2000u

struct span {
	uint64_t max_ns, sum_ns, count, over;
	uint32_t slots[SLOTS];
};

struct grow {
	struct own_store own;
	size_t memory_bytes;
	uint32_t value_len;
	uint64_t sets; /* most sets of a thread */
	pthread_barrier_t start;
	_Atomic bool full;      /* memory was full for the first time in this phase */
	_Atomic uint64_t early; /* items lost for want of a slot before that */
	_Atomic uint64_t early_sets;
};

struct worker {
	struct grow *g;
	struct store_core *core;
	uint32_t id;
	uint64_t random, turns;
	struct span turn[TIMES], set[TIMES], get[TIMES];
};

static const uint8_t value[LARGE_BYTES];

static uint32_t
time_of(const struct grow *g)
{
	const bool resized = atomic_load_explicit(&g->own.store->resize_phase,
						  memory_order_relaxed) != RESIZE_NONE;

	return resized ? RESIZED : REST;
}

static void
span_end(struct span *s, uint64_t from_ns, uint64_t count)
{
	const uint64_t spent = bench_cpu_ns() - from_ns;

	s->count += count;
	s->slots[spent / SLOT_NS < SLOTS ? spent / SLOT_NS : SLOTS - 1]++;
	s->sum_ns += spent;
	s->over += spent > LONG_NS;
	if (spent > s->max_ns)
		s->max_ns = spent;
}

/* Returns a key of a thread; threads' keys are interleaved. */
static struct bench_key
key_of(const struct worker *w, uint64_t n)
{
	return bench_key_of((uint64_t)w->g->value_len << 40 | (n * THREADS + w->id));
}

static void
check_keys(struct worker *w, uint64_t count)
{
	const uint32_t at = time_of(w->g);
	struct bench_key keys[GETS];
	const struct item *items[GETS];

	for (uint32_t i = 0; i < GETS; i++)
		keys[i] = key_of(w, bench_random(&w->random) % count);

	const uint64_t from = bench_cpu_ns();

	own_get_batch(w->core, keys, GETS, items);
	span_end(&w->get[at], from, GETS);
}

static void
turn(struct worker *w)
{
	const uint32_t at = time_of(w->g);
	const uint64_t from = bench_cpu_ns();

	store_turn(w->core, (uint32_t)(STORE_CLOCK_START + w->turns++ / TURNS_A_SECOND));
	store_housekeeping(w->core);
	span_end(&w->turn[at], from, 1);
}

static void
set(struct worker *w, uint64_t n)
{
	const struct bench_key k = key_of(w, n);
	const uint64_t hash = store_hash(w->core, own_key(&k));
	enum store_result r = STORE_NOT_YET;

	for (uint32_t tries = 0; tries < OWN_WAITS_MAX && r == STORE_NOT_YET; tries++) {
		const uint32_t at = time_of(w->g);
		const uint64_t from = bench_cpu_ns();

		r = own_put_once(w->core, own_key(&k), hash, value, w->g->value_len);
		span_end(&w->set[at], from, 1);
		if (r == STORE_OK)
			return;
		/* The set may wait for the other thread's turn, and that thread needs a CPU. */
		sched_yield();
		turn(w);
	}
}

static uint64_t
forgotten(const struct grow *g)
{
	return own_counted(&g->own, STORE_EVICTED_INDEX_FULL) +
	       own_counted(&g->own, STORE_INDEX_EVICTED);
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	struct grow *g = w->g;

	pthread_barrier_wait(&g->start);
	for (uint64_t n = 0; n < g->sets; n++) {
		if (n % SETS_A_TURN == 0) {
			turn(w);
			if (w->id == 0 && n != 0 && n / SETS_A_TURN % GETS_EVERY == 0)
				check_keys(w, n);
		}
		set(w, n);
		if (!g->full && rebalance_pool_is_low(g->own.store)) {
			g->early = forgotten(g);
			g->early_sets = own_counted(&g->own, STORE_ITEMS_LINKED);
			g->full = true;
		}
		if (w->id == 0)
			bench_progress("growing and shrinking", n, g->sets);
	}
	while (store_has_retired(w->core)) {
		sched_yield();
		turn(w);
	}
	store_offline(w->core);
	return NULL;
}

/* Returns the time that one in a thousand exceeds. */
static double
tail_us(const struct span *a, const struct span *b)
{
	uint64_t all = 0, past = 0;

	for (uint32_t i = 0; i < SLOTS; i++)
		all += a->slots[i] + b->slots[i];
	for (uint32_t i = SLOTS; i != 0; i--) {
		past += a->slots[i - 1] + b->slots[i - 1];
		if (past > all / 1000)
			return i * SLOT_NS / 1e3;
	}
	return 0;
}

static void
say_span(const char *name, const struct span *a, const struct span *b)
{
	const uint64_t max_ns = a->max_ns > b->max_ns ? a->max_ns : b->max_ns;
	const uint64_t n = a->count + b->count;

	printf(", \"%s_max_us\": %.1f, \"%s_tail_us\": %.1f, \"%s_mean_ns\": %.1f, "
	       "\"%ss\": %llu, \"%ss_long\": %llu",
	       name, (double)max_ns / 1e3, name, tail_us(a, b), name,
	       n != 0 ? (double)(a->sum_ns + b->sum_ns) / (double)n : 0.0, name,
	       (unsigned long long)n, name, (unsigned long long)(a->over + b->over));
}

static void
say(const struct grow *g, const char *phase, const struct worker *w, uint64_t forgot)
{
	struct store_usage usage;
	const uint32_t page_shift = g->own.store->arena.page_shift;
	const uint64_t index_bytes = (uint64_t)g->own.store->slab.index_pages << page_shift;

	store_usage_mt(g->own.store, &usage);
	printf("{\"part\": \"grow\", \"phase\": \"%s\", \"items\": %llu, \"index_bytes\": %llu, "
	       "\"index_bytes_per_item\": %.3f, \"occupancy\": %.4f, \"forgotten\": %llu, "
	       "\"linked\": %llu, \"early_forgotten\": %llu, \"early_linked\": %llu, "
	       "\"grown\": %llu, \"shrunk\": %llu, \"migrated\": %llu",
	       phase, (unsigned long long)usage.items, (unsigned long long)index_bytes,
	       (double)index_bytes / (double)usage.items,
	       (double)usage.items / (double)usage.index_slots, (unsigned long long)forgot,
	       (unsigned long long)own_counted(&g->own, STORE_ITEMS_LINKED),
	       (unsigned long long)g->early, (unsigned long long)g->early_sets,
	       (unsigned long long)own_counted(&g->own, STORE_INDEX_GROWN),
	       (unsigned long long)own_counted(&g->own, STORE_INDEX_SHRUNK),
	       (unsigned long long)own_counted(&g->own, STORE_INDEX_MIGRATED));
	say_span("turn", &w[0].turn[RESIZED], &w[1].turn[RESIZED]);
	say_span("rest_turn", &w[0].turn[REST], &w[1].turn[REST]);
	say_span("set", &w[0].set[RESIZED], &w[1].set[RESIZED]);
	say_span("rest_set", &w[0].set[REST], &w[1].set[REST]);
	say_span("get", &w[0].get[RESIZED], &w[1].get[RESIZED]);
	say_span("rest_get", &w[0].get[REST], &w[1].get[REST]);
	printf("}\n");
	fflush(stdout);
}

static void
phase(struct grow *g, const char *name, uint32_t value_len, uint64_t sets)
{
	static struct worker workers[THREADS];
	const uint64_t before = forgotten(g);
	pthread_t threads[THREADS];

	g->value_len = value_len;
	g->sets = sets / THREADS;
	g->full = false;
	pthread_barrier_init(&g->start, NULL, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.g = g,
					     .core = store_core_of(g->own.store, i),
					     .id = i,
					     .random = i,
					     .turns = workers[i].turns};
		ensure(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&g->start);
	say(g, name, workers, forgotten(g) - before);
}

int
main(int argc, char **argv)
{
	static struct grow g;
	uint32_t mebibytes = 64;

	const struct bench_option known[] = {BENCH_NUMBER("memory", &mebibytes, 8, 65536), {0}};

	bench_options(argc, argv, known);
	g.memory_bytes = mebibytes * BENCH_MIB;
	own_create(&g.own, g.memory_bytes, THREADS);
	/* The store's content and a quarter more. */
	phase(&g, "fill", BENCH_VALUE_BYTES, g.memory_bytes / 50);
	phase(&g, "large", LARGE_BYTES, g.memory_bytes / LARGE_BYTES * 4);
	phase(&g, "back", BENCH_VALUE_BYTES, g.memory_bytes / 50);
	own_destroy(&g.own);
	return 0;
}
