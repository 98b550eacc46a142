/*
 * paper_table.h - a hash table of MemC3's section 5.2: a baseline, or clockoo's store.
 *
 * Shape:  key n is bench_key_of(n), its value's first word n. A series uses a table in one way;
 *         several may use one table. An insert of the baselines links an existing item, as in the
 *         paper's construction; a set looks the key up and writes the item first, as a server
 *         does. In clockoo's store both are whole sets.
 * Owner:  create allocates for keys 0 .. keys - 1, of which at most in_table are in it at once.
 * Thread: create, destroy: one thread. The others: any number of threads that the table allows,
 *         between join and leave, each with a number of its own.
 */
#ifndef CLOCKOO_PAPER_TABLE_H
#define CLOCKOO_PAPER_TABLE_H

#include "bench_load.h"
#include "paper_crew.h"

#define PAPER_ABSENT UINT64_MAX

struct table_need {
	uint64_t keys, in_table, slots; /* slots: for tables with slots */
	uint32_t threads;
};

/* The memory of a table, and its work so far. */
struct table_state {
	uint64_t bytes;   /* of the index, with the links in items */
	uint64_t slots;   /* 0: the table has none */
	uint64_t moves;   /* so far */
	uint32_t longest; /* most items that a lookup has to examine */
};

struct table_kind {
	void *(*create)(const struct table_need *need);
	void (*destroy)(void *table);
	/* False: the table is full. */
	bool (*insert)(void *table, uint32_t thread, uint64_t number);
	void (*set)(void *table, uint32_t thread, uint64_t number);
	void (*remove)(void *table, uint32_t thread, uint64_t number);
	struct table_state (*state)(const void *table, uint64_t items);
	void (*join)(void *table, uint32_t thread); /* may be NULL, as may leave */
	void (*leave)(void *table, uint32_t thread);
};

/* Looks keys up. found[i] is the value's first word, or PAPER_ABSENT. */
typedef void table_lookup(void *table, uint32_t thread, const struct bench_key *keys,
			  uint32_t count, uint64_t *found);

/* Inserts count keys from first on, in one call. */
typedef bool table_inserts(void *table, uint32_t thread, uint64_t first, uint32_t count);

struct table_series {
	const char *name;
	const struct table_kind *kind;
	table_lookup *lookup;
	table_inserts *inserts; /* NULL: key by key */
};

/* The tables. chaining_small has pages of 4 KiB, all others huge ones. The last word of a name is
 * the lock of sets and removals, if there is one. */
extern const struct table_kind table_chaining_small, table_chaining_mutex, table_chaining_striped;
extern const struct table_kind table_cuckoo_plain, table_cuckoo_tagged;
extern const struct table_kind table_cuckoo_one, table_cuckoo_two, table_cuckoo_three;
extern const struct table_kind table_own;

table_lookup chaining_bytes_alone, chaining_words_alone;
table_lookup chaining_bytes_mutex, chaining_words_mutex, chaining_words_spin,
	chaining_words_striped;
table_lookup plain_alone, plain_striped;
table_lookup tagged_alone, tagged_striped, tagged_optimistic;
table_lookup own_single, own_many;
table_inserts own_insert_many;

#endif
