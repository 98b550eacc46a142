/*
 * bench_get.c - measures lookups in a table far larger than the caches: clockoo's against those
 * one could link.
 *
 * All tables are in one process, hold the same keys and take turns, so that other work of the
 * machine affects them alike. Keys are drawn at random and written to a buffer before the clock
 * starts; every lookup's answer is counted, and the counts are checked.
 *
 *   bench_get [--keys N] [--lookups N] [--runs N]
 */
#include "contender.h"

#include "base/check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK        4096u /* keys drawn at once; they stay in the second-level cache */
#define DEPTH_SHARE  4u    /* each trial of the own depth has a quarter of the lookups */
#define INSERT_BATCH 4096u

static const struct contender *const all[] = {
	&contend_own,       &contend_rte_bulk, &contend_rte_single,
#ifdef HAVE_URCU
	&contend_urcu,
#endif
#ifdef HAVE_TBB
	&contend_tbb,
#endif
#ifdef HAVE_LIBCUCKOO
	&contend_libcuckoo,
#endif
#ifdef HAVE_BOOST
	&contend_boost,
#endif
};
#define ALL (sizeof all / sizeof *all)

enum kind { HIT, MISS, TOUCH, KIND_COUNT };

static const char *const kind_names[KIND_COUNT] = {"hit", "miss", "touch"};

struct options {
	uint32_t keys, lookups, runs;
};

struct job {
	const struct contender *c;
	const struct options *opt;
	pthread_barrier_t *start;
	enum kind kind;
	uint32_t lookups, thread;
	uint64_t random;
	uint64_t sum;
	double per_us;
};

static void
draw(struct job *j, struct bench_key *keys, uint32_t count)
{
	const uint32_t first = j->kind == MISS ? j->opt->keys : 0;

	for (uint32_t i = 0; i < count; i++)
		keys[i] = bench_key_of(first + bench_below(&j->random, j->opt->keys));
}

static void *
work(void *arg)
{
	struct job *j = arg;
	static _Thread_local struct bench_key keys[BLOCK];
	struct lookup_batch l = {.keys = keys, .count = BLOCK, .touch = j->kind == TOUCH};
	uint32_t done = 0;
	uint64_t ns = 0;

	if (j->c->join != NULL)
		j->c->join(j->thread);
	pthread_barrier_wait(j->start);
	for (; done < j->lookups; done += BLOCK) {
		draw(j, keys, BLOCK);

		const uint64_t from = bench_cpu_ns();

		j->c->lookup(j->thread, &l);
		ns += bench_cpu_ns() - from;
	}
	if (j->c->leave != NULL)
		j->c->leave(j->thread);
	if (l.hits != (j->kind == MISS ? 0 : done)) {
		fprintf(stderr, "%s: %u hits in %u lookups\n", j->c->name, l.hits, done);
		exit(1);
	}
	j->sum = l.sum;
	j->per_us = (double)done * 1e3 / (double)ns;
	return NULL;
}

/* Returns the million lookups a second of all threads together. */
static double
measure(const struct contender *c, const struct options *opt, enum kind kind, uint32_t threads,
	uint32_t lookups)
{
	static uint64_t seed = 1;
	struct job jobs[CONTENDER_THREADS_MAX];
	pthread_barrier_t start;
	pthread_t other;
	double sum = 0;

	pthread_barrier_init(&start, NULL, threads);
	for (uint32_t i = 0; i < threads; i++)
		jobs[i] = (struct job){.c = c,
				       .opt = opt,
				       .start = &start,
				       .kind = kind,
				       .lookups = lookups,
				       .thread = i,
				       .random = bench_mix(++seed)};
	if (threads == 2)
		ensure(pthread_create(&other, NULL, work, &jobs[1]) == 0);
	work(&jobs[0]);
	if (threads == 2)
		pthread_join(other, NULL);
	pthread_barrier_destroy(&start);
	for (uint32_t i = 0; i < threads; i++)
		sum += jobs[i].per_us;
	return sum;
}

static bool
fill(const struct contender *c, struct bench_item *items, uint32_t keys)
{
	if (!c->create(items, keys))
		return false;
	for (uint32_t i = 0; i < keys; i++) {
		c->insert(&items[i]);
		if (i % INSERT_BATCH == 0)
			bench_progress(c->name, i, keys);
	}
	if (c->leave != NULL)
		c->leave(0);
	return true;
}

/* Gets every key once, in order, and checks each answer. This sets the CLOCK bits of clockoo's
 * items, as those of items in use are: setting one is an atomic operation that a second get does
 * not do. */
