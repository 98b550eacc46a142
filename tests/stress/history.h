/*
 * history.h - the calls of threads to a cache and the answers, with the times.
 *
 * Shape:  one struct call per request; the calls of one key, with the flushes and the steps of
 *         time that concern all keys, are that key's history.
 * Units:  invoked and returned are ticks of one counter all threads share, so no two are equal
 *         and a call that returned before another was invoked has the smaller tick. Seconds on
 *         the store's clock.
 * Bounds: a thread has one call at a time; HISTORY_THREADS_MAX threads.
 */
#ifndef CLOCKOO_HISTORY_H
#define CLOCKOO_HISTORY_H

#include "store/conditional.h"

#include <stdbool.h>
#include <stdio.h>

#define HISTORY_THREADS_MAX 17u /* sixteen callers, and one for the steps of time */
#define HISTORY_VALUE_MAX   96u /* of a value; it is also the store's limit */
#define HISTORY_ARGUMENT    80u /* bytes of a value in a call */
#define HISTORY_FOLDER      "CLOCKOO_HISTORIES"
#define HISTORY_KEPT_CALLS  200000u

/* Kinds of calls: the symbol and its name. */
#define CALLS(X)                                                                                   \
	X(CALL_GET, "get")                                                                         \
	X(CALL_TOUCH, "touch")                                                                     \
	X(CALL_SET, "set")                                                                         \
	X(CALL_ADD, "add")                                                                         \
	X(CALL_REPLACE, "replace")                                                                 \
	X(CALL_CAS, "cas")                                                                         \
	X(CALL_APPEND, "append")                                                                   \
	X(CALL_PREPEND, "prepend")                                                                 \
	X(CALL_INCR, "incr")                                                                       \
	X(CALL_DECR, "decr")                                                                       \
	X(CALL_COUNT, "count on, or begin at")                                                     \
	X(CALL_EXTEND, "append, or begin with")                                                    \
	X(CALL_LATE, "cas, stale if older")                                                        \
	X(CALL_DELETE, "delete")                                                                   \
	X(CALL_DELETE_CAS, "delete if cas")                                                        \
	X(CALL_STALE, "mark stale")                                                                \
	X(CALL_EMPTY, "drop the value")                                                            \
	X(CALL_WIN, "win")                                                                         \
	X(CALL_FLUSH, "flush")                                                                     \
	X(CALL_TIME, "time")

#define CALL_SYMBOL(symbol, words) symbol,
enum call_kind { CALLS(CALL_SYMBOL) CALL_KINDS };

struct call {
	uint64_t invoked, returned;
	enum call_kind kind;
	enum store_result result;
	uint32_t thread;
	uint32_t key;
	uint32_t now_s; /* on the calling core; CALL_TIME: on all cores from now on */

	/* arguments */
	uint64_t number;   /* cas to compare (mark stale: 0 is none), or delta */
	uint64_t initial;  /* of count */
	uint32_t flags;    /* of set, add, replace, cas, late, extend */
	uint32_t expiry_s; /* of these, touch, count and drop; of flush: when it is due */
	uint32_t len;
	char bytes[HISTORY_ARGUMENT];

	/* the answer, if OK */
	uint64_t got_number; /* the new number of incr, decr and count; else the item's cas */
	uint32_t got_flags;
	bool got_made; /* count: no number existed before; stale, empty: an item is left */
	bool got_stale;
	bool got_no_cas; /* got_number has no cas */
	bool got_won;    /* win: this call won */
	uint32_t got_expiry_s;
	bool got_expiry; /* the answer has an expiry, not in the past */
	uint32_t got_len;
	char got[HISTORY_VALUE_MAX];
};

/* True if the call's answer contains the fields of the item. */
bool call_tells_item(const struct call *call);

void call_print(FILE *to, const struct call *call);

/* Appends a judged history to this process's file in the folder that the environment variable
 * HISTORY_FOLDER names, for a judge that others wrote (conform/run_histories). A process keeps at
 * most HISTORY_KEPT_CALLS; without the variable it keeps none. */
void history_keep(const struct call *const *calls, uint32_t count, const char *verdict);

#endif
