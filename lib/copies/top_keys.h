/*
 * top_keys.h - names the keys that are requested most, by a few samples.
 *
 * Shape:  TOP_KEYS keys with a count each. A new key takes the place of the one with the
 *         least count, and inherits that count as its error. A key's count minus its error is
 *         shown, and is at most its number of samples. After TOP_KEYS_AGE samples all counts are
 *         halved, so old ones fade.
 * Units:  counts of samples; thousandths of all of them.
 * Owner:  struct top_keys: the caller, one for all cores, zeros at first. struct top_list:
 *         the reader.
 * Thread: any. A lock is held for some 100 instructions. A counting thread that finds it held
 *         skips the sample; a reader of the list waits.
 * Bounds: constant time. A key with more than 1 / TOP_KEYS of the samples is listed.
 * Source: A. Metwally, D. Agrawal, A. El Abbadi, ICDT 2005 (Space-Saving).
 */
#ifndef CLOCKOO_TOP_KEYS_H
#define CLOCKOO_TOP_KEYS_H

#include "base/bytes.h"
#include "proto/mc_base64.h"
#include "base/spin.h"

#define TOP_KEYS       64u
#define TOP_KEYS_SHOWN 16u
#define TOP_KEYS_AGE   4096u
#define TOP_KEY_TEXT   160u

struct top_key {
	uint32_t count, error;
	uint8_t len;
	uint8_t bytes[MC_KEY_MAX];
};

struct top_keys {
	struct spin lock;
	uint32_t samples; /* halved with the counts */
	uint32_t count;
	uint64_t hash[TOP_KEYS];
	struct top_key key[TOP_KEYS];
};

/* The list, the most requested key first. */
struct top_list {
	uint32_t samples, count;
	struct top_key key[TOP_KEYS_SHOWN];
	char text[TOP_KEY_TEXT + 1];
};

/* Counts a sample. */
void top_keys_count_mt(struct top_keys *top, struct view key, uint64_t hash);
void top_keys_reset_mt(struct top_keys *top);
void top_keys_list_mt(struct top_keys *top, struct top_list *list);

/* Returns key n of the list as text in it: "0.124 user%3A17", with its share of all requests. A
 * long key is cut and ends in "...". */
const char *top_list_text(struct top_list *list, uint32_t n);

#endif
