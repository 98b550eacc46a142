/*
 * figures_of_lookups.c - MemC3's figures 5a and 5b (the gain of each step from chaining to the
 * optimistic table), 6 (lookups by threads) and 7 (by the share of inserts), with clockoo's store
 * as the last series.
 *
 * Tables hold the same keys. In a round every series runs its blocks, one series after the other.
 * A block is drawn before its clock starts, and every answer is compared after it has stopped. A
 * block's inserts are removed before the next block.
 */
#include "memc3_figures.h"

#include "paper_crew.h"
#include "paper_table.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

#define PERCENT    100u
#define BLOCK      32768u
#define BATCH      128u
#define SERIES_MAX 12u
#define PRESENT    880u /* per mille of the slots that are filled before */
#define ROOM       40u  /* per mille that the inserts of a block may add */
#define PER_MILLE  1000u

static const struct table_series alone[] = {
	{"chaining", &table_chaining_small, chaining_bytes_alone, NULL},
	{"+hugepage", &table_chaining_mutex, chaining_bytes_alone, NULL},
	{"+int keycmp", &table_chaining_mutex, chaining_words_alone, NULL},
	{"cuckoo", &table_cuckoo_plain, plain_alone, NULL},
	{"+tag", &table_cuckoo_tagged, tagged_alone, NULL},
	{"ours", &table_own, own_single, NULL},
	{"ours, batches", &table_own, own_many, own_insert_many},
};

static const struct table_series together[] = {
	{"chaining+global lock", &table_chaining_small, chaining_bytes_mutex, NULL},
	{"+hugepage", &table_chaining_mutex, chaining_bytes_mutex, NULL},
	{"+int keycmp", &table_chaining_mutex, chaining_words_mutex, NULL},
	{"(a spin lock)", &table_chaining_mutex, chaining_words_spin, NULL},
	{"+bucket lock", &table_chaining_mutex, chaining_words_striped, NULL},
	{"cuckoo", &table_cuckoo_plain, plain_striped, NULL},
	{"+tag", &table_cuckoo_tagged, tagged_striped, NULL},
	{"+opt lock", &table_cuckoo_tagged, tagged_optimistic, NULL},
	{"ours", &table_own, own_single, NULL},
	{"ours, batches", &table_own, own_many, own_insert_many},
};

static const struct table_series mixed[] = {
	{"chaining+global lock", &table_chaining_small, chaining_bytes_mutex, NULL},
	{"chaining+bucket lock", &table_chaining_striped, chaining_words_striped, NULL},
	{"cuckoo+opt lock", &table_cuckoo_tagged, tagged_optimistic, NULL},
	{"ours", &table_own, own_single, NULL},
	{"ours, batches", &table_own, own_many, own_insert_many},
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* The operations of one thread in a block. */
struct lane {
	struct bench_key keys[BLOCK];
	uint64_t numbers[BLOCK], found[BLOCK];
	uint64_t random, next; /* next: number of the next key to insert */
	uint32_t lookups;
};

struct stand {
	const struct paper_options *options;
	const struct table_series *series;
	uint32_t count;
	void *table[SERIES_MAX];
	uint64_t present, room;
	uint32_t rounds, blocks, block;
	/* The current block. */
	uint32_t now, inserts; /* now: the series; inserts: in a hundred operations */
	bool misses;
	struct lane *lanes;
};

/* ---- the tables ---- */

static void
stand_fill(struct stand *s, uint32_t i)
{
	const struct table_kind *kind = s->series[i].kind;

	if (kind->join != NULL)
		kind->join(s->table[i], 0);
	for (uint64_t n = 0; n < s->present; n++) {
		ensure(kind->insert(s->table[i], 0, n));
		bench_progress(s->series[i].name, n, s->present);
	}
	if (kind->leave != NULL)
		kind->leave(s->table[i], 0);
}

static void
stand_open(struct stand *s, const struct paper_options *o, const struct table_series *series,
	   uint32_t count)
{
	const uint64_t slots = 1ull << paper_sized(o, 14, 20, 24);

	*s = (struct stand){.options = o,
			    .series = series,
			    .count = count,
			    .present = slots * PRESENT / PER_MILLE,
			    .room = slots * ROOM / PER_MILLE,
			    .rounds = paper_sized(o, 2, 5, 15),
			    .blocks = paper_sized(o, 1, 2, 8),
			    .lanes = calloc(CREW_MAX, sizeof *s->lanes)};
	ensure(s->lanes != NULL && count <= SERIES_MAX);
	s->block = s->room / CREW_MAX < BLOCK ? (uint32_t)s->room / CREW_MAX : BLOCK;
	s->block = s->block / BATCH * BATCH;
	if (s->block == 0)
		s->block = BATCH / 4;
	for (uint32_t i = 0; i < CREW_MAX; i++)
		s->lanes[i].random = bench_mix(o->seed + i + 1);

	const struct table_need need = {.keys = s->present + s->room,
					.in_table = s->present + s->room,
					.slots = slots,
					.threads = CREW_MAX};

	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && series[i].kind == series[i - 1].kind) {
			s->table[i] = s->table[i - 1];
			continue;
		}
		s->table[i] = series[i].kind->create(&need);
		stand_fill(s, i);
	}
}

