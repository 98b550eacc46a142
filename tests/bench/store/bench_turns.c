/*
 * bench_turns.c - measures the length of turns while the store grows, evicts, expires, drains,
 * shrinks and flushes: 64 operations a turn on one core, with upkeep as lib/core calls it.
 *
 * The store reads no clock and every number here is drawn from a seed, so turn n of one run does
 * exactly what turn n of another does. Time that all runs have in common is the store's, and time
 * that only some have is the host's: its interrupts, other processes, the hypervisor. So a turn's
 * own time is the least of all runs.
 *
 * A turn's time includes its own operations; in phase "after", where no job has work, it is only
 * those, and nothing is subtracted. A set that finds no memory ends its turn's operations, as a
 * client waits; the next turn begins with it. The figure sets counts stored items, and
 * evicted_for_slots the items evicted because the index had no room.
 *
 * A preemption by the kernel is the host's by the same rule: no two runs have it in the same
 * turn. The last line counts them (involuntary switches of the thread, and page faults). With
 * more than some dozens per thousand turns the least of 3 runs is not enough, and --runs should
 * be higher.
 *
 *   bench_turns [--memory MB] [--runs N] [--turns N] [--worst N] [--jobs]
 *
 * --turns is the number in a phase; --worst prints that many of the longest turns of each phase to
 * stderr, and --jobs the time of each background job (turn_jobs.h), whose clocks make turns longer.
 */
#include "own_store.h"
#include "turn_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define OPERATIONS         64u /* in a turn */
#define HOUSEKEEPING_EVERY 16u /* turns, as in lib/core */
#define TURNS_A_SECOND     5000u
#define LONG_NS            50000u
#define TOO_LONG_NS        100000u
#define WORTH_NS           2000u /* a job's time from which it is printed */
#define RUNS_MAX           15u
#define MOVE_EVERY         8u     /* turns after which a page is moved between two classes */
#define FILL_BYTES         65536u /* bytes of a large value that arrive in a turn */
#define LARGE_BYTES        (1u << 20)
#define GETS_BACK          100000u /* a get is for one of this many keys that were set last */
#define VALUE_MAX          65536u
#define FEW                16u /* every other get is for one of a 16th of these */

struct phase;

/* The times of turns, run by run: the least of each, and the first run's. */
struct times {
	uint32_t *least, *least_upkeep, *first;
	struct turn_jobs *jobs; /* the least of each; NULL: not measured */
	uint32_t count, room;
	uint64_t sets;    /* new keys: a turn ends early if there is no memory */
	uint64_t crowded; /* items evicted for want of a slot */
};

struct bench {
	struct own_store own;
	struct store_core *sc;
	size_t memory_bytes;
	uint32_t phase_turns;
	uint64_t random, keys; /* keys: number of keys set so far */
	uint64_t turns;        /* in the store's life */
	struct fill large;
	uint32_t run, runs;
};

struct phase {
	const char *name;
	void (*begin)(struct bench *b);
	void (*operate)(struct bench *b, uint32_t turn);
	uint32_t parts; /* length in units of --turns; 0: until memory is full */
};

static const uint8_t value[VALUE_MAX];

/* ---- operations ---- */

static bool
set_number(struct bench *b, uint64_t number, uint32_t len, uint32_t ttl_s)
{
	const struct bench_key k = bench_key_of(number);
	const struct view key = own_key(&k);
	const uint32_t now_s = b->sc->now_s;
	struct fill f;
	const enum store_result r = store_begin(b->sc, &f, key, store_hash(b->sc, key), len, 0,
						ttl_s != 0 ? now_s + ttl_s : 0);

	if (r != STORE_OK)
		return false;
	store_fill(b->sc, &f, value, len);
	return store_finish(b->sc, &f, STORE_SET, 0) == STORE_OK;
}

/* Prefetches the keys to be set together, as lib/serve does before it executes a burst. */
static void
prefetch_new(struct bench *b, uint32_t count)
{
	struct bench_key keys[OPERATIONS];
	struct probe probes[OPERATIONS];

	for (uint32_t i = 0; i < count; i++) {
		keys[i] = bench_key_of(b->keys + i);
		store_probe(b->sc, &probes[i], own_key(&keys[i]));
	}
	for (uint32_t i = 0; i < count; i++)
		store_probe_primary_to_write(b->sc, &probes[i]);
	for (uint32_t i = 0; i < count; i++)
		store_probe_alternate(b->sc, &probes[i]);
}

