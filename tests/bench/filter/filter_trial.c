/*
 * filter_trial.c - compares the cuckoo filter with Bloom filters, as chapter 4 of B. Fan's thesis
 * does.
 *
 * Each row is a line of JSON. Times are CPU times of this thread; a key's hash is computed within
 * them. A filter has as many bits as 2^SHIFT buckets of four slots of 12 bits.
 *
 *   filter_trial [--shift SHIFT] [--run NUMBER] [--looks COUNT] [--buckets COUNT] PART
 *
 *   loads   how full buckets get, by the slot's bits
 *   space   bits an item and false positives, by slots, bits and kind
 *   sized   a filter made for 0.0019, and semi-sorted for 0.0009
 *   all     each filter filled, looked in at each twentieth, full, and deleted from
 */
#include "../store/bench_load.h"
#include "bloom_filters.h"

#include "base/check.h"
#include "base/ticks.h"
#include "support/cuckoo_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS         20u
#define BITS_MAX      20u
#define BLOOM_BITS    13.0 /* bits for each item; with BLOOM_HASHES as in table 4.3 */
#define BLOOM_HASHES  9u
#define COUNTING_BITS 52.0
#define LATENCIES_MAX 200000u
#define RATE_LOOKS    16u /* lookups for a rate, in units of those for a time */
#define ABSENT_FROM   (1ull << 40)
#define SHIFT_MAX     27u
#define LOOKS_MAX     100000000u

struct trial {
	uint32_t shift, run, looks, buckets;
};

static struct trial trial = {.shift = 19, .looks = 100000, .buckets = 1u << 15};

static uint64_t
key_of(uint64_t n)
{
	return n * 0x9e3779b97f4a7c15ull + (uint64_t)trial.run * 0xd1342543de82ef95ull;
}

static uint64_t
hash_of(uint64_t key)
{
	return bench_mix(key);
}

/* ---- filters under comparison ---- */

struct contender {
	const char *name;
	bool (*insert)(void *filter, uint64_t hash);
	bool (*has)(const void *filter, uint64_t hash);
	bool (*take)(void *filter, uint64_t hash); /* NULL: it cannot delete */
	bool sorted, cuckoo;
	enum bloom_kind kind;
	double bits; /* bits for each item; 0: filled until one is refused */
};

static bool
cuckoo_insert(void *filter, uint64_t hash)
{
	return filter_insert(filter, hash);
}

static bool
cuckoo_has(const void *filter, uint64_t hash)
{
	return filter_has(filter, hash);
}

static bool
cuckoo_take(void *filter, uint64_t hash)
{
	return filter_delete(filter, hash);
}

static bool
others_insert(void *filter, uint64_t hash)
{
	bloom_insert(filter, hash);
	return true;
}

static bool
others_has(const void *filter, uint64_t hash)
{
	return bloom_has(filter, hash);
}

static bool
others_take(void *filter, uint64_t hash)
{
	bloom_delete(filter, hash);
	return true;
}

#define CUCKOO cuckoo_insert, cuckoo_has, cuckoo_take
#define BLOOM  others_insert, others_has, NULL
static const struct contender contenders[] = {
	{"cf", CUCKOO, false, true, BLOOM_PLAIN, 0},
	{"ss_cf", CUCKOO, true, true, BLOOM_PLAIN, 0},
	{"bf", BLOOM, false, false, BLOOM_PLAIN, BLOOM_BITS},
	{"blk_bf", BLOOM, false, false, BLOOM_BLOCKED, BLOOM_BITS},
	{"cbf", others_insert, others_has, others_take, false, false, BLOOM_COUNTING,
	 COUNTING_BITS},
};

/* A contender with its memory. */
struct seat {
	const struct contender *who;
	void *filter;
	size_t bytes;
	uint64_t bits, slots; /* slots: items that it is made for, or may hold */
	uint64_t items;
	double insert_ns;
};

static void *
map_filter(const struct filter_shape *shape, size_t *bytes)
{
	*bytes = filter_bytes(shape);

	struct filter *f = bench_map(*bytes);

	filter_init(f, shape, trial.run + 1);
	return f;
}

static void *
map_bloom(enum bloom_kind kind, uint64_t bits, uint32_t hashes, size_t *bytes)
{
	const uint32_t places = bloom_places(kind, bits);

	*bytes = bloom_bytes(kind, places);

	struct bloom *b = bench_map(*bytes);

	bloom_init(b, kind, places, hashes);
	return b;
}

