/*
 * contender.h - a table under test: clockoo's or one that a user could link instead.
 *
 * Every table maps the same 16-byte keys to the same items, uses the same hash (XXH3, seeded,
 * inlined), stores and compares whole keys, and lies in huge pages. Tables that can hold the keys
 * themselves do so, which saves the access to the item.
 *
 * Thread: create and insert by one thread; lookup by any number, each with its own number, after
 *         join and until leave.
 */
#ifndef CLOCKOO_CONTENDER_H
#define CLOCKOO_CONTENDER_H

#include "bench_load.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CONTENDER_THREADS_MAX 2u
#define CONTENDER_SEED        42u

/* The item that tables of pointers point to; value[0] is its number. */
struct bench_item {
	struct bench_key key;
	uint64_t value[BENCH_VALUE_BYTES / sizeof(uint64_t)];
};

struct lookup_batch {
	const struct bench_key *keys;
	uint32_t count;
	bool touch; /* also read the value's first word */
	uint32_t hits;
	uint64_t sum; /* sum of the words that were read */
};

struct contender {
	const char *name;
	bool baseline; /* not a table for several threads: a baseline to approach, not to beat */
	/* Creates the table. False: not possible here, with the reason on stderr. NULL: it is the
	 * previous table in the list, used in another way. */
	bool (*create)(struct bench_item *items, uint32_t count);
	void (*insert)(struct bench_item *item);
	/* Does the work that the table does by itself within minutes after the last insert; may
	 * be NULL. */
	void (*settle)(void);
	void (*join)(uint32_t thread); /* may be NULL, as may leave */
	void (*leave)(uint32_t thread);
	void (*lookup)(uint32_t thread, struct lookup_batch *l);
};

extern const struct contender contend_own;
extern const struct contender contend_rte_bulk, contend_rte_single;
extern const struct contender contend_urcu;
extern const struct contender contend_tbb, contend_boost, contend_libcuckoo;

/* Keys that clockoo's table has in flight at once. */
extern uint32_t own_depth;

#ifdef __cplusplus
}
#endif

#endif