/* Sets a new key. False: there is no memory in this turn, so its operations end, as those of
 * waiting clients do. */
static bool
set_new(struct bench *b, uint32_t len, uint32_t ttl_s)
{
	if (!set_number(b, b->keys, len, ttl_s))
		return false;
	b->keys++;
	return true;
}

/* Gets keys. Every other get is for one of fewer keys, so some items are used often, others
 * never. */
static void
get_some(struct bench *b, uint32_t count)
{
	struct bench_key keys[OPERATIONS];
	const struct item *items[OPERATIONS];

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t range =
			bench_below(&b->random, 2) == 0 ? GETS_BACK : GETS_BACK / FEW;
		const uint64_t back = 1 + bench_below(&b->random, range);

		keys[i] = bench_key_of(b->keys > back ? b->keys - back : 0);
	}
	own_get_batch(b->sc, keys, count, items);
}

static void
set_many(struct bench *b, uint32_t count, uint32_t len, uint32_t ttl_s)
{
	prefetch_new(b, count);
	for (uint32_t i = 0; i < count; i++)
		if (!set_new(b, len, ttl_s))
			return;
}

/* Returns a length that is log-uniform from 16 to 16 * 2^shifts. */
static uint32_t
mixed_length(struct bench *b, uint32_t shifts)
{
	const uint32_t shift = bench_below(&b->random, shifts);

	return (16u << shift) + bench_below(&b->random, 16u << shift);
}

/* ---- phases ---- */

static void
fill_operate(struct bench *b, uint32_t turn)
{
	(void)turn;
	set_many(b, OPERATIONS, BENCH_VALUE_BYTES, 0);
}

static void
evict_operate(struct bench *b, uint32_t turn)
{
	(void)turn;
	get_some(b, OPERATIONS / 2);
	set_many(b, OPERATIONS / 2, BENCH_VALUE_BYTES, 0);
}

static void
expire_operate(struct bench *b, uint32_t turn)
{
	get_some(b, OPERATIONS / 2);
	set_many(b, OPERATIONS / 2, BENCH_VALUE_BYTES, turn % 2 == 0 ? 1 : 0);
}

static void
mixed_operate(struct bench *b, uint32_t turn)
{
	(void)turn;
	get_some(b, OPERATIONS / 2);
	prefetch_new(b, OPERATIONS / 2);
	for (uint32_t i = 0; i < OPERATIONS / 2; i++)
		if (!set_new(b, mixed_length(b, 8), 0))
			return;
}

/* Moves pages from class to class, as `slabs reassign` does. */
static void
drain_operate(struct bench *b, uint32_t turn)
{
	const uint32_t classes = store_class_count_mt(b->own.store);

	if (turn % MOVE_EVERY == 0)
		store_page_move_mt(b->own.store, STORE_ANY_CLASS,
				   1 + bench_below(&b->random, classes));
	mixed_operate(b, turn);
}

static void
larger_operate(struct bench *b, uint32_t turn)
{
	(void)turn;
	get_some(b, OPERATIONS / 2);
	set_many(b, OPERATIONS / 2, 1000, 0);
}

static void
shrink_begin(struct bench *b)
{
	ensure(store_limit_mt(b->own.store, b->memory_bytes / 2));
}

static void
grow_begin(struct bench *b)
{
	ensure(store_limit_mt(b->own.store, b->memory_bytes));
}

/* Flushes in every turn; in every fourth turn nothing was stored since the previous flush. */
static void
flush_operate(struct bench *b, uint32_t turn)
{
	store_flush(b->sc, 0);
	if (turn % 4 != 0)
		evict_operate(b, turn);
	else
		get_some(b, OPERATIONS);
}

/* Flushes a full store once; traffic follows. */
static void
flushed_begin(struct bench *b)
{
	store_flush(b->sc, 0);
}

/* Stores a value of a MiB in pieces, which replaces one of 16 such values. */
static void
large_operate(struct bench *b, uint32_t turn)
{
	const struct bench_key k = bench_key_of(~(uint64_t)(turn / 16 % 16));
	const struct view key = own_key(&k);

	get_some(b, OPERATIONS / 4);
	set_many(b, OPERATIONS / 4, BENCH_VALUE_BYTES, 0);
	if (b->large.item == NULL && store_begin(b->sc, &b->large, key, store_hash(b->sc, key),
						 LARGE_BYTES, 0, 0) != STORE_OK) {
		b->large.item = NULL;
		return;
	}
	store_fill(b->sc, &b->large, value, FILL_BYTES);
	if (b->large.filled == LARGE_BYTES)
		store_finish(b->sc, &b->large, STORE_SET, 0);
}

