/*
 * store_calls.h - a batch of gets, and incr and decr, by the calls that lib/serve makes.
 *
 * Thread: the store core's own.
 */
#ifndef CLOCKOO_STORE_CALLS_H
#define CLOCKOO_STORE_CALLS_H

#include "store/conditional.h"

#define GETS_TOGETHER 32u

/* Gets any number of keys, a group at a time: all keys of a group take a step before any takes the
 * next. items[i] is NULL for a miss. */
static inline void
store_gets(struct store_core *sc, const struct view *keys, uint32_t count,
	   const struct item **items)
{
	for (uint32_t at = 0; at < count; at += GETS_TOGETHER) {
		const uint32_t n = count - at < GETS_TOGETHER ? count - at : GETS_TOGETHER;
		struct probe probes[GETS_TOGETHER];
		struct store_get_batch batch;

		for (uint32_t i = 0; i < n; i++)
			store_probe(sc, &probes[i], keys[at + i]);
		for (uint32_t i = 0; i < n; i++)
			store_probe_primary(sc, &probes[i]);
		for (uint32_t i = 0; i < n; i++)
			store_probe_alternate(sc, &probes[i]);
		batch = store_get_batch_begin(sc);
		for (uint32_t i = 0; i < n; i++)
			items[at + i] = store_get_in_batch(&batch, &probes[i], keys[at + i]);
	}
}

/* Adds delta to a number or subtracts it. *value is the new number. STORE_NOT_YET becomes
 * STORE_NO_MEMORY, since the caller does not wait. */
static inline enum store_result
store_count(struct store_core *sc, struct view key, uint64_t hash, uint64_t delta, bool decr,
	    uint64_t *value)
{
	const struct store_arith_args args = {.delta = delta, .decr = decr};
	struct store_arith_result result;
	const enum store_result r = store_arith_with(sc, key, hash, &args, &result);

	*value = result.value;
	return r == STORE_NOT_YET ? STORE_NO_MEMORY : r;
}

#endif
