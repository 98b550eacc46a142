/*
 * Goal: a lookup of the optimistic tables, the caches on them and the bags is right for any write
 * between two of its steps. Method: the gaps between the steps (store/gap.h) call the writer
 * here, in the same thread, so that each interleaving occurs.
 */
#include "paper_cache.h"
#include "paper_table.h"
#include "support/test.h"

#include "base/check.h"
#include "base/gap.h"

#define SLOTS  256u
#define STABLE 210u
#define COMING 28u
#define TRIES  2000u
#define PLACES 8u /* items that a cache has room for */
#define GAPS   4u /* most gaps in one get */

static struct {
	void (*writer)(void);
	uint32_t left; /* gaps before the writer runs; 0: it has run, or must not run */
	void *subject;
	const struct cache_kind *kind;
	uint64_t next;
} gap;

void
stress_gap(void)
{
	if (gap.left != 0 && --gap.left == 0)
		gap.writer();
}

static void
put_some(void)
{
	for (uint32_t i = 0; i < COMING; i++)
		table_cuckoo_tagged.set(gap.subject, 0, STABLE + i);
}

TEST(a_key_that_moves_between_two_looks_is_found)
{
	const struct table_need need = {.keys = SLOTS, .in_table = SLOTS, .slots = SLOTS};
	uint64_t random = 1;

	gap.subject = table_cuckoo_tagged.create(&need);
	gap.writer = put_some;
	for (uint64_t n = 0; n < STABLE; n++)
		check(table_cuckoo_tagged.insert(gap.subject, 0, n));
	for (uint32_t i = 0; i < TRIES; i++) {
		const uint32_t number = bench_below(&random, STABLE);
		const struct bench_key key = bench_key_of(number);
		uint64_t found;

		gap.left = 1;
		tagged_optimistic(gap.subject, 0, &key, 1, &found);
		check_eq(found, number);
		for (uint32_t c = 0; c < COMING && gap.left == 0; c++)
			table_cuckoo_tagged.remove(gap.subject, 0, STABLE + c);
	}
	table_cuckoo_tagged.destroy(gap.subject);
}

static void
set(uint64_t number)
{
	const struct bench_key key = bench_key_of(number);
	struct paper_value value;

	paper_value_of(&value, number, BENCH_VALUE_BYTES);
	gap.kind->set(gap.subject, 0, &key, &value);
}

/* Sets other keys until they have taken all places. */
static void
set_others(void)
{
	for (uint32_t i = 0; i < 3 * PLACES; i++)
		set(gap.next++);
}

TEST(an_item_that_leaves_under_a_reader_is_missed_or_right)
{
	static const struct {
		const struct cache_kind *kind;
		uint32_t item_bytes;
	} rows[] = {{&cache_cuckoo_lru, 104}, {&cache_cuckoo_clock, 80}, {&cache_bags, 112}};

	for (uint32_t i = 0; i < 3 * GAPS; i++) {
		const struct cache_need need = {.memory_bytes = PLACES * rows[i / GAPS].item_bytes,
						.value_bytes = BENCH_VALUE_BYTES,
						.threads = 1};
		const struct bench_key key = bench_key_of(0);
		struct paper_value value;
		bool hit;

		gap.kind = rows[i / GAPS].kind;
		gap.subject = gap.kind->create(&need);
		gap.writer = set_others;
		gap.next = 1;
		gap.left = 0;
		set(0);
		gap.left = 1 + i % GAPS;
		gap.kind->get(gap.subject, 0, &key, 1, &value, &hit);
		check(!hit || paper_value_is(&value, 0, BENCH_VALUE_BYTES));
		gap.left = 0;
		gap.kind->destroy(gap.subject);
	}
}