static void
get_all(const struct contender *c, const struct options *opt)
{
	static struct bench_key keys[BLOCK];
	struct lookup_batch l = {.keys = keys, .touch = true};
	uint64_t sum = 0;

	if (c->join != NULL)
		c->join(0);
	for (uint32_t i = 0; i < opt->keys; i += l.count) {
		l.count = opt->keys - i < BLOCK ? opt->keys - i : BLOCK;
		for (uint32_t k = 0; k < l.count; k++) {
			keys[k] = bench_key_of(i + k);
			sum += i + k;
		}
		c->lookup(0, &l);
		bench_progress(c->name, i, opt->keys);
	}
	if (c->leave != NULL)
		c->leave(0);
	if (l.hits != opt->keys || l.sum != sum) {
		fprintf(stderr, "%s: %u of %u keys found\n", c->name, l.hits, opt->keys);
		exit(1);
	}
}

static uint32_t
choose_depth(const struct options *opt)
{
	static const uint32_t depths[] = {1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256};
	uint32_t best_depth = 1;
	double best = 0;

	for (uint32_t i = 0; i < sizeof depths / sizeof *depths; i++) {
		own_depth = depths[i];

		const double rate =
			measure(&contend_own, opt, HIT, 1, opt->lookups / DEPTH_SHARE + 1);

		printf("{\"part\": \"depth\", \"depth\": %u, \"mops\": %.3f}\n", own_depth, rate);
		if (rate > best) {
			best = rate;
			best_depth = own_depth;
		}
	}
	return best_depth;
}

static void
round_of(const char *part, const struct options *opt, const bool *there, enum kind kind,
	 uint32_t threads)
{
	for (uint32_t i = 0; i < ALL; i++) {
		if (!there[i])
			continue;
		printf("{\"part\": \"%s\", \"table\": \"%s\", \"baseline\": %s, \"kind\": \"%s\", "
		       "\"threads\": %u, \"mops\": %.3f}\n",
		       part, all[i]->name, all[i]->baseline ? "true" : "false", kind_names[kind],
		       threads, measure(all[i], opt, kind, threads, opt->lookups));
		fflush(stdout);
	}
}

static struct options
options_of(int argc, char **argv)
{
	struct options opt = {.keys = 1u << 20, .lookups = 1u << 20, .runs = 3};

	const struct bench_option known[] = {BENCH_NUMBER("keys", &opt.keys, 1000, 200000000),
					     BENCH_NUMBER("lookups", &opt.lookups, 1, 1000000000),
					     BENCH_NUMBER("runs", &opt.runs, 1, 99),
					     {0}};

	bench_options(argc, argv, known);
	return opt;
}

int
main(int argc, char **argv)
{
	const struct options opt = options_of(argc, argv);
	struct bench_item *items = bench_map(opt.keys * sizeof *items);
	bool there[ALL];

	for (uint32_t i = 0; i < opt.keys; i++)
		items[i] = (struct bench_item){.key = bench_key_of(i), .value = {i}};
	for (uint32_t i = 0; i < ALL; i++)
		there[i] = all[i]->create != NULL ? fill(all[i], items, opt.keys) : there[i - 1];
	for (uint32_t i = 0; i < ALL; i++)
		if (there[i])
			get_all(all[i], &opt);
	bench_collapse();
	/* Tables as the last insert left them, then as they are minutes later. */
	for (uint32_t run = 0; run < opt.runs; run++)
		for (uint32_t kind = 0; kind <= MISS; kind++)
			round_of("get_filled", &opt, there, kind, 1);
	for (uint32_t i = 0; i < ALL; i++)
		if (there[i] && all[i]->settle != NULL)
			all[i]->settle();
	printf("{\"part\": \"pages\", \"rss_kb\": %llu, \"huge_kb\": %llu}\n",
	       (unsigned long long)bench_memory_kb(0, "Rss"),
	       (unsigned long long)bench_memory_kb(0, "AnonHugePages"));
	own_depth = choose_depth(&opt);
	printf("{\"part\": \"chosen\", \"depth\": %u, \"keys\": %u}\n", own_depth, opt.keys);
	for (uint32_t run = 0; run < opt.runs; run++)
		for (uint32_t kind = 0; kind < KIND_COUNT; kind++)
			for (uint32_t threads = 1; threads <= CONTENDER_THREADS_MAX; threads++) {
				bench_progress("lookups", run, opt.runs);
				round_of("get", &opt, there, kind, threads);
			}
	return 0;
}
