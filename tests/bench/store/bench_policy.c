/*
 * bench_policy.c - compares the misses of the store's eviction with FIFO, CLOCK, LRU, bags, SIEVE,
 * S3-FIFO and W-TinyLFU, on equally many items and the same keys.
 *
 * Each trace is made from a seed, or read from a file, as the same operations for all. The cache
 * begins empty, and every miss is followed by a set, as by a cache's user. The store runs first;
 * the models have room for as many items as it held at its end. For a file that is about a tenth
 * of its objects, by the choice of the value's size and the memory.
 *
 * --lag PERCENT is another load: values are set once, and each is got once, after so many others
 * were set as make up that percentage of the held items; a miss is not followed by a set. Hits
 * count once ten times the held items were set.
 *
 *   bench_policy --trace NAME [--keys N] [--memory KB] [--operations N] [--value BYTES]
 *   bench_policy --lag PERCENT [--memory KB] [--value BYTES]
 *   bench_policy --file TRACE (trace_file.h)
 *   either with [--write TRACE]: the operations, for others
 */
#include "../../stress/eviction_sieve.h"
#include "bags_model.h"
#include "lru_model.h"
#include "own_store.h"
#include "policy_models.h"
#include "tinylfu_model.h"
#include "trace_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED          20261122u
#define VALUE_MAX     65536u
#define THETA         0.9
#define MEMORY_MIN_KB 8192u
/* Bags of a capacity in Intel's LRU, and cleanings for each capacity of uses. */
#define BAGS_OF_CACHE 32u
/* The cache holds one in FILE_PART of a file's objects, found by at most FITS_MAX tries of
 * values' sizes. */
#define FILE_PART      10u
#define FITS_MAX       8u
#define FILE_VALUE     200u /* if the memory can be that large */
#define OBJECT_BYTES   300u
#define FILE_ITEMS_MIN 100u
/* Turns of so few operations end grace periods early. Longer ones would use up large objects and
 * take pages. */
#define FILE_TURN_EVERY 8u

struct traces {
	uint32_t keys, operations, value_bytes;
	size_t memory_kb;
	uint32_t held;       /* by a full store; measured before a loop is made */
	uint32_t turn_every; /* operations; 0: as in own_store.h */
	uint32_t *key;       /* the key of each operation */
	bool *set;           /* NULL: all operations get */
	uint32_t key_end;
};

/* ---- traces ---- */

static void
trace_zipf(struct traces *t, uint64_t *random)
{
	struct zipf z;

	zipf_init(&z, t->keys, THETA);
	for (uint32_t i = 0; i < t->operations; i++)
		t->key[i] = zipf_next(&z, random);
}

/* Makes a trace in which three of ten operations are for a key that is never requested again. */
static void
trace_oneshot(struct traces *t, uint64_t *random)
{
	trace_zipf(t, random);
	for (uint32_t i = 0; i < t->operations; i++)
		if (bench_below(random, 10) < 3)
			t->key[i] = t->key_end++;
}

/* Makes a trace in which four of ten operations go through other keys in order, three times as
 * many as there are. */
static void
trace_scan(struct traces *t, uint64_t *random)
{
	uint32_t next = 0;

	trace_zipf(t, random);
	t->key_end = 4 * t->keys;
	for (uint32_t i = 0; i < t->operations; i++)
		if (bench_below(random, 10) < 4)
			t->key[i] = t->keys + next++ % (3 * t->keys);
}

/* Makes a trace that loops through a fifth more keys than the cache holds. */
static void
trace_loop(struct traces *t, uint64_t *random)
{
	const uint32_t round = t->held + t->held / 5;

	(void)random;
	t->key_end = round;
	for (uint32_t i = 0; i < t->operations; i++)
		t->key[i] = i % round;
}

/* Makes a trace whose popular keys change: the most popular fiftieth swaps places with keys drawn
 * from all, ten times in the trace. */
static void
trace_shift(struct traces *t, uint64_t *random)
{
	uint32_t *name = malloc(t->keys * sizeof *name);

	ensure(name != NULL);
	for (uint32_t i = 0; i < t->keys; i++)
		name[i] = i;
	trace_zipf(t, random);
	for (uint32_t i = 0; i < t->operations; i++) {
		for (uint32_t r = 0; i % (t->operations / 10) == 0 && r < t->keys / 50; r++) {
			const uint32_t other = bench_below(random, t->keys), was = name[r];

			name[r] = name[other];
			name[other] = was;
		}
		t->key[i] = name[t->key[i]];
	}
	free(name);
}

