/*
 * Tests of the papers' tables. Goal: a baseline behaves as a map, also while it is filled to its
 * last slot and while others read. Method: random operations beside a plain array; two threads on
 * one table, with every value read made from its key.
 */
#include "paper_cache.h"
#include "paper_crew.h"
#include "paper_table.h"
#include "support/test.h"

#include "base/check.h"

#include <stdatomic.h>
#include <stdlib.h>

#define KEYS       3000u
#define SLOTS      4096u
#define OPERATIONS rounds(60000u, 6000u)

static const struct {
	const char *name;
	const struct table_kind *kind;
	table_lookup *lookups[6];
} tables[] = {
	{"chaining", &table_chaining_small, {chaining_bytes_alone, chaining_bytes_mutex}},
	{"chaining, huge",
	 &table_chaining_mutex,
	 {chaining_words_alone, chaining_words_mutex, chaining_words_spin, chaining_words_striped}},
	{"chaining, stripes", &table_chaining_striped, {chaining_words_striped}},
	{"cuckoo", &table_cuckoo_plain, {plain_alone, plain_striped}},
	{"tags", &table_cuckoo_tagged, {tagged_alone, tagged_striped, tagged_optimistic}},
	{"ours", &table_own, {own_single, own_many}},
};
#define TABLES (sizeof tables / sizeof *tables)

static const struct table_need need = {
	.keys = KEYS, .in_table = KEYS, .slots = SLOTS, .threads = 2};

static void
check_lookups(uint32_t t, void *table, const bool *there)
{
	static struct bench_key keys[KEYS];
	static uint64_t found[KEYS];

	for (uint32_t i = 0; i < KEYS; i++)
		keys[i] = bench_key_of(i);
	for (table_lookup *const *lookup = tables[t].lookups; *lookup != NULL; lookup++) {
		(*lookup)(table, 0, keys, KEYS, found);
		for (uint32_t i = 0; i < KEYS; i++)
			check_eq(found[i], there[i] ? i : PAPER_ABSENT);
	}
}

TEST(tables_hold_what_was_put_into_them_and_not_removed)
{
	for (uint32_t t = 0; t < TABLES; t++) {
		void *table = tables[t].kind->create(&need);
		bool there[KEYS] = {false};
		uint64_t random = t;

		for (uint32_t i = 0; i < OPERATIONS; i++) {
			const uint32_t n = bench_below(&random, KEYS);

			if (there[n])
				tables[t].kind->remove(table, 0, n);
			else
				tables[t].kind->set(table, 0, n);
			there[n] = !there[n];
		}
		check_lookups(t, table, there);
		tables[t].kind->destroy(table);
	}
}

TEST(a_cuckoo_table_is_filled_beyond_nine_tenths_and_loses_nothing)
{
	static const struct table_kind *const kinds[] = {&table_cuckoo_one, &table_cuckoo_two,
							 &table_cuckoo_three, &table_cuckoo_plain};
	const struct table_need all = {.keys = SLOTS, .in_table = SLOTS, .slots = SLOTS};

	for (uint32_t k = 0; k < 4; k++) {
		table_lookup *lookup = kinds[k] == &table_cuckoo_plain ? plain_alone : tagged_alone;
		void *table = kinds[k]->create(&all);
		uint64_t count = 0, found;

		while (count < SLOTS && kinds[k]->insert(table, 0, count))
			count++;
		check(count > SLOTS * 9 / 10 && count < SLOTS);
		for (uint64_t n = 0; n < SLOTS; n++) {
			const struct bench_key key = bench_key_of(n);

			lookup(table, 0, &key, 1, &found);
			check_eq(found, n < count ? n : PAPER_ABSENT);
		}
		kinds[k]->destroy(table);
	}
}

/* ---- a reader beside a writer ---- */

#define STABLE 3400u /* always present; 200 more are inserted and removed, and make these move */
#define COMING 200u
#define PASSES rounds(3000u, 300u)

struct race {
	void *table;
	const struct table_kind *kind;
	table_lookup *lookup;
	_Atomic bool done;
	_Atomic uint64_t wrong, reads;
};

static void
read_beside(struct race *r, uint32_t thread)
{
	struct bench_key keys[64];
	uint64_t found[64], random = 7;

	while (!atomic_load(&r->done) || r->reads == 0) {
		uint32_t numbers[64];

		for (uint32_t i = 0; i < 64; i++) {
			numbers[i] = bench_below(&random, STABLE);
			keys[i] = bench_key_of(numbers[i]);
		}
		r->lookup(r->table, thread, keys, 64, found);
		for (uint32_t i = 0; i < 64; i++)
			r->wrong += found[i] != numbers[i];
		r->reads += 64;
	}
}

static void
race_work(void *arg, uint32_t thread)
{
	struct race *r = arg;

	if (thread == 1) {
		read_beside(r, thread);
		return;
	}
	for (uint32_t pass = 0; pass < PASSES; pass++)
		for (uint32_t n = STABLE; n < STABLE + COMING; n++) {
			if (pass % 2 == 0)
				r->kind->set(r->table, 0, n);
			else
				r->kind->remove(r->table, 0, n);
		}
	atomic_store(&r->done, true);
}

TEST(a_lookup_finds_what_is_there_while_a_writer_moves_it)
{
	static const struct {
		const struct table_kind *kind;
		table_lookup *lookup;
	} rows[] = {
		{&table_chaining_striped, chaining_words_striped},
		{&table_cuckoo_plain, plain_striped},
		{&table_cuckoo_tagged, tagged_optimistic},
	};
	const struct table_need all = {.keys = SLOTS, .in_table = SLOTS, .slots = SLOTS};

	for (uint32_t i = 0; i < 3; i++) {
		struct race r = {.kind = rows[i].kind, .lookup = rows[i].lookup};

		r.table = r.kind->create(&all);
		for (uint32_t n = 0; n < STABLE; n++)
			check(r.kind->insert(r.table, 0, n));
		crew_run(2, race_work, &r);
		check_eq(r.wrong, 0);
		r.kind->destroy(r.table);
	}
}
