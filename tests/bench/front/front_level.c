/*
 * front_level.c - measures how evenly a front loads its fleet: the figures of B. Fan's thesis
 * (2.4 to 2.10), with the product's placement and admission beside a perfect cache and the
 * formulas.
 *
 * A row is one point: the busiest server's load relative to the mean, over runs with other keys.
 * "front" is the product, "clock" admits every miss, "perfect" always has the likeliest keys,
 * "none" has no cache, "formula" is equations 2.9 and 2.12. Keys are placed evenly (modula of
 * MD5), as in the thesis, except in the parts ketama and names.
 *
 *   front_level [--runs N] [--requests N] [--keys N] [--seed N] PART [PART ...]
 */
#include "../bench_options.h"
#include "level_run.h"

#include "base/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define POINTS_MAX  128u
#define KEYS_MAX    100000000u
#define WARM_ROUNDS 100u /* requests relative to c, before they are counted */
#define SHIFTS_MIN  10u
#define SHIFT_SETS  20u /* sets of x keys, before the first one returns */
#define ALPHA       2.0
#define FEW         5u
#define BALLS_RUNS  1000u /* runs for figure 2.4 */

enum who { FRONT, CLOCK, PERFECT, NONE, FORMULA };

static const char *const who_names[] = {"front", "clock", "perfect", "none", "formula"};
static const char *const load_names[] = {"uniform", "scan", "zipf101"};

struct options {
	uint32_t runs, keys;
	uint64_t requests, seed;
} options = {.runs = 8, .keys = 8500000, .requests = 500000, .seed = 1};

struct point {
	enum who who;
	enum level_load load;
	uint32_t c, x;
	uint64_t shift; /* requests after which keys change */
	bool cold;      /* counted from the first request on */
	double least, most;
	struct level_loads sum;
};

struct points {
	uint32_t n;
	struct point at[POINTS_MAX];
};

static struct point *
add(struct points *p, enum who who, enum level_load load, uint32_t c, double x)
{
	ensure(p->n < POINTS_MAX && x < KEYS_MAX);
	p->at[p->n] = (struct point){
		.who = who, .load = load, .c = c, .x = (uint32_t)x, .least = INFINITY};
	return &p->at[p->n++];
}

/* ---- runs ---- */

static struct level_loads
run_point(const struct level_world *w, const struct point *p)
{
	struct level_run run = {.cache = p->who == CLOCK ? LEVEL_CLOCK : LEVEL_FRONT,
				.load = p->load,
				.items = p->c,
				.keys = p->x,
				.warm = p->cold ? 0 : (uint64_t)WARM_ROUNDS * p->c,
				.requests = options.requests,
				.shift_every = p->shift};

	if (p->who == PERFECT || p->who == NONE)
		return level_perfect(w, p->load, p->who == NONE ? 0 : p->c, p->x);
	if (p->shift != 0) {
		run.warm = (run.warm / p->shift + 1) * p->shift;
		if (run.requests < SHIFTS_MIN * p->shift)
			run.requests = SHIFTS_MIN * p->shift;
	}
	if (p->cold)
		run.requests = (uint64_t)p->x;
	/* A part of a round would measure the evenness of the keys that it leaves out. */
	if (p->load == LEVEL_SCAN)
		run.requests = (run.requests + p->x - 1) / p->x * p->x;
	return level_simulate(w, &run);
}

/* Computes equation 2.9. */
static double
formula(uint32_t n, uint32_t c, uint32_t x)
{
	const double balls = (double)x - c;

	return balls / (x - 1) + ALPHA * sqrt(2 * balls * n * log(n)) / (x - 1);
}

static void
print_point(const char *part, const struct level_fleet *fleet, const struct point *p, uint32_t runs)
{
	printf("{\"part\": \"%s\", \"who\": \"%s\", \"load\": \"%s\", \"n\": %u, \"c\": %u, \"x\": "
	       "%u",
	       part, who_names[p->who], load_names[p->load], fleet->nservers, p->c, p->x);
	if (p->shift != 0)
		printf(", \"shift\": %llu", (unsigned long long)p->shift);
	if (p->who == FORMULA)
		printf(", \"busiest\": %.4f, \"bound\": %.4f}\n",
		       formula(fleet->nservers, p->c, p->x),
		       admission_bound(1.0 / fleet->nservers, p->c));
	else
		printf(", \"runs\": %u, \"busiest\": %.4f, \"least\": %.4f, \"most\": %.4f, "
		       "\"by_share\": "
		       "%.4f, \"overall\": %.4f, \"hits\": %.4f}\n",
		       runs, p->sum.busiest / runs, p->least, p->most, p->sum.by_share / runs,
		       p->sum.overall / runs, p->sum.hits / runs);
	fflush(stdout);
}

