/*
 * front_top.h - which keys are asked for most, by name, as far as a few samples tell.
 *
 * Shape:  FRONT_TOP_KEYS keys with a count each. A key that is not among them takes the place of
 *         the one with the least count, and inherits that count as its error. A key's count less
 *         its error is at most what it was asked, and what is shown. After FRONT_TOP_AGE samples
 *         all counts are halved, so old ones fade.
 * Units:  counts of samples; thousandths of all of them.
 * Owner:  struct front_top: the caller, one for all cores, zeros. struct front_top_list: who asks.
 * Thread: any. It has a lock, held for some 100 instructions; who counts and finds it held goes on
 *         without, who asks for a list waits for it.
 * Bounds: constant time. A key of more than 1 / FRONT_TOP_KEYS of the samples is among them.
 * Source: A. Metwally, D. Agrawal, A. El Abbadi, ICDT 2005 (Space-Saving).
 */
#ifndef CLOCKOO_FRONT_TOP_H
#define CLOCKOO_FRONT_TOP_H

#include "base/bytes.h"
#include "proto/mc_base64.h"
#include "store/spin.h"

#define FRONT_TOP_KEYS  64u
#define FRONT_TOP_SHOWN 16u
#define FRONT_TOP_AGE   4096u
#define FRONT_TOP_TEXT  160u

struct front_top_key {
	uint32_t count, error;
	uint8_t len;
	uint8_t bytes[MC_KEY_MAX];
};

struct front_top {
	struct spin lock;
	uint32_t samples; /* halved with the counts */
	uint32_t count;
	uint64_t hash[FRONT_TOP_KEYS];
	struct front_top_key key[FRONT_TOP_KEYS];
};

/* The most asked one first. */
struct front_top_list {
	uint32_t samples, count;
	struct front_top_key key[FRONT_TOP_SHOWN];
	char text[FRONT_TOP_TEXT + 1];
};

/* A sample. */
void front_top_count_mt(struct front_top *top, struct view key, uint64_t hash);
void front_top_reset_mt(struct front_top *top);
void front_top_list_mt(struct front_top *top, struct front_top_list *list);

/* Key n of the list, as text in it: "0.124 user%3A17", its part of all that is asked for. A long
 * key is cut, and ends in "...". */
const char *front_top_text(struct front_top_list *list, uint32_t n);

#endif