/* Makes a trace in which every fifth operation sets. */
static void
trace_getset(struct traces *t, uint64_t *random)
{
	trace_zipf(t, random);
	t->set = malloc(t->operations * sizeof *t->set);
	ensure(t->set != NULL);
	for (uint32_t i = 0; i < t->operations; i++)
		t->set[i] = bench_below(random, 5) == 0;
}

static const struct {
	const char *name;
	void (*make)(struct traces *t, uint64_t *random);
} traces[] = {{"zipf09", trace_zipf}, {"oneshot", trace_oneshot}, {"scan", trace_scan},
	      {"loop", trace_loop},   {"shift", trace_shift},     {"getset_zipf09", trace_getset}};

/* ---- caches ---- */

static bool
is_set(const struct traces *t, uint32_t i)
{
	return t->set != NULL && t->set[i];
}

static void
say(const struct traces *t, const char *trace, const char *who, uint64_t misses, uint64_t items)
{
	uint64_t gets = 0;

	for (uint32_t i = 0; i < t->operations; i++)
		gets += !is_set(t, i);
	printf("{\"part\": \"policy\", \"trace\": \"%s\", \"who\": \"%s\", \"value\": %u, "
	       "\"miss\": %.5f, \"items\": %llu}\n",
	       trace, who, t->value_bytes, (double)misses / (double)gets,
	       (unsigned long long)items);
	fflush(stdout);
}

static const char *
own_name(const struct eviction_policy *policy)
{
	static char name[32];

	snprintf(name, sizeof name, "store, %s", policy->name);
	return name;
}

static struct own_store
own_up(const struct traces *t, const struct eviction_policy *policy)
{
	const struct store_config cfg = {.memory_bytes = t->memory_kb << 10,
					 .cores = 1,
					 .value_max = STORE_VALUE_MAX,
					 .seed = 42,
					 .eviction = policy};
	struct own_store o;

	own_create_for(&o, &cfg);
	if (t->turn_every != 0)
		o.turn_every = t->turn_every;
	return o;
}

static bool
own_use(const struct traces *t, struct own_store *o, uint32_t key, bool set)
{
	static const uint8_t value[VALUE_MAX];
	struct store_core *sc = store_core_of(o->store, 0);
	const struct bench_key k = bench_key_of(key);
	const uint64_t hash = store_hash(sc, own_key(&k));

	own_turn(o, sc);
	if (!set && store_get(sc, own_key(&k), hash) != NULL)
		return true;
	ensure(own_put(sc, own_key(&k), hash, value, t->value_bytes) == STORE_OK);
	return false;
}

static uint32_t
own_items(const struct own_store *o)
{
	struct store_usage usage;

	store_usage_mt(o->store, &usage);
	return (uint32_t)usage.items;
}

/* Returns how many items the memory holds once it is full. */
static uint32_t
own_held(const struct traces *t)
{
	struct own_store o = own_up(t, &eviction_2q);

	for (uint32_t i = 0; own_counted(&o, STORE_EVICTED) < 10000; i++)
		own_use(t, &o, i, true);

	const uint32_t held = own_items(&o);

	own_destroy(&o);
	return held;
}

/* Runs a trace on the store. Returns how many items the store holds at its end. */
static uint32_t
own(const struct traces *t, const char *trace, const struct eviction_policy *policy)
{
	struct own_store o = own_up(t, policy);
	uint64_t misses = 0;

	for (uint32_t i = 0; i < t->operations; i++) {
		misses += !own_use(t, &o, t->key[i], is_set(t, i)) && !is_set(t, i);
		bench_progress(trace, i, t->operations);
	}

	const uint32_t items = own_items(&o);

	say(t, trace, own_name(policy), misses, items);
	own_destroy(&o);
	return items;
}

static void
lru(const struct traces *t, const char *trace, uint32_t capacity)
{
	uint64_t misses = 0;
	struct lru l;

	lru_create(&l, t->key_end, capacity);
	for (uint32_t i = 0; i < t->operations; i++)
		misses += !lru_use(&l, t->key[i]) && !is_set(t, i);
	say(t, trace, "lru", misses, l.count);
	lru_destroy(&l);
}