static struct seat
sit(const struct contender *who)
{
	const struct filter_shape shape = {1u << trial.shift, 4, 12, who->sorted};
	struct seat s = {.who = who, .bits = filter_bits(&shape)};

	if (who->cuckoo) {
		s.filter = map_filter(&shape, &s.bytes);
		s.slots = (uint64_t)shape.buckets * shape.slots;
	} else {
		s.filter = map_bloom(who->kind, s.bits, BLOOM_HASHES, &s.bytes);
		s.bits = bloom_bits(s.filter);
		s.slots = (uint64_t)((double)s.bits / who->bits);
	}
	return s;
}

/* ---- rows ---- */

static void
row(const char *part, const struct seat *s, const char *by, double at, const char *what,
    double value)
{
	printf("{\"part\": \"%s\", \"filter\": \"%s\", \"run\": %u, \"%s\": %.4g, \"%s\": %.5g}\n",
	       part, s->who->name, trial.run, by, at, what, value);
}

static double
mops(uint64_t operations, double ns)
{
	return (double)operations / ns * 1e3;
}

/* ---- lookups ---- */

/* Draws keys, percent of them from the first n, which are present; the others are absent. */
static void
draw_keys(uint64_t *keys, uint32_t count, uint64_t n, uint32_t percent)
{
	uint64_t state = trial.run + percent;

	ensure(n != 0);
	for (uint32_t i = 0; i < count; i++) {
		const bool present = bench_below(&state, 100) < percent;

		keys[i] = key_of(present ? bench_random(&state) % n : ABSENT_FROM + i);
	}
}

static double
look_mops(const struct seat *s, const uint64_t *keys, uint32_t count, bool all)
{
	const uint64_t start = bench_cpu_ns();
	uint32_t found = 0;

	for (uint32_t i = 0; i < count; i++)
		found += s->who->has(s->filter, hash_of(keys[i]));

	const double ns = (double)(bench_cpu_ns() - start);

	ensure(!all || found == count);
	return mops(count, ns);
}

static double
look_many_mops(const struct seat *s, const uint64_t *keys, uint32_t count)
{
	const uint64_t start = bench_cpu_ns();
	uint64_t hashes[FILTER_BATCH], found = 0;

	for (uint32_t i = 0; i + FILTER_BATCH <= count; i += FILTER_BATCH) {
		for (uint32_t k = 0; k < FILTER_BATCH; k++)
			hashes[k] = hash_of(keys[i + k]);
		found += (uint64_t)__builtin_popcountll(
			filter_has_many(s->filter, hashes, FILTER_BATCH));
	}

	const double ns = (double)(bench_cpu_ns() - start);

	ensure(found <= count);
	return mops(count / FILTER_BATCH * FILTER_BATCH, ns);
}

static double
false_rate(bool (*has)(const void *, uint64_t), const void *filter)
{
	const uint64_t looks = (uint64_t)trial.looks * RATE_LOOKS;
	uint64_t found = 0;

	for (uint64_t i = 0; i < looks; i++)
		found += has(filter, hash_of(key_of(2 * ABSENT_FROM + i)));
	return (double)found / (double)looks;
}

/* ---- all: fill, look, delete ---- */

/* Fills up to that number of items. False: one was refused. */
static bool
fill_to(struct seat *s, uint64_t items)
{
	const uint64_t from = s->items, start = bench_cpu_ns();
	bool fits = true;

	while (s->items < items && (fits = s->who->insert(s->filter, hash_of(key_of(s->items)))))
		s->items++;

	const double ns = (double)(bench_cpu_ns() - start);

	s->insert_ns += ns;
	if (s->items - from >= items / STEPS / 2)
		row("insert", s, "load", (double)s->items / (double)s->slots, "mops",
		    mops(s->items - from, ns));
	return fits;
}

static void
look_at_load(const struct seat *s, uint64_t *keys)
{
	const double load = (double)s->items / (double)s->slots;

	draw_keys(keys, trial.looks, s->items, 0);
	row("absent", s, "load", load, "mops", look_mops(s, keys, trial.looks, false));
	draw_keys(keys, trial.looks, s->items, 100);
	row("present", s, "load", load, "mops", look_mops(s, keys, trial.looks, true));
}

static void
look_mixed(const struct seat *s, uint64_t *keys)
{
	for (uint32_t percent = 0; percent <= 100; percent += 25) {
		draw_keys(keys, trial.looks, s->items, percent);
		row("mix", s, "present", percent, "mops",
		    look_mops(s, keys, trial.looks, percent == 100));
		if (s->who->cuckoo)
			row("many", s, "present", percent, "mops",
			    look_many_mops(s, keys, trial.looks));
	}
}