static void
stand_close(struct stand *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (i == 0 || s->table[i] != s->table[i - 1])
			s->series[i].kind->destroy(s->table[i]);
	free(s->lanes);
}

/* ---- a block ---- */

static void
draw(struct stand *s, uint32_t thread)
{
	struct lane *l = &s->lanes[thread];
	const uint64_t first = s->misses ? s->present + s->room : 0;

	for (uint32_t i = 0; i < s->block; i++) {
		l->numbers[i] = first + bench_below(&l->random, (uint32_t)s->present);
		l->keys[i] = bench_key_of(l->numbers[i]);
	}
	l->next = s->present + s->room / CREW_MAX * thread;
	l->lookups = 0;
}

static void
work_batch(struct stand *s, uint32_t thread, uint32_t lookups, uint32_t inserts)
{
	const struct table_series *series = &s->series[s->now];
	struct lane *l = &s->lanes[thread];

	series->lookup(s->table[s->now], thread, &l->keys[l->lookups], lookups,
		       &l->found[l->lookups]);
	l->lookups += lookups;
	if (series->inserts != NULL) {
		ensure(series->inserts(s->table[s->now], thread, l->next, inserts));
		l->next += inserts;
		return;
	}
	for (uint32_t i = 0; i < inserts; i++)
		series->kind->set(s->table[s->now], thread, l->next++);
}

static void
work(void *arg, uint32_t thread)
{
	struct stand *s = arg;
	const struct table_kind *kind = s->series[s->now].kind;
	uint32_t rest = 0; /* hundredths of an insert */

	if (kind->join != NULL)
		kind->join(s->table[s->now], thread);
	for (uint32_t done = 0; done < s->block; done += BATCH) {
		const uint32_t count = s->block - done < BATCH ? s->block - done : BATCH;
		const uint32_t inserts = (rest + count * s->inserts) / PERCENT;

		rest = (rest + count * s->inserts) % PERCENT;
		work_batch(s, thread, count - inserts, inserts);
	}
	if (kind->leave != NULL)
		kind->leave(s->table[s->now], thread);
}

static void
check_and_remove(struct stand *s, uint32_t thread)
{
	const struct table_kind *kind = s->series[s->now].kind;
	struct lane *l = &s->lanes[thread];
	const uint64_t first = s->present + s->room / CREW_MAX * thread;

	for (uint32_t i = 0; i < l->lookups; i++)
		ensure(l->found[i] == (s->misses ? PAPER_ABSENT : l->numbers[i]));
	if (kind->join != NULL)
		kind->join(s->table[s->now], 0);
	for (uint64_t n = first; n < l->next; n++)
		kind->remove(s->table[s->now], 0, n);
	if (kind->leave != NULL)
		kind->leave(s->table[s->now], 0);
}

/* Returns million operations a second of all threads. */
static double
measure(struct stand *s, uint32_t series, uint32_t threads)
{
	double seconds = 0;

	s->now = series;
	for (uint32_t i = 0; i < s->blocks; i++) {
		for (uint32_t t = 0; t < threads; t++)
			draw(s, t);
		seconds += crew_run(threads, work, s);
		for (uint32_t t = 0; t < threads; t++)
			check_and_remove(s, t);
	}
	return (double)s->block * s->blocks * threads / seconds / 1e6;
}

