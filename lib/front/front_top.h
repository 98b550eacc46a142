/*
 * front_top.h - names the keys that are requested most, by a few samples.
 *
 * Shape:  FRONT_TOP_KEYS keys with a count each. A new key takes the place of the one with the
 *         least count, and inherits that count as its error. A key's count minus its error is
 *         shown, and is at most its number of samples. After FRONT_TOP_AGE samples all counts are
 *         halved, so old ones fade.
 * Units:  counts of samples; thousandths of all of them.
 * Owner:  struct front_top: the caller, one for all cores, zeros at first. struct front_top_list:
 *         the reader.
 * Thread: any. A lock is held for some 100 instructions. A counting thread that finds it held
 *         skips the sample; a reader of the list waits.
 * Bounds: constant time. A key with more than 1 / FRONT_TOP_KEYS of the samples is listed.
 * Source: A. Metwally, D. Agrawal, A. El Abbadi, ICDT 2005 (Space-Saving).
 */
#ifndef CLOCKOO_FRONT_TOP_H
#define CLOCKOO_FRONT_TOP_H

#include "base/bytes.h"
#include "proto/mc_base64.h"
#include "base/spin.h"

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

/* The list, the most requested key first. */
struct front_top_list {
	uint32_t samples, count;
	struct front_top_key key[FRONT_TOP_SHOWN];
	char text[FRONT_TOP_TEXT + 1];
};

/* Counts a sample. */
void front_top_count_mt(struct front_top *top, struct view key, uint64_t hash);
void front_top_reset_mt(struct front_top *top);
void front_top_list_mt(struct front_top *top, struct front_top_list *list);

/* Returns key n of the list as text in it: "0.124 user%3A17", with its share of all requests. A
 * long key is cut and ends in "...". */
const char *front_top_text(struct front_top_list *list, uint32_t n);

#endif
