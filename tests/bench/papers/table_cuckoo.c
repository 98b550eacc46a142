/*
 * table_cuckoo.c - cuckoo hashing as a table of MemC3's section 5.2: without tags, with tags,
 * with version counters instead of locks, and with one, two or three paths.
 */
#include "cuckoo_index.h"
#include "paper_table.h"

#define PATHS 2u /* the best number in the paper's table 2 */

struct cuckoo {
	struct cuckoo_index *ix;
	struct item_places items;
};

static void *
create(const struct table_need *need, bool tagged, enum cuckoo_guard guard, uint32_t paths)
{
	struct cuckoo *t = calloc(1, sizeof *t);

	ensure(t != NULL);
	t->ix = cuckoo_create(need->slots, tagged, guard, paths, true);
	item_places_map(&t->items, (uint32_t)need->keys, 0, sizeof(uint64_t), true);
	for (uint32_t i = 0; i < need->keys; i++) {
		const struct bench_key k = bench_key_of(i);
		const uint64_t value = i;

		item_write(paper_item_at(&t->items, i), &k, &value, 1);
	}
	return t;
}

static void
destroy(void *table)
{
	struct cuckoo *t = table;

	item_places_unmap(&t->items);
	cuckoo_destroy(t->ix);
	free(t);
}

/* Inserts a key, by one thread and without the writers' lock. */
static bool
insert(void *table, uint32_t thread, uint64_t number)
{
	struct cuckoo *t = table;

	return cuckoo_insert(t->ix, paper_item_at(&t->items, (uint32_t)number));
}

static void
set(void *table, uint32_t thread, uint64_t number)
{
	struct cuckoo *t = table;
	struct paper_item *it = paper_item_at(&t->items, (uint32_t)number);
	const struct bench_key k = bench_key_of(number);
	const struct cuckoo_key place = cuckoo_place(t->ix, &k, t->ix->tagged);

	cuckoo_prefetch(t->ix, &place, t->ix->tagged);
	spin_take(&t->ix->writer);
	ensure(cuckoo_find(t->ix, &place, &k, t->ix->tagged) == NULL);
	item_write(it, &k, &number, 1);
	ensure(cuckoo_insert(t->ix, it));
	spin_give(&t->ix->writer);
}

static void
erase(void *table, uint32_t thread, uint64_t number)
{
	struct cuckoo *t = table;

	spin_take(&t->ix->writer);
	cuckoo_replace(t->ix, paper_item_at(&t->items, (uint32_t)number), NULL);
	spin_give(&t->ix->writer);
}

static struct table_state
state(const void *table, uint64_t items)
{
	const struct cuckoo *t = table;

	return (struct table_state){.bytes = t->ix->bytes,
				    .slots = cuckoo_slots(t->ix),
				    .moves = t->ix->moves,
				    .longest = CUCKOO_SLOTS};
}

/* ---- lookups ---- */

static inline uint64_t
number_of(const struct paper_item *it)
{
	uint64_t number = PAPER_ABSENT;

	if (it != NULL)
		item_read_value(it, &number, 1);
	return number;
}

static inline uint64_t
number_under_stripes(struct cuckoo_index *ix, const struct cuckoo_key *place,
		     const struct bench_key *k, bool tagged)
{
	struct spin_word *first = spin_stripe(ix->stripes, place->first),
			 *second = spin_stripe(ix->stripes, place->second);

	spin_take_two(first, second);

	const uint64_t number = number_of(cuckoo_find(ix, place, k, tagged));

	spin_give_two(first, second);
	return number;
}

static inline uint64_t
number_by_version(struct cuckoo_index *ix, const struct cuckoo_key *place,
		  const struct bench_key *k)
{
	uint64_t number;
	uint32_t version;

	do {
		version = cuckoo_read_begin(ix, place);
		number = number_of(cuckoo_find(ix, place, k, true));
	} while (!cuckoo_read_same(ix, place, version));
	return number;
}

static inline __attribute__((always_inline)) void
lookup(void *table, const struct bench_key *keys, uint32_t count, uint64_t *found, bool tagged,
       enum cuckoo_guard guard)
{
	struct cuckoo_index *ix = ((struct cuckoo *)table)->ix;

	for (uint32_t i = 0; i < count; i++) {
		const struct cuckoo_key place = cuckoo_place(ix, &keys[i], tagged);

		cuckoo_prefetch(ix, &place, tagged);
		if (guard == CUCKOO_ALONE)
			found[i] = number_of(cuckoo_find(ix, &place, &keys[i], tagged));
		else if (guard == CUCKOO_BUCKETS)
			found[i] = number_under_stripes(ix, &place, &keys[i], tagged);
		else
			found[i] = number_by_version(ix, &place, &keys[i]);
	}
}

#define CUCKOO_LOOKUP(name, tagged, guard)                                                         \
	void name(void *table, uint32_t thread, const struct bench_key *keys, uint32_t count,      \
		  uint64_t *found)                                                                 \
	{                                                                                          \
		lookup(table, keys, count, found, tagged, guard);                                  \
	}

CUCKOO_LOOKUP(plain_alone, false, CUCKOO_ALONE)
CUCKOO_LOOKUP(plain_striped, false, CUCKOO_BUCKETS)
CUCKOO_LOOKUP(tagged_alone, true, CUCKOO_ALONE)
CUCKOO_LOOKUP(tagged_striped, true, CUCKOO_BUCKETS)
CUCKOO_LOOKUP(tagged_optimistic, true, CUCKOO_VERSIONS)

#define CUCKOO_TABLE(name, tagged, guard, paths)                                                   \
	static void *create_##name(const struct table_need *need)                                  \
	{                                                                                          \
		return create(need, tagged, guard, paths);                                         \
	}                                                                                          \
	const struct table_kind table_cuckoo_##name = {create_##name, destroy, insert, set,        \
						       erase,         state,   NULL,   NULL};

CUCKOO_TABLE(plain, false, CUCKOO_BUCKETS, PATHS)
CUCKOO_TABLE(tagged, true, CUCKOO_VERSIONS, PATHS)
CUCKOO_TABLE(one, true, CUCKOO_ALONE, 1)
CUCKOO_TABLE(two, true, CUCKOO_ALONE, 2)
CUCKOO_TABLE(three, true, CUCKOO_ALONE, 3)