static void
large_end(struct bench *b)
{
	store_abandon(b->sc, &b->large);
}

static const struct phase phases[] = {
	{"fill", NULL, fill_operate, 0},
	{"evict", NULL, evict_operate, 1},
	{"expire", NULL, expire_operate, 1},
	{"mixed", NULL, mixed_operate, 1},
	{"drain", NULL, drain_operate, 1},
	{"larger", NULL, larger_operate, 1},
	{"back", NULL, evict_operate, 1},
	{"shrink", shrink_begin, evict_operate, 1},
	{"grow", grow_begin, evict_operate, 1},
	{"shrink_mixed", shrink_begin, mixed_operate, 1},
	{"grow_mixed", grow_begin, mixed_operate, 1},
	{"flushed", flushed_begin, evict_operate, 1},
	{"flush", NULL, flush_operate, 1},
	{"large", NULL, large_operate, 1},
	{"after", large_end, evict_operate, 1},
};
#define PHASES (sizeof phases / sizeof *phases)

static struct times times[PHASES];
static uint64_t switches, faults;

/* ---- turns ---- */

static void
keep_jobs(struct turn_jobs *least, bool first)
{
	for (uint32_t j = 0; j < TURN_JOBS; j++)
		if (first || turn_jobs.ns[j] < least->ns[j])
			least->ns[j] = turn_jobs.ns[j];
	memcpy(least->calls, turn_jobs.calls, sizeof least->calls);
}

static void
keep(struct times *t, uint32_t turn, uint64_t all_ns, uint64_t upkeep_ns, bool first)
{
	const uint32_t all = all_ns < UINT32_MAX ? (uint32_t)all_ns : UINT32_MAX;
	const uint32_t upkeep = upkeep_ns < UINT32_MAX ? (uint32_t)upkeep_ns : UINT32_MAX;

	ensure(turn < t->room);
	if (t->jobs != NULL)
		keep_jobs(&t->jobs[turn], first);
	if (first) {
		t->first[turn] = t->least[turn] = all;
		t->least_upkeep[turn] = upkeep;
		t->count = turn + 1;
		return;
	}
	ensure(turn < t->count);
	if (all < t->least[turn])
		t->least[turn] = all;
	if (upkeep < t->least_upkeep[turn])
		t->least_upkeep[turn] = upkeep;
}

/* Runs a turn. Returns the nanoseconds of its upkeep. */
static uint64_t
turn(struct bench *b, const struct phase *p, uint32_t n)
{
	const uint64_t from = turn_clock();
	uint64_t upkeep, last;

	turn_jobs_begin();
	store_turn(b->sc, STORE_CLOCK_START + (uint32_t)(b->turns / TURNS_A_SECOND));
	upkeep = turn_clock() - from;
	p->operate(b, n);
	if (++b->turns % HOUSEKEEPING_EVERY != 0)
		return upkeep;
	last = turn_clock();
	store_housekeeping(b->sc);
	return upkeep + (turn_clock() - last);
}

static bool
phase_goes_on(const struct bench *b, const struct phase *p, const struct times *t, uint32_t n)
{
	if (n == t->room)
		return false;
	if (b->run != 0)
		return n < t->count;
	return p->parts != 0 ? n < p->parts * b->phase_turns
			     : n < b->phase_turns || !rebalance_pool_is_low(b->own.store);
}

static uint64_t
evicted_for_slots(const struct bench *b)
{
	return own_counted(&b->own, STORE_EVICTED_INDEX_FULL) +
	       own_counted(&b->own, STORE_INDEX_EVICTED);
}

static void
run_phase(struct bench *b, const struct phase *p, struct times *t)
{
	struct rusage before, after;

	t->sets = b->keys;
	t->crowded = evicted_for_slots(b);
	getrusage(RUSAGE_THREAD, &before);
	if (p->begin != NULL)
		p->begin(b);
	for (uint32_t n = 0; phase_goes_on(b, p, t, n); n++) {
		const uint64_t from = turn_clock();
		const uint64_t upkeep = turn(b, p, n);

		keep(t, n, turn_clock() - from, upkeep, b->run == 0);
	}
	getrusage(RUSAGE_THREAD, &after);
	t->sets = b->keys - t->sets;
	t->crowded = evicted_for_slots(b) - t->crowded;
	switches += (uint64_t)(after.ru_nivcsw - before.ru_nivcsw);
	faults += (uint64_t)(after.ru_minflt - before.ru_minflt);
}

