/*
 * figures_of_filling.c - MemC3's table 2 (space, construction rate, longest bucket) and figure 4
 * (cost of an insert by load): one, two, three paths, and clockoo's store.
 *
 * Tables take turns, step by step of their load. Chaining has the number of buckets that gives
 * its index about the same size, as in the paper.
 */
#include "memc3_figures.h"

#include "paper_table.h"

#include "base/check.h"

#include <string.h>

#define PER_MILLE      1000u
#define CHAINING_SHARE 750u /* of the slots: its index then takes 10 bytes a slot, cuckoo's 9 */
#define CHECK_EVERY    4096u
#define INSERTS        32u /* in one call, if a series supports that */

/* Ends of steps, per mille of what a table can hold at most. */
static const uint32_t steps[] = {100, 200, 300, 400, 500, 600, 700, 750, 800, 850,
				 900, 920, 940, 950, 960, 970, 980, 990, 1000};
#define STEPS (sizeof steps / sizeof *steps)

static const struct table_series series[] = {
	{"chaining", &table_chaining_mutex, chaining_words_alone, NULL},
	{"cuckoo, 1 path", &table_cuckoo_one, tagged_alone, NULL},
	{"cuckoo, 2 paths", &table_cuckoo_two, tagged_alone, NULL},
	{"cuckoo, 3 paths", &table_cuckoo_three, tagged_alone, NULL},
	{"ours", &table_own, own_single, NULL},
	{"ours, batches", &table_own, own_single, own_insert_many},
};
#define SERIES (sizeof series / sizeof *series)

/* The figures of one series over all rounds. */
struct filling {
	const struct table_series *series;
	void *table;
	uint64_t limit, inserted;
	double seconds;
	bool full;
	struct table_state state;
	struct paper_rounds rate, ns[STEPS];
	double moves[STEPS]; /* for each insert */
};

static void
begin(struct filling *f, const struct table_series *s, uint64_t slots)
{
	const struct table_need need = {.keys = slots,
					.in_table = slots * CHAINING_SHARE / PER_MILLE,
					.slots = slots,
					.threads = 1};

	f->series = s;
	f->table = s->kind->create(&need);
	f->state = s->kind->state(f->table, 0);
	f->limit = f->state.slots != 0 ? f->state.slots : need.in_table;
	f->limit = f->limit < slots ? f->limit : slots;
	f->inserted = 0;
	f->seconds = 0;
	f->full = false;
	if (s->kind->join != NULL)
		s->kind->join(f->table, 0);
}

static void
insert_some(struct filling *f, uint64_t most)
{
	const uint32_t count = most < INSERTS ? (uint32_t)most : INSERTS;

	if (f->series->inserts != NULL) {
		f->full = !f->series->inserts(f->table, 0, f->inserted, count);
		f->inserted += count;
	} else {
		f->full = !f->series->kind->insert(f->table, 0, f->inserted);
		f->inserted += !f->full;
	}
}

static void
fill_step(struct filling *f, uint32_t step)
{
	const uint64_t until = f->limit * steps[step] / PER_MILLE, from = f->inserted;
	const uint64_t moves = f->state.moves, start = bench_ns();

	while (f->inserted < until && !f->full)
		insert_some(f, until - f->inserted);

	const double ns = (double)(bench_ns() - start);

	f->seconds += ns / 1e9;
	if (f->inserted - from < f->limit / PER_MILLE / 2)
		return; /* a step that has hardly begun has no meaningful figure */
	f->state = f->series->kind->state(f->table, f->inserted);
	paper_rounds_add(&f->ns[step], ns / (double)(f->inserted - from));
	f->moves[step] = (double)(f->state.moves - moves) / (double)(f->inserted - from);
}

/* Checks that every key is present with its value. */
static void
check_all(const struct filling *f)
{
	static struct bench_key keys[CHECK_EVERY];
	static uint64_t found[CHECK_EVERY];

	for (uint64_t at = 0; at < f->inserted; at += CHECK_EVERY) {
		const uint64_t left = f->inserted - at;
		const uint32_t count = left < CHECK_EVERY ? (uint32_t)left : CHECK_EVERY;

		for (uint32_t i = 0; i < count; i++)
			keys[i] = bench_key_of(at + i);
		f->series->lookup(f->table, 0, keys, count, found);
		/* An item that clockoo's store evicts for the last key may be missing. */
		for (uint32_t i = 0; i < count; i++)
			ensure(found[i] == at + i || (f->full && f->series->kind == &table_own));
	}
}

static void
end(struct filling *f)
{
	check_all(f);
	f->state = f->series->kind->state(f->table, f->inserted);
	paper_rounds_add(&f->rate, (double)f->inserted / f->seconds / 1e6);
	if (f->series->kind->leave != NULL)
		f->series->kind->leave(f->table, 0);
	f->series->kind->destroy(f->table);
}

static void
print_table2(const struct filling *f)
{
	struct paper_row row = {.part = "memc3",
				.figure = "table2",
				.series = f->series->name,
				.label = "bytes_per_key",
				.unit = "bytes",
				.keys = f->inserted};

	paper_count(&row, (double)f->state.bytes / (double)f->inserted);
	row.label = "largest_bucket";
	row.unit = "items";
	paper_count(&row, f->state.longest);
	if (f->state.slots != 0) {
		row.label = "load";
		row.unit = "share";
		paper_count(&row, (double)f->inserted / (double)f->state.slots);
	}
	row.label = "rate";
	row.unit = "Mops";
	paper_time(&row, &f->rate);
}

static void
print_figure4(const struct filling *f)
{
	for (uint32_t i = 0; i < STEPS; i++) {
		struct paper_row row = {.part = "memc3",
					.figure = "fig4",
					.series = f->series->name,
					.unit = "ns",
					.x = steps[i] / (double)PER_MILLE,
					.keys = f->limit};

		if (f->ns[i].count == 0 || f->state.slots == 0)
			continue;
		paper_time(&row, &f->ns[i]);
		row.figure = "fig4_moves";
		row.unit = "moves";
		paper_count(&row, f->moves[i]);
	}
}

void
figures_of_filling(const struct paper_options *o)
{
	static struct filling f[SERIES];
	const uint64_t slots = 1ull << paper_sized(o, 12, 19, 24);
	const uint32_t rounds = paper_sized(o, 1, 3, 5);

	if (!paper_wants(o, "table2") && !paper_wants(o, "fig4"))
		return;
	memset(f, 0, sizeof f);
	for (uint32_t round = 0; round < rounds; round++) {
		for (uint32_t i = 0; i < SERIES; i++)
			begin(&f[i], &series[i], slots);
		for (uint32_t step = 0; step < STEPS; step++)
			for (uint32_t i = 0; i < SERIES; i++)
				fill_step(&f[i], step);
		for (uint32_t i = 0; i < SERIES; i++)
			end(&f[i]);
		bench_progress("filling", round + 1, rounds);
	}
	for (uint32_t i = 0; i < SERIES && paper_wants(o, "table2"); i++)
		print_table2(&f[i]);
	for (uint32_t i = 0; i < SERIES && paper_wants(o, "fig4"); i++)
		print_figure4(&f[i]);
}
