/*
 * cut_model.h - the versions that a cache may hold for each key, before, amid and after one call.
 *
 * Shape:  a key has the version that was acknowledged last, and, during a call that may change
 *         it, the version that the call leaves. An eviction allows a miss.
 *
 * Owner:  the model copies values.
 *
 * Thread: one. model_allows* write nothing, so that they may be called in a signal handler.
 *
 * Bounds: MODEL_KEYS keys.
 */
#ifndef CLOCKOO_CUT_MODEL_H
#define CLOCKOO_CUT_MODEL_H

#include "store/conditional.h"

#define MODEL_KEYS 192u

struct version {
	bool there;
	uint32_t flags, expiry_s, len;
	uint8_t *bytes;
};

struct model_key {
	struct version now, next;
	bool pending;      /* a call is under way that leaves next */
	bool evicted;      /* a miss is allowed */
	uint64_t cas_most; /* highest cas seen, but for numbers that raise no floor */
};

struct model {
	struct model_key keys[MODEL_KEYS];
	uint32_t flushing; /* flushes under way: every key may be a miss */
};

/* Returns the name of a key, "key-0007-", padded to a length that depends on the number. */
struct view model_name(uint32_t key);
/* Returns the number of a key by its name; MODEL_KEYS if it is no key. */
uint32_t model_number(struct view name);

/* model_expect: a call may leave this version of a key. model_acknowledge: the call has done so,
 * or has not. The key may have been evicted since: evicted stays as it is. */
void model_expect(struct model *m, uint32_t key, const struct version *next);
void model_acknowledge(struct model *m, uint32_t key, bool done);

/* True if a lookup at now_s may find this item; it NULL: a miss. */
bool model_allows(const struct model *m, uint32_t key, const struct store_core *sc,
		  const struct item *it, uint32_t now_s);

/* True if a lookup may find this item had the call under way not begun. */
bool model_allows_now(const struct model *m, uint32_t key, const struct store_core *sc,
		      const struct item *it, uint32_t now_s);

/* Copies these bytes into a version. */
void version_set(struct version *v, const uint8_t *bytes, uint32_t len);
void version_copy(struct version *to, const struct version *from);

#endif