/* Returns a sum that would differ if one run differed from another. */
static uint64_t
fingerprint(const struct bench *b)
{
	uint64_t sum = b->keys;

	for (uint32_t i = 0; i < STORE_COUNTER_COUNT; i++)
		sum = bench_mix(sum + own_counted(&b->own, i));
	return sum;
}

static uint64_t
run(struct bench *b, uint32_t number)
{
	uint64_t print;

	own_create(&b->own, b->memory_bytes, 1);
	for (size_t i = 0; i < b->own.bytes; i += 4096) /* no page fault later */
		((volatile uint8_t *)b->own.memory)[i] = ((volatile uint8_t *)b->own.memory)[i];
	b->sc = store_core_of(b->own.store, 0);
	b->random = 1;
	b->keys = b->turns = 0;
	b->large = (struct fill){.item = NULL};
	b->run = number;
	for (uint32_t i = 0; i < PHASES; i++) {
		run_phase(b, &phases[i], &times[i]);
		bench_progress("turns", number * PHASES + i, b->runs * PHASES);
	}
	print = fingerprint(b);
	own_destroy(&b->own);
	return print;
}

/* ---- report ---- */

static int
compare(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t
over(const uint32_t *ns, uint32_t count, uint32_t limit)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		n += ns[i] > limit;
	return n;
}

/* Prints what each job took of a turn. */
static void
print_turn_jobs(const struct turn_jobs *jobs)
{
	for (uint32_t j = 0; j < TURN_JOBS; j++)
		if (jobs->ns[j] > WORTH_NS)
			fprintf(stderr, "    %-12s %6.1f us in %u calls\n",
				turn_job_name((enum turn_job)j), jobs->ns[j] / 1e3, jobs->calls[j]);
}

static void
print_worst(const struct phase *p, const struct times *t, uint32_t worst)
{
	uint32_t below = UINT32_MAX;

	for (uint32_t w = 0; w < worst; w++) {
		uint32_t at = UINT32_MAX;

		for (uint32_t i = 0; i < t->count; i++)
			if (t->least[i] < below && (at == UINT32_MAX || t->least[i] > t->least[at]))
				at = i;
		if (at == UINT32_MAX)
			return;
		fprintf(stderr, "%s turn %u%s: %.1f us, %.1f of upkeep\n", p->name, at,
			(at + 1) % HOUSEKEEPING_EVERY == 0 ? "?" : "", t->least[at] / 1e3,
			t->least_upkeep[at] / 1e3);
		if (t->jobs != NULL)
			print_turn_jobs(&t->jobs[at]);
		below = t->least[at];
	}
}

/* Prints the jobs that took most of the turns above LONG_NS, and the longest time of each. */
static void
print_jobs(const struct phase *p, const struct times *t)
{
	uint32_t most[TURN_JOBS] = {0}, calls[TURN_JOBS] = {0}, longest[TURN_JOBS] = {0};

	for (uint32_t i = 0; i < t->count; i++) {
		uint32_t of = 0;

		for (uint32_t j = 0; j < TURN_JOBS; j++) {
			const uint32_t ns = t->jobs[i].ns[j];

			of = ns > t->jobs[i].ns[of] ? j : of;
			if (ns > most[j]) {
				most[j] = ns;
				calls[j] = t->jobs[i].calls[j];
			}
		}
		longest[of] += t->least[i] > LONG_NS;
	}
	for (uint32_t j = 0; j < TURN_JOBS; j++)
		if (most[j] > WORTH_NS)
			fprintf(stderr,
				"%-12s %-12s most %6.1f us in %3u calls; most of %5u turns above "
				"%u us\n",
				p->name, turn_job_name((enum turn_job)j), most[j] / 1e3, calls[j],
				longest[j], LONG_NS / 1000);
}

static double
percentile(const uint32_t *sorted, uint32_t count, uint32_t of_10000)
{
	return sorted[(uint64_t)(count - 1) * of_10000 / 10000] / 1e3;
}

