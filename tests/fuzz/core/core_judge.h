/*
 * core_judge.h - the answers that a client may get: a cache may forget, it may never lie.
 *
 * Shape:  all well-formed requests of peers are recorded here, with the times of their sending
 *         and their answer. A value is a pattern that has its key and version; a get is right if
 *         no order that was surely done before it had replaced the version that it found.
 * Units:  sent and done are ticks of the judge's own clock; 0 is not yet.
 * Thread: one.
 * Errors: a wrong reply stops the process.
 * Bounds: JUDGE_ORDERS_MAX orders; the caller checks judge_full().
 */
#ifndef CLOCKOO_CORE_JUDGE_H
#define CLOCKOO_CORE_JUDGE_H

#include "base/bytes.h"

#include <stdbool.h>

#define JUDGE_ORDERS_MAX 250u
#define JUDGE_KEYS       6u
#define JUDGE_KEY_MARK   0xfe /* in every key here, and in no other byte a peer sends */

enum order_kind {
	ORDER_GET,
	ORDER_GETS,
	ORDER_SET,
	ORDER_ADD,
	ORDER_REPLACE,
	ORDER_DELETE,
	ORDER_TOUCH,
	ORDER_FLUSH,
	ORDER_KINDS,
};

struct order {
	uint8_t kind; /* enum order_kind */
	uint8_t peer;
	bool noreply;
	bool meta;  /* sent as a meta command: one key, no touch, no flush_all */
	bool past;  /* stored with an exptime in the past */
	bool took;  /* surely done: its reply said so */
	bool wrong; /* surely not done */
	uint32_t key;
	uint32_t keys; /* of a get, from key on */
	uint32_t len;  /* of the value */
	uint64_t sent, done;
};

struct judge {
	uint64_t clock;
	uint32_t count;
	struct order orders[JUDGE_ORDERS_MAX];
};

static inline bool
judge_full(const struct judge *j)
{
	return j->count == JUDGE_ORDERS_MAX;
}

/* Records an order as sent now, and writes its bytes to `to`, which has JUDGE_LINE_MAX and
 * order->len of room. Returns how many. */
#define JUDGE_LINE_MAX 128u
uint32_t judge_order(struct judge *j, uint8_t *to, const struct order *order);

/* Reads the next answer of this peer at p, from its order number *next on. Returns its bytes; 0
 * if it is incomplete, or no request is open. */
uint32_t judge_answer(struct judge *j, uint8_t peer, uint32_t *next, const uint8_t *p,
		      uint32_t len);

#endif