static void
add_run(struct point *p, struct level_loads l)
{
	p->least = fmin(p->least, l.busiest);
	p->most = fmax(p->most, l.busiest);
	p->sum.busiest += l.busiest;
	p->sum.by_share += l.by_share;
	p->sum.overall += l.overall;
	p->sum.hits += l.hits;
}

/* Measures all points of a part, each in every world. */
static void
measure(const char *part, const struct level_fleet *fleet, struct points *p, uint32_t runs)
{
	struct level_world w;
	uint32_t keys = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		const uint32_t sets = p->at[i].shift != 0 ? SHIFT_SETS : 1;

		keys = p->at[i].x * sets > keys ? p->at[i].x * sets : keys;
	}
	for (uint32_t r = 0; r < runs; r++) {
		level_open(&w, fleet, keys, options.seed + r);
		for (uint32_t i = 0; i < p->n; i++)
			if (p->at[i].who != FORMULA)
				add_run(&p->at[i], run_point(&w, &p->at[i]));
		level_close(&w);
		fprintf(stderr, "%s, %u servers %u %%\n", part, fleet->nservers,
			(r + 1) * 100 / runs);
	}
	for (uint32_t i = 0; i < p->n; i++)
		print_point(part, fleet, &p->at[i], runs);
	p->n = 0;
}

/* Returns the number of runs. Figures of adversary and scan are means of a maximum and have more
 * runs than others. */
static uint32_t
few(uint32_t most)
{
	return options.runs < most ? options.runs : most;
}

static struct level_fleet
even(uint32_t n)
{
	return (struct level_fleet){n, FRONT_MODULA, FRONT_HASH_MD5, 1};
}

static uint32_t
items_of(uint32_t n)
{
	return admission_items(1.0 / n);
}

/* ---- parts ---- */

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Values of x relative to c: just beyond the cache, where scans hurt most, and around the
 * adversary's best, at 10 to 40. */
static const double by_c[] = {1.02, 1.1, 1.3, 2, 3, 6, 10, 20, 40, 80};
static const uint32_t fleets[] = {10, 30, 85};

static void
add_all_x(struct points *p, enum who who, enum level_load load, uint32_t c)
{
	for (size_t i = 0; i < COUNT(by_c); i++)
		add(p, who, load, c, c * by_c[i]);
}

/* Adds three caches at every x, in each fleet. */
static void
in_all_fleets(struct points *p, const char *name, enum level_load load, const enum who who[3])
{
	for (size_t f = 0; f < COUNT(fleets); f++) {
		const struct level_fleet fleet = even(fleets[f]);

		for (uint32_t i = 0; i < 3; i++)
			add_all_x(p, who[i], load, items_of(fleets[f]));
		measure(name, &fleet, p, options.runs);
	}
}

static void
part_adversary(struct points *p)
{
	in_all_fleets(p, "adversary", LEVEL_UNIFORM, (enum who[3]){FRONT, PERFECT, FORMULA});
}

static void
part_scan(struct points *p)
{
	in_all_fleets(p, "scan", LEVEL_SCAN, (enum who[3]){FRONT, CLOCK, PERFECT});
}

static void
part_zipf101(struct points *p)
{
	const struct level_fleet fleet = even(85);
	static const enum who all[] = {FRONT, CLOCK, PERFECT, NONE};

	for (size_t i = 0; i < COUNT(all); i++)
		add(p, all[i], LEVEL_ZIPF101, items_of(85), options.keys);
	measure("zipf101", &fleet, p, few(3));
}

/* Exchanges all x keys for others at regular intervals. */
static void
part_shift(struct points *p)
{
	static const double every[] = {1, 3, 10, 30, 100, 300}, x[] = {1.05, 1.3, 2, 6};
	const struct level_fleet fleet = even(85);
	const uint32_t c = items_of(85);

	for (size_t i = 0; i < COUNT(x) * COUNT(every); i++) {
		const uint64_t shift = (uint64_t)(every[i % COUNT(every)] * c);

		add(p, FRONT, LEVEL_UNIFORM, c, c * x[i / COUNT(every)])->shift = shift;
		add(p, CLOCK, LEVEL_UNIFORM, c, c * x[i / COUNT(every)])->shift = shift;
	}
	measure("shift", &fleet, p, 1);
}