static void
say(const char *name, struct times *t)
{
	const uint64_t raw = over(t->first, t->count, TOO_LONG_NS);
	const uint64_t ours = over(t->least, t->count, TOO_LONG_NS);
	const uint64_t ours_50 = over(t->least, t->count, LONG_NS);
	const uint64_t raw_50 = over(t->first, t->count, LONG_NS);

	qsort(t->least, t->count, sizeof *t->least, compare);
	qsort(t->least_upkeep, t->count, sizeof *t->least_upkeep, compare);
	qsort(t->first, t->count, sizeof *t->first, compare);
	printf("{\"part\": \"turns\", \"phase\": \"%s\", \"turns\": %u, \"sets\": %llu, "
	       "\"evicted_for_slots\": %llu, "
	       "\"p50_us\": %.1f, "
	       "\"p99_us\": %.1f, \"p9999_us\": %.1f, \"max_us\": %.1f, \"over_50us_ours\": %llu, "
	       "\"over_100us_ours\": %llu, \"upkeep_p9999_us\": %.1f, \"upkeep_max_us\": %.1f, "
	       "\"one_run_p9999_us\": %.1f, \"one_run_max_us\": %.1f, \"over_50us_one_run\": %llu, "
	       "\"over_100us_one_run\": %llu}\n",
	       name, t->count, (unsigned long long)t->sets, (unsigned long long)t->crowded,
	       percentile(t->least, t->count, 5000), percentile(t->least, t->count, 9900),
	       percentile(t->least, t->count, 9999), percentile(t->least, t->count, 10000),
	       (unsigned long long)ours_50, (unsigned long long)ours,
	       percentile(t->least_upkeep, t->count, 9999),
	       percentile(t->least_upkeep, t->count, 10000), percentile(t->first, t->count, 9999),
	       percentile(t->first, t->count, 10000), (unsigned long long)raw_50,
	       (unsigned long long)raw);
}

static struct times
times_of(uint32_t room, bool jobs)
{
	struct times t = {.room = room};

	if (jobs) {
		t.jobs = malloc(room * sizeof *t.jobs);
		ensure(t.jobs != NULL);
		memset(t.jobs, 1, room * sizeof *t.jobs);
	}

	t.least = calloc(room, sizeof *t.least);
	t.least_upkeep = calloc(room, sizeof *t.least_upkeep);
	t.first = calloc(room, sizeof *t.first);
	ensure(t.least != NULL && t.least_upkeep != NULL && t.first != NULL);
	/* Written, so that no page fault is measured. */
	memset(t.least, 1, room * sizeof *t.least);
	memset(t.least_upkeep, 1, room * sizeof *t.least);
	memset(t.first, 1, room * sizeof *t.first);
	return t;
}

int
main(int argc, char **argv)
{
	static struct bench b = {.phase_turns = 20000, .runs = 5};
	uint32_t mebibytes = 64, worst = 0, room = 0;
	uint64_t print = 0;

	const struct bench_option known[] = {BENCH_NUMBER("memory", &mebibytes, 8, 65536),
					     BENCH_NUMBER("runs", &b.runs, 1, RUNS_MAX),
					     BENCH_NUMBER("turns", &b.phase_turns, 100, 10000000),
					     BENCH_NUMBER("worst", &worst, 0, 1000),
					     BENCH_FLAG("jobs", &turn_jobs_on),
					     {0}};

	bench_options(argc, argv, known);
	b.memory_bytes = mebibytes * BENCH_MIB;
	room = b.phase_turns + (uint32_t)(b.memory_bytes / OPERATIONS / 32);
	for (uint32_t i = 0; i < PHASES; i++)
		times[i] = times_of(room, turn_jobs_on);
	for (uint32_t i = 0; i < b.runs; i++) {
		const uint64_t this_print = run(&b, i);

		ensure(i == 0 || this_print == print);
		print = this_print;
	}
	for (uint32_t i = 0; i < PHASES; i++) {
		print_worst(&phases[i], &times[i], worst);
		if (turn_jobs_on)
			print_jobs(&phases[i], &times[i]);
		say(phases[i].name, &times[i]);
	}
	printf("{\"part\": \"turns\", \"phase\": \"host\", \"switches\": %llu, \"faults\": %llu}\n",
	       (unsigned long long)switches, (unsigned long long)faults);
	return 0;
}