static int
by_value(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t
ticks(void)
{
	return ticks_read_after();
}

/* Times single lookups; the time of an empty measurement is subtracted. */
static void
look_one_by_one(const struct seat *s, uint64_t *keys, uint32_t percent)
{
	static uint32_t spent[LATENCIES_MAX];
	static const double percents[] = {1, 5, 10, 25, 50, 75, 90, 95, 99};
	const uint32_t count = trial.looks < LATENCIES_MAX ? trial.looks : LATENCIES_MAX;
	const uint64_t ns0 = bench_ns(), ticks0 = ticks();
	uint32_t least = UINT32_MAX;

	draw_keys(keys, count, s->items, percent);
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t start = ticks(), empty = ticks() - start, from = ticks();
		const bool found = s->who->has(s->filter, hash_of(keys[i]));
		const uint64_t took = ticks() - from;

		ensure(found || percent == 0);
		spent[i] = (uint32_t)(took < UINT32_MAX ? took : UINT32_MAX);
		if (empty < least)
			least = (uint32_t)empty;
	}

	const double ns_tick = (double)(bench_ns() - ns0) / (double)(ticks() - ticks0);

	qsort(spent, count, sizeof spent[0], by_value);
	for (uint32_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
		const uint32_t took = spent[(uint32_t)((count - 1) * percents[i] / 100)];

		row(percent == 0 ? "latency_absent" : "latency_present", s, "percent", percents[i],
		    "ns", took > least ? (took - least) * ns_tick : 0);
	}
}

static void
delete_all(struct seat *s)
{
	const uint64_t full = s->items;

	for (uint32_t step = STEPS; step-- != 0;) {
		const uint64_t rest = full * step / STEPS, from = s->items, start = bench_cpu_ns();

		while (s->items > rest)
			ensure(s->who->take(s->filter, hash_of(key_of(--s->items))));

		const double ns = (double)(bench_cpu_ns() - start);

		row("delete", s, "load", (step + 1.0) / STEPS, "mops", mops(from - rest, ns));
	}
}

static void
all_of(const struct contender *who, uint64_t *keys)
{
	struct seat s = sit(who);
	bool fits = true;

	for (uint32_t step = 1; step <= STEPS && fits; step++) {
		fits = fill_to(&s, s.slots * step / STEPS);
		look_at_load(&s, keys);
	}
	printf("{\"part\": \"full\", \"filter\": \"%s\", \"run\": %u, \"bytes\": %llu, \"items\": "
	       "%llu, \"load\": "
	       "%.4f, \"bits_per_item\": %.4f, \"rate\": %.6f, \"mops\": %.4g}\n",
	       who->name, trial.run, (unsigned long long)s.bits / 8, (unsigned long long)s.items,
	       (double)s.items / (double)s.slots, (double)s.bits / (double)s.items,
	       false_rate(who->has, s.filter), mops(s.items, s.insert_ns));
	look_mixed(&s, keys);
	look_one_by_one(&s, keys, 0);
	look_one_by_one(&s, keys, 100);
	if (who->take != NULL)
		delete_all(&s);
	bench_unmap(s.filter, s.bytes);
}

static void
part_all(void)
{
	const uint32_t count = sizeof contenders / sizeof contenders[0];
	uint64_t *keys = bench_map(trial.looks * sizeof *keys);

	for (uint32_t i = 0; i < count; i++) {
		bench_progress("filters", i, count);
		all_of(&contenders[(i + trial.run) % count], keys);
	}
	bench_unmap(keys, trial.looks * sizeof *keys);
}

/* ---- loads, space, sized ---- */

static uint64_t
fill_filter(struct filter *f, uint64_t most)
{
	uint64_t n = 0;

	while (n < most && filter_insert(f, hash_of(key_of(n))))
		n++;
	return n;
}

static void
load_of(const struct filter_shape *shape)
{
	size_t bytes;
	struct filter *f = map_filter(shape, &bytes);
	const uint64_t n = fill_filter(f, UINT64_MAX);

	printf("{\"part\": \"loads\", \"buckets\": %u, \"slots\": %u, \"bits\": %u, \"run\": %u, "
	       "\"load\": "
	       "%.4f}\n",
	       shape->buckets, shape->slots, shape->bits, trial.run,
	       (double)n / ((double)shape->buckets * shape->slots));
	bench_unmap(f, bytes);
}

static void
part_loads(void)
{
	for (uint8_t bits = FILTER_BITS_MIN; bits <= BITS_MAX; bits++)
		for (uint8_t slots = 4; slots <= 8; slots *= 2)
			load_of(&(struct filter_shape){trial.buckets, slots, bits, false});
}

static void
space_row(const char *name, uint32_t bits, double bits_per_item, double rate)
{
	printf("{\"part\": \"space\", \"filter\": \"%s\", \"bits\": %u, \"run\": %u, "
	       "\"bits_per_item\": %.4f, "
	       "\"rate\": %.3g}\n",
	       name, bits, trial.run, bits_per_item, rate);
}