/* Measures the first x requests of an empty front. */
static void
part_cold(struct points *p)
{
	const struct level_fleet fleet = even(85);
	const uint32_t c = items_of(85);

	for (size_t i = 0; i < COUNT(by_c); i++)
		add(p, FRONT, LEVEL_UNIFORM, c, c * by_c[i])->cold = true;
	add(p, FRONT, LEVEL_ZIPF101, c, options.keys / 10)->cold = true;
	measure("cold", &fleet, p, few(FEW));
}

/* Measures the product's default ring. No cache corrects the ring's own unevenness, so by_share
 * is printed, too. */
static void
part_ketama(struct points *p)
{
	for (size_t f = 0; f < COUNT(fleets); f++) {
		const struct level_fleet fleet = {fleets[f], FRONT_KETAMA, FRONT_HASH_MD5, 1};

		add_all_x(p, FRONT, LEVEL_UNIFORM, items_of(fleets[f]));
		measure("ketama", &fleet, p, few(FEW));
	}
}

/* Measures weights of 1 to 4, with as many items as the lightest server needs. */
static void
part_weights(struct points *p)
{
	const struct level_fleet fleet = {30, FRONT_MODULA, FRONT_HASH_MD5, 4};
	const uint32_t c = admission_items(1.0 / 74); /* 74 is the sum of the weights */

	add_all_x(p, FRONT, LEVEL_UNIFORM, c);
	add_all_x(p, FRONT, LEVEL_UNIFORM, items_of(30));
	measure("weights", &fleet, p, few(FEW));
}

/* Measures a fleet without a cache for keys that differ in their last digits. */
static void
part_names(struct points *p)
{
	static const enum front_hash hashes[] = {FRONT_HASH_FNV1A_64, FRONT_HASH_ONE_AT_A_TIME,
						 FRONT_HASH_MURMUR, FRONT_HASH_MD5};
	static const char *const names[] = {"names-fnv1a_64", "names-one_at_a_time", "names-murmur",
					    "names-md5"};

	for (size_t h = 0; h < COUNT(hashes); h++) {
		const struct level_fleet fleet = {85, FRONT_KETAMA, hashes[h], 1};

		add(p, NONE, LEVEL_UNIFORM, 0, 60000);
		measure(names[h], &fleet, p, few(FEW));
	}
}

/* Figure 2.4: n = 100, c = 1000, a thousand placements. */
static void
part_2_4(struct points *p)
{
	static const uint32_t x[] = {1050, 1100, 1200, 1500,  2000,  3000,
				     4000, 6000, 8000, 10000, 15000, 20000};
	const struct level_fleet fleet = even(100);

	for (size_t i = 0; i < COUNT(x); i++) {
		add(p, FRONT, LEVEL_UNIFORM, 1000, x[i]);
		add(p, FORMULA, LEVEL_UNIFORM, 1000, x[i]);
	}
	measure("2.4", &fleet, p, few(FEW));
	for (size_t i = 0; i < COUNT(x); i++)
		add(p, PERFECT, LEVEL_UNIFORM, 1000, x[i]);
	measure("2.4", &fleet, p, options.runs < FEW ? 10 * options.runs : BALLS_RUNS);
}

/* Figure 2.5: n = 100; (b) has k = (c - 1) / (n ln n) instead of c. The worst x counts. */
static void
part_2_5(struct points *p)
{
	static const double k[] = {0.5, 1, 2, 4, 8, 16, 32};
	const struct level_fleet fleet = even(100);

	for (size_t i = 0; i < COUNT(k); i++) {
		const uint32_t c = (uint32_t)(k[i] * 100 * log(100) + 1);

		add_all_x(p, FRONT, LEVEL_UNIFORM, c);
		add_all_x(p, PERFECT, LEVEL_UNIFORM, c);
		add(p, FORMULA, LEVEL_UNIFORM, c, c * 20);
		measure("2.5", &fleet, p, few(3));
	}
}

/* Figure 2.6: throughput of n nodes, 10 n / busiest, in thousand requests a second; (a) is
 * without a cache. */
static void
part_2_6(struct points *p)
{
	static const uint32_t n[] = {10, 20, 40, 60, 85};
	static const enum level_load loads[] = {LEVEL_UNIFORM, LEVEL_ZIPF101};

	for (size_t i = 0; i < COUNT(n); i++) {
		const struct level_fleet fleet = even(n[i]);

		for (size_t l = 0; l < COUNT(loads); l++) {
			add(p, NONE, loads[l], 0, options.keys);
			add(p, FRONT, loads[l], items_of(n[i]), options.keys);
			add(p, PERFECT, loads[l], items_of(n[i]), options.keys);
		}
		measure("2.6", &fleet, p, 1);
		add(p, NONE, LEVEL_UNIFORM, 0, 1);
		add_all_x(p, FRONT, LEVEL_UNIFORM, items_of(n[i]));
		add_all_x(p, PERFECT, LEVEL_UNIFORM, items_of(n[i]));
		add(p, FORMULA, LEVEL_UNIFORM, items_of(n[i]), items_of(n[i]) * 20);
		measure("2.6 adversary", &fleet, p, few(3));
	}
}