static void
measure_all(struct stand *s, uint32_t threads, struct paper_rounds *rounds)
{
	memset(rounds, 0, s->count * sizeof *rounds);
	for (uint32_t round = 0; round < s->rounds; round++) {
		bench_progress("lookups", round, s->rounds);
		for (uint32_t i = 0; i < s->count; i++)
			paper_rounds_add(&rounds[i], measure(s, i, threads));
	}
}

/* ---- figures ---- */

static void
print_all(const struct stand *s, struct paper_row row, const struct paper_rounds *rounds)
{
	row.part = "memc3";
	row.unit = "Mops";
	row.keys = s->present;
	for (uint32_t i = 0; i < s->count; i++) {
		row.series = s->series[i].name;
		paper_time(&row, &rounds[i]);
	}
}

/* Prints the factor of clockoo's last series over the first baseline, round by round. */
static void
print_factor(const struct stand *s, const char *name, uint32_t series,
	     const struct paper_rounds *rounds)
{
	const struct paper_row row = {.part = "memc3",
				      .figure = "derived",
				      .series = s->series[series].name,
				      .label = name,
				      .unit = "times",
				      .keys = s->present};
	struct paper_rounds ratios = {0};

	for (uint32_t i = 0; i < rounds->count; i++)
		paper_rounds_add(&ratios, rounds[series].value[i] / rounds[0].value[i]);
	paper_time(&row, &ratios);
}

static void
figure5(const struct paper_options *o, const char *figure, const struct table_series *series,
	uint32_t count, uint32_t threads)
{
	static const char *const kinds[] = {"hit", "miss"}, *const factors[] = {"factor_hits",
										"factor_misses"};
	struct paper_rounds rounds[SERIES_MAX];
	struct stand s;

	if (!paper_wants(o, figure))
		return;
	stand_open(&s, o, series, count);
	for (uint32_t kind = 0; kind < COUNT(kinds); kind++) {
		const struct paper_row row = {.figure = figure, .label = kinds[kind]};

		s.misses = kind == 1;
		measure_all(&s, threads, rounds);
		print_all(&s, row, rounds);
		if (series != together)
			continue;
		print_factor(&s, factors[kind], count - 2, rounds);
		print_factor(&s, factors[kind], count - 1, rounds);
	}
	stand_close(&s);
}

static void
figure6(struct stand *s, uint32_t inserts, const char *figure)
{
	struct paper_rounds rounds[SERIES_MAX];

	s->inserts = inserts;
	for (uint32_t threads = 1; threads <= crew_cpus() && threads <= CREW_MAX; threads++) {
		const struct paper_row row = {.figure = figure, .x = threads};

		measure_all(s, threads, rounds);
		print_all(s, row, rounds);
	}
}

static void
figure7(struct stand *s)
{
	static const uint32_t shares[] = {0, 1, 5, 10, 20, 50, 100};
	const uint32_t cpus = crew_cpus();
	struct paper_rounds rounds[SERIES_MAX];

	for (uint32_t i = 0; i < COUNT(shares); i++) {
		const struct paper_row row = {.figure = "fig7", .x = shares[i]};

		s->inserts = shares[i];
		measure_all(s, cpus < CREW_MAX ? cpus : CREW_MAX, rounds);
		print_all(s, row, rounds);
	}
}

void
figures_of_lookups(const struct paper_options *o)
{
	const uint32_t cpus = crew_cpus();
	struct stand s;

	figure5(o, "fig5a", alone, COUNT(alone), 1);
	figure5(o, "fig5b", together, COUNT(together), cpus < CREW_MAX ? cpus : CREW_MAX);
	if (!paper_wants(o, "fig6") && !paper_wants(o, "fig7"))
		return;
	stand_open(&s, o, mixed, COUNT(mixed));
	if (paper_wants(o, "fig6")) {
		figure6(&s, 0, "fig6");
		figure6(&s, 10, "fig6_10_percent_inserts");
	}
	if (paper_wants(o, "fig7"))
		figure7(&s);
	stand_close(&s);
}
