/*
 * contender.h - a table under test: ours or one that a user could link instead.
 *
 * Every table maps the same 16-byte keys to the same items, gets the same hash (XXH3, seeded,
 * inlined), keeps whole keys and compares them, and lies in huge pages. Tables that hold their
 * keys themselves do so, which spares them the way to the item.
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

/* What tables that hold pointers point at; value[0] is the item's number. */
struct bench_item {
	struct bench_key key;
	uint64_t value[BENCH_VALUE_BYTES / sizeof(uint64_t)];
};

struct lookup_batch {
	const struct bench_key *keys;
	uint32_t count;
	bool touch; /* read the value's first word too */
	uint32_t hits;
	uint64_t sum; /* of what was read */
};

struct contender {
	const char *name;
	bool baseline; /* no table for several threads: not one of those to beat, but to keep up
			  with */
	/* False: not possible here; say why on stderr. NULL: the table before it in the list,
	 * asked in another way. */
	bool (*create)(struct bench_item *items, uint32_t count);
	void (*insert)(struct bench_item *item);
	/* What the table does by itself within minutes after the last insert; may be NULL. */
	void (*settle)(void);
	void (*join)(uint32_t thread); /* may be NULL, as may leave */
	void (*leave)(uint32_t thread);
	void (*lookup)(uint32_t thread, struct lookup_batch *l);
};

extern const struct contender contend_own, contend_own_many;
extern const struct contender contend_rte_bulk, contend_rte_single;
extern const struct contender contend_urcu;
extern const struct contender contend_tbb, contend_boost, contend_libcuckoo;

/* Keys that ours has on the way at once. */
extern uint32_t own_depth;

#ifdef __cplusplus
}
#endif

#endif