static void
model(const struct traces *t, const char *trace, const char *who, enum policy policy,
      uint32_t capacity)
{
	struct policy_model m;
	uint64_t misses = 0;

	policy_create(&m, policy, t->key_end, capacity);
	for (uint32_t i = 0; i < t->operations; i++)
		misses += !policy_use(&m, t->key[i]) && !is_set(t, i);
	say(t, trace, who, misses, policy_count(&m));
	policy_destroy(&m);
}

static void
bags(const struct traces *t, const char *trace, uint32_t capacity)
{
	const uint32_t part = capacity / BAGS_OF_CACHE != 0 ? capacity / BAGS_OF_CACHE : 1;
	uint64_t misses = 0;
	struct bags b;

	bags_create(&b, t->key_end, capacity, part, part);
	for (uint32_t i = 0; i < t->operations; i++)
		misses += !bags_use(&b, t->key[i]) && !is_set(t, i);
	say(t, trace, "bags", misses, b.count);
	bags_destroy(&b);
}

static void
wtinylfu(const struct traces *t, const char *trace, uint32_t capacity)
{
	uint64_t misses = 0;
	struct tinylfu l;

	tinylfu_create(&l, t->key_end, capacity);
	for (uint32_t i = 0; i < t->operations; i++)
		misses += !tinylfu_use(&l, t->key[i]) && !is_set(t, i);
	say(t, trace, "wtinylfu", misses, tinylfu_held(&l));
	tinylfu_destroy(&l);
}

/* ---- written once, read once ---- */

#define LAG_ROUNDS_BEFORE 10u
#define LAG_ROUNDS        15u
#define LAG_FEW           10000u /* so few items are used up within a grace period of longer turns */

static bool
own_gets(struct own_store *o, uint32_t key)
{
	struct store_core *sc = store_core_of(o->store, 0);
	const struct bench_key k = bench_key_of(key);

	own_turn(o, sc);
	return store_get(sc, own_key(&k), store_hash(sc, own_key(&k))) != NULL;
}

/* Returns the number of items at the first eviction. */
static uint32_t
held_first(const struct traces *t, const struct eviction_policy *policy)
{
	struct own_store o = own_up(t, policy);
	uint32_t n = 0;

	while (own_counted(&o, STORE_EVICTED) == 0)
		own_use(t, &o, n++, true);
	n = own_items(&o);
	own_destroy(&o);
	return n;
}

static void
say_lag(const struct traces *t, uint32_t percent, uint32_t held, const char *who, uint64_t hits,
	uint64_t gets)
{
	printf("{\"part\": \"lag\", \"lag\": %u, \"who\": \"%s\", \"value\": %u, \"hit\": %.5f, "
	       "\"items\": %u}\n",
	       percent, who, t->value_bytes, (double)hits / (double)gets, held);
	fflush(stdout);
}

static void
own_lag(const struct traces *t, uint32_t percent, uint32_t held,
	const struct eviction_policy *policy)
{
	const uint32_t lag = (uint32_t)((uint64_t)held * percent / 100);
	struct own_store o = own_up(t, policy);
	uint64_t hits = 0, gets = 0;

	for (uint32_t i = 0; i < held * LAG_ROUNDS; i++) {
		own_use(t, &o, i, true);
		if (i < lag)
			continue;

		const bool hit = own_gets(&o, i - lag);

		hits += hit && i >= held * LAG_ROUNDS_BEFORE;
		gets += i >= held * LAG_ROUNDS_BEFORE;
	}
	say_lag(t, percent, held, own_name(policy), hits, gets);
	own_destroy(&o);
}

static void
lru_lag(const struct traces *t, uint32_t percent, uint32_t held)
{
	const uint32_t lag = (uint32_t)((uint64_t)held * percent / 100), keys = held * LAG_ROUNDS;
	uint64_t hits = 0, gets = 0;
	struct lru l;

	lru_create(&l, keys, held);
	for (uint32_t i = 0; i < keys; i++) {
		lru_use(&l, i);
		if (i < lag)
			continue;

		const bool hit = lru_get(&l, i - lag);

		hits += hit && i >= held * LAG_ROUNDS_BEFORE;
		gets += i >= held * LAG_ROUNDS_BEFORE;
	}
	say_lag(t, percent, held, "lru", hits, gets);
	lru_destroy(&l);
}

