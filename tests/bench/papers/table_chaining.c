/*
 * table_chaining.c - chaining as a table of MemC3's section 5.2: without a lock, with a global
 * one, or with one for each bucket; keys are compared by memcmp or as integers.
 */
#include "chain_index.h"
#include "paper_table.h"

enum chaining_lock { LOCK_NONE, LOCK_MUTEX, LOCK_SPIN, LOCK_STRIPES };

struct chaining {
	struct chain_index *ix;
	struct item_places items;
	enum chaining_lock lock; /* for inserts and removals */
};

static void *
create(const struct table_need *need, bool huge, enum chaining_lock lock)
{
	struct chaining *t = calloc(1, sizeof *t);

	ensure(t != NULL);
	t->ix = chain_create(need->in_table, huge);
	t->lock = lock;
	item_places_map(&t->items, (uint32_t)need->keys, sizeof(chain_link), sizeof(uint64_t),
			huge);
	for (uint32_t i = 0; i < need->keys; i++) {
		const struct bench_key k = bench_key_of(i);
		const uint64_t value = i;

		item_write(paper_item_at(&t->items, i), &k, &value, 1);
	}
	return t;
}

static void *
create_small(const struct table_need *need)
{
	return create(need, false, LOCK_MUTEX);
}

static void *
create_mutex(const struct table_need *need)
{
	return create(need, true, LOCK_MUTEX);
}

static void *
create_striped(const struct table_need *need)
{
	return create(need, true, LOCK_STRIPES);
}

static void
destroy(void *table)
{
	struct chaining *t = table;

	item_places_unmap(&t->items);
	chain_destroy(t->ix);
	free(t);
}

static inline void
take(struct chain_index *ix, uint64_t hash, enum chaining_lock lock)
{
	if (lock == LOCK_MUTEX)
		pthread_mutex_lock(&ix->global);
	else if (lock == LOCK_SPIN)
		spin_take(&ix->global_spin);
	else if (lock == LOCK_STRIPES)
		spin_take(chain_stripe(ix, hash));
}

static inline void
give(struct chain_index *ix, uint64_t hash, enum chaining_lock lock)
{
	if (lock == LOCK_MUTEX)
		pthread_mutex_unlock(&ix->global);
	else if (lock == LOCK_SPIN)
		spin_give(&ix->global_spin);
	else if (lock == LOCK_STRIPES)
		spin_give(chain_stripe(ix, hash));
}

/* Inserts a key, by one thread and without a lock. */
static bool
insert(void *table, uint32_t thread, uint64_t number)
{
	struct chaining *t = table;
	struct paper_item *it = paper_item_at(&t->items, (uint32_t)number);
	const struct bench_key k = item_read_key(it);

	chain_insert(t->ix, it, paper_hash(&k));
	return true;
}

static void
set(void *table, uint32_t thread, uint64_t number)
{
	struct chaining *t = table;
	struct paper_item *it = paper_item_at(&t->items, (uint32_t)number);
	const struct bench_key k = bench_key_of(number);
	const uint64_t hash = paper_hash(&k);

	take(t->ix, hash, t->lock);
	ensure(chain_find(t->ix, &k, hash, true) == NULL);
	item_write(it, &k, &number, 1);
	chain_insert(t->ix, it, hash);
	give(t->ix, hash, t->lock);
}

static void
erase(void *table, uint32_t thread, uint64_t number)
{
	struct chaining *t = table;
	struct paper_item *it = paper_item_at(&t->items, (uint32_t)number);
	const struct bench_key k = item_read_key(it);
	const uint64_t hash = paper_hash(&k);

	take(t->ix, hash, t->lock);
	chain_remove(t->ix, it, hash);
	give(t->ix, hash, t->lock);
}

static struct table_state
state(const void *table, uint64_t items)
{
	const struct chaining *t = table;

	return (struct table_state){.bytes = chain_bytes(t->ix) + items * sizeof(chain_link),
				    .longest = chain_longest(t->ix)};
}

static inline __attribute__((always_inline)) void
lookup(void *table, const struct bench_key *keys, uint32_t count, uint64_t *found,
       enum chaining_lock lock, bool words)
{
	struct chaining *t = table;

	for (uint32_t i = 0; i < count; i++) {
		const uint64_t hash = paper_hash(&keys[i]);

		take(t->ix, hash, lock);

		const struct paper_item *it = chain_find(t->ix, &keys[i], hash, words);

		found[i] = PAPER_ABSENT;
		if (it != NULL)
			item_read_value(it, &found[i], 1);
		give(t->ix, hash, lock);
	}
}

#define CHAINING_LOOKUP(name, lock, words)                                                         \
	void name(void *table, uint32_t thread, const struct bench_key *keys, uint32_t count,      \
		  uint64_t *found)                                                                 \
	{                                                                                          \
		lookup(table, keys, count, found, lock, words);                                    \
	}

CHAINING_LOOKUP(chaining_bytes_alone, LOCK_NONE, false)
CHAINING_LOOKUP(chaining_words_alone, LOCK_NONE, true)
CHAINING_LOOKUP(chaining_bytes_mutex, LOCK_MUTEX, false)
CHAINING_LOOKUP(chaining_words_mutex, LOCK_MUTEX, true)
CHAINING_LOOKUP(chaining_words_spin, LOCK_SPIN, true)
CHAINING_LOOKUP(chaining_words_striped, LOCK_STRIPES, true)

const struct table_kind table_chaining_small = {create_small, destroy, insert, set,
						erase,        state,   NULL,   NULL};
const struct table_kind table_chaining_mutex = {create_mutex, destroy, insert, set,
						erase,        state,   NULL,   NULL};
const struct table_kind table_chaining_striped = {create_striped, destroy, insert, set,
						  erase,          state,   NULL,   NULL};