/* Figure 2.7: the load of each of 85 nodes without a cache, the least first. */
static void
part_2_7(struct points *p)
{
	static const uint32_t x[] = {10, 100, 10000, 100000};
	const struct level_fleet fleet = even(85);
	struct level_world w;
	double loads[85];

	(void)p;
	level_open(&w, &fleet, x[COUNT(x) - 1], options.seed);
	for (size_t i = 0; i < COUNT(x); i++) {
		level_nodes(&w, x[i], loads);
		printf("{\"part\": \"2.7\", \"who\": \"none\", \"n\": 85, \"c\": 0, \"x\": %u, "
		       "\"loads\": [%.4f",
		       x[i], loads[0]);
		for (uint32_t s = 1; s < 85; s++)
			printf(", %.4f", loads[s]);
		printf("]}\n");
	}
	level_close(&w);
}

static const uint32_t decades[] = {1,     2,      5,      10,     20,     50,    100,
				   200,   500,    1000,   2000,   5000,   10000, 20000,
				   50000, 100000, 200000, 500000, 1000000};

static void
part_2_8(struct points *p)
{
	const struct level_fleet fleet = even(85);

	for (size_t i = 0; i < COUNT(decades); i++)
		add(p, NONE, LEVEL_UNIFORM, 0, decades[i]);
	measure("2.8", &fleet, p, few(FEW));
}

static void
part_2_9(struct points *p)
{
	static const enum who all[] = {FRONT, PERFECT, FORMULA};
	const struct level_fleet fleet = even(85);

	for (size_t a = 0; a < COUNT(all); a++) {
		add(p, all[a], LEVEL_UNIFORM, 3000, 3100);
		add(p, all[a], LEVEL_UNIFORM, 3000, 4000);
		for (size_t i = 0; i < COUNT(decades); i++)
			if (decades[i] > 3000)
				add(p, all[a], LEVEL_UNIFORM, 3000, decades[i]);
	}
	measure("2.9", &fleet, p, few(FEW));
}

static void
part_2_10(struct points *p)
{
	static const uint32_t c[] = {50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000};
	const struct level_fleet fleet = even(85);

	for (size_t i = 0; i < COUNT(c); i++) {
		add_all_x(p, FRONT, LEVEL_UNIFORM, c[i]);
		add_all_x(p, PERFECT, LEVEL_UNIFORM, c[i]);
		add(p, FORMULA, LEVEL_UNIFORM, c[i], c[i] * 20);
		measure("2.10", &fleet, p, few(3));
	}
}

static const struct {
	const char *name;
	void (*run)(struct points *p);
} parts[] = {{"adversary", part_adversary},
	     {"scan", part_scan},
	     {"zipf101", part_zipf101},
	     {"shift", part_shift},
	     {"cold", part_cold},
	     {"ketama", part_ketama},
	     {"weights", part_weights},
	     {"names", part_names},
	     {"2.4", part_2_4},
	     {"2.5", part_2_5},
	     {"2.6", part_2_6},
	     {"2.7", part_2_7},
	     {"2.8", part_2_8},
	     {"2.9", part_2_9},
	     {"2.10", part_2_10}};

static void
usage(void)
{
	fprintf(stderr,
		"front_level [--runs N] [--requests N] [--keys N] [--seed N] PART...\nparts:");
	for (size_t i = 0; i < COUNT(parts); i++)
		fprintf(stderr, " %s", parts[i].name);
	fprintf(stderr, "\n");
	exit(2);
}

int
main(int argc, char **argv)
{
	static struct points points;

	const struct bench_option known[] = {
		BENCH_NUMBER("runs", &options.runs, 1, KEYS_MAX),
		BENCH_NUMBER("requests", &options.requests, 1, KEYS_MAX),
		BENCH_NUMBER("keys", &options.keys, 1, KEYS_MAX),
		BENCH_NUMBER("seed", &options.seed, 1, KEYS_MAX),
		{0}};

	bench_options(argc, argv, known);
	if (optind == argc)
		usage();
	for (int i = optind; i < argc; i++) {
		size_t part = 0;

		while (part < COUNT(parts) && strcmp(parts[part].name, argv[i]) != 0)
			part++;
		if (part == COUNT(parts))
			usage();
		parts[part].run(&points);
	}
	return 0;
}