static void
space_of_cuckoo(const char *name, const struct filter_shape *shape)
{
	size_t bytes;
	struct filter *f = map_filter(shape, &bytes);
	const uint64_t n = fill_filter(f, UINT64_MAX);

	space_row(name, shape->bits, (double)filter_bits(shape) / (double)n,
		  false_rate(cuckoo_has, f));
	bench_unmap(f, bytes);
}

/* Returns how many places a lookup reads on average. */
static double
mean_reads(const struct bloom *b, uint64_t from)
{
	uint64_t reads = 0;

	for (uint32_t i = 0; i < trial.looks; i++)
		reads += bloom_reads(b, hash_of(key_of(from + i)));
	return (double)reads / trial.looks;
}

static void
space_of_bloom(const char *name, enum bloom_kind kind, uint32_t bits)
{
	const uint64_t n = (uint64_t)trial.buckets * 4;
	size_t bytes;
	struct bloom *b = map_bloom(kind, n * bits, bloom_hashes(bits), &bytes);

	for (uint64_t i = 0; i < n; i++)
		bloom_insert(b, hash_of(key_of(i)));
	space_row(name, bits, (double)bloom_bits(b) / (double)n, false_rate(others_has, b));
	if (kind == BLOOM_PLAIN)
		printf("{\"part\": \"reads\", \"filter\": \"%s\", \"bits\": %u, \"run\": %u, "
		       "\"present\": %u, "
		       "\"absent\": %.3f}\n",
		       name, bits, trial.run, b->hashes, mean_reads(b, ABSENT_FROM));
	bench_unmap(b, bytes);
}

static void
part_space(void)
{
	for (uint8_t bits = FILTER_BITS_MIN; bits <= BITS_MAX; bits++) {
		space_of_cuckoo("cf2", &(struct filter_shape){trial.buckets, 2, bits, false});
		space_of_cuckoo("cf4", &(struct filter_shape){trial.buckets, 4, bits, false});
		space_of_cuckoo("cf8", &(struct filter_shape){trial.buckets, 8, bits, false});
	}
	for (uint8_t bits = FILTER_SORTED_BITS_MIN; bits <= FILTER_SORTED_BITS_MAX; bits++)
		space_of_cuckoo("ss_cf", &(struct filter_shape){trial.buckets, 4, bits, true});
	for (uint32_t bits = 5; bits <= 24; bits++) {
		space_of_bloom("bf", BLOOM_PLAIN, bits);
		space_of_bloom("blk_bf", BLOOM_BLOCKED, bits);
	}
}

/* Measures a filter made for a number of items and a rate, as a caller makes it. */
static void
sized(const char *name, double rate, bool is_sorted)
{
	const struct filter_want want = {(uint64_t)trial.buckets * 4, rate, 4, is_sorted};
	struct filter_shape shape;
	size_t bytes;

	ensure(filter_shape_for(&shape, &want));

	struct filter *f = map_filter(&shape, &bytes);
	const uint64_t n = fill_filter(f, want.items);

	printf("{\"part\": \"sized\", \"filter\": \"%s\", \"run\": %u, \"wanted\": %g, \"items\": "
	       "%llu, \"refused\": "
	       "%llu, \"bits_per_item\": %.4f, \"rate\": %.6f}\n",
	       name, trial.run, rate, (unsigned long long)want.items,
	       (unsigned long long)(want.items - n),
	       (double)filter_bits(&shape) / (double)want.items, false_rate(cuckoo_has, f));
	bench_unmap(f, bytes);
}

static void
part_sized(void)
{
	sized("cf", 0.0019, false);
	sized("ss_cf", 0.0009, true);
}

/* ---- the command ---- */

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{"loads", part_loads}, {"space", part_space}, {"sized", part_sized}, {"all", part_all}};

static void
usage(void)
{
	fputs("usage: filter_trial [--shift 8..27] [--run NUMBER] [--looks COUNT] [--buckets "
	      "COUNT] "
	      "loads|space|sized|all\n",
	      stderr);
	exit(2);
}

static void
options(int argc, char **argv)
{
	const struct bench_option known[] = {
		BENCH_NUMBER("shift", &trial.shift, 8, SHIFT_MAX),
		BENCH_NUMBER("run", &trial.run, 0, UINT32_MAX),
		BENCH_NUMBER("looks", &trial.looks, FILTER_BATCH, LOOKS_MAX),
		BENCH_NUMBER("buckets", &trial.buckets, FILTER_BUCKETS_MIN, 1u << SHIFT_MAX),
		{0}};

	bench_options(argc, argv, known);
	if (optind + 1 != argc)
		usage();
}

int
main(int argc, char **argv)
{
	options(argc, argv);
	for (uint32_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (strcmp(argv[optind], parts[i].name) == 0) {
			parts[i].run();
			return 0;
		}
	usage();
}