static void
run_lag(struct traces *t, uint32_t percent)
{
	const uint32_t held = held_first(t, &eviction_2q);

	t->turn_every = held < LAG_FEW ? FILE_TURN_EVERY : 0;
	own_lag(t, percent, held, &eviction_2q);
	own_lag(t, percent, held, &eviction_clock);
	own_lag(t, percent, held, &eviction_sieve);
	lru_lag(t, percent, held);
}

static void
make_trace(struct traces *t, const char *trace)
{
	const size_t count = sizeof traces / sizeof *traces;
	uint64_t random = SEED;
	size_t which = 0;

	while (which < count && strcmp(trace, traces[which].name) != 0)
		which++;
	if (which == count)
		exit(2);
	t->key = malloc(t->operations * sizeof *t->key);
	ensure(t->key != NULL);
	t->key_end = t->keys;
	t->held = own_held(t);
	traces[which].make(t, &random);
}

static void
fail(const char *path, const char *words)
{
	fprintf(stderr, "bench_policy: %s: %s\n", path, words);
	exit(1);
}

/* Finds a memory and a value's size with which the store holds about the wanted number of items. */
static void
fit(struct traces *t, uint32_t items)
{
	const uint64_t kb = (uint64_t)items * OBJECT_BYTES >> 10;

	t->memory_kb = kb > MEMORY_MIN_KB ? kb : MEMORY_MIN_KB;
	t->value_bytes = FILE_VALUE;
	for (uint32_t i = 0; i < FITS_MAX; i++) {
		const uint32_t held = own_held(t);
		const uint64_t value = (t->value_bytes + BENCH_KEY_BYTES) * (uint64_t)held / items;

		t->held = held;
		if (held < items + items / 20)
			break;
		t->value_bytes = value < VALUE_MAX ? (uint32_t)value : VALUE_MAX;
	}
}

static void
read_trace(struct traces *t, const char *path)
{
	struct trace_file file;

	if (!trace_file_read(path, &file))
		fail(path, "no trace in the format oracleGeneral");
	t->key = file.key;
	t->operations = file.operations;
	t->keys = t->key_end = file.keys;
	if (t->keys / FILE_PART < FILE_ITEMS_MIN)
		fail(path, "too few objects");
	t->turn_every = FILE_TURN_EVERY;
	fit(t, t->keys / FILE_PART);
}

static void
write_trace(const struct traces *t, const char *path)
{
	const struct trace_file file = {
		.key = t->key, .set = t->set, .operations = t->operations, .keys = t->key_end};

	if (!trace_file_write(path, &file))
		fail(path, "not written");
}

static void
run(struct traces *t, const char *trace)
{
	const uint32_t items = own(t, trace, &eviction_2q);

	own(t, trace, &eviction_clock);
	own(t, trace, &eviction_sieve);
	lru(t, trace, items);
	model(t, trace, "fifo", POLICY_FIFO, items);
	model(t, trace, "clock", POLICY_CLOCK, items);
	model(t, trace, "sieve", POLICY_SIEVE, items);
	model(t, trace, "s3fifo", POLICY_S3FIFO, items);
	bags(t, trace, items);
	wtinylfu(t, trace, items);
	free(t->key);
	free(t->set);
}

int
main(int argc, char **argv)
{
	struct traces t = {
		.keys = 1000000, .operations = 5000000, .memory_kb = 32768, .value_bytes = 200};
	const char *trace = "zipf09", *file = NULL, *written = NULL;
	uint32_t lag = 0;

	const struct bench_option known[] = {
		BENCH_TEXT("trace", &trace),
		BENCH_NUMBER("keys", &t.keys, 1000, 100000000),
		BENCH_NUMBER("memory", &t.memory_kb, 8192, 1u << 24),
		BENCH_NUMBER("operations", &t.operations, 1000, 1000000000),
		BENCH_NUMBER("value", &t.value_bytes, 0, VALUE_MAX),
		BENCH_TEXT("file", &file),
		BENCH_TEXT("write", &written),
		BENCH_NUMBER("lag", &lag, 1, 200),
		{0}};

	bench_options(argc, argv, known);
	if (lag != 0) {
		run_lag(&t, lag);
		return 0;
	}
	if (file != NULL)
		read_trace(&t, file);
	else
		make_trace(&t, trace);
	if (written != NULL)
		write_trace(&t, written);
	run(&t, file != NULL ? "file" : trace);
	return 0;
}
