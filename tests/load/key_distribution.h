/*
 * key_distribution.h - the popularity of keys: uniform, by a Zipf distribution, or a hot set.
 *
 * Shape:  keys are numbers 0..n-1. A fixed shuffle spreads popular keys over the numbers, so that
 *         they are not stored side by side.
 * Thread: immutable after key_distribution_init.
 * Bounds: n from 1 to KEYS_MAX.
 */
#ifndef CLOCKOO_KEY_DISTRIBUTION_H
#define CLOCKOO_KEY_DISTRIBUTION_H

#include "zipf.h"

#define KEYS_MAX (1u << 31)

enum key_distribution_kind { KEYS_UNIFORM, KEYS_ZIPF, KEYS_HOT };

struct key_distribution {
	enum key_distribution_kind kind;
	uint32_t n;
	double zipf_s;
	double hot_requests, hot_keys; /* shares of requests and keys that are hot */
	/* computed by key_distribution_init */
	struct zipf zipf;
	uint32_t hot_n;
	uint32_t hot_below; /* chance of a hot key, as a part of 2^32 */
	uint32_t step;      /* step of the shuffle, without a divisor in common with n */
};

/* Computes the other fields from kind, n and the numbers of that kind. */
void key_distribution_init(struct key_distribution *dist);
uint32_t key_distribution_draw(const struct key_distribution *dist, struct load_rng *r);

#endif
