/*
 * tinylfu_model.h - a model of W-TinyLFU: which of n numbered keys it would hold at a given
 * capacity.
 *
 * Einziger, Friedman, Manes, "TinyLFU: A Highly Efficient Cache Admission Policy", ACM ToS 2017:
 * a window of a hundredth, LRU; a key that leaves it enters the main part only if it was
 * requested more often than the main part's own victim. The main part is segmented: four fifths
 * are for keys that were used in it. Counters up to 15 estimate the frequency: each use
 * increments four of them, the least counts, and all are halved every ten uses for each place.
 *
 * Shape:  queues in two arrays, one place a key; places from keys on are the queues' heads.
 * Owner:  tinylfu_create allocates, tinylfu_destroy frees: a bench's model, no part of the product.
 */
#ifndef CLOCKOO_TINYLFU_MODEL_H
#define CLOCKOO_TINYLFU_MODEL_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TINYLFU_ROWS    4u
#define TINYLFU_MOST    15u
#define TINYLFU_SAMPLE  10u /* uses for each place before all counters are halved */
#define TINYLFU_WIDE    4u  /* least number of counters of a row for each place */
#define TINYLFU_WINDOW  100u
#define TINYLFU_PROBATE 5u

enum tinylfu_queue { LFU_WINDOW, LFU_PROBATION, LFU_PROTECTED, LFU_QUEUES, LFU_NONE = LFU_QUEUES };

struct tinylfu {
	uint32_t *next, *prev; /* towards the tail; towards the head */
	uint8_t *queue, *counters;
	uint32_t keys, capacity, window, protected_max, mask, uses;
	uint32_t length[LFU_QUEUES + 1];
};

static inline void
tinylfu_create(struct tinylfu *t, uint32_t keys, uint32_t capacity)
{
	const size_t places = (size_t)keys + LFU_QUEUES;
	const uint32_t window = capacity / TINYLFU_WINDOW != 0 ? capacity / TINYLFU_WINDOW : 1;
	uint32_t width = 16;

	while (width < TINYLFU_WIDE * capacity)
		width *= 2;
	*t = (struct tinylfu){.keys = keys,
			      .capacity = capacity,
			      .window = window,
			      .protected_max =
				      (capacity - window) - (capacity - window) / TINYLFU_PROBATE,
			      .mask = width - 1};
	t->next = malloc(places * sizeof *t->next);
	t->prev = malloc(places * sizeof *t->prev);
	t->queue = malloc(keys);
	t->counters = calloc(TINYLFU_ROWS, width);
	ensure(capacity > window && t->next != NULL && t->prev != NULL && t->queue != NULL &&
	       t->counters != NULL);
	memset(t->queue, LFU_NONE, keys);
	for (uint32_t head = keys; head < places; head++)
		t->next[head] = t->prev[head] = head;
}

static inline void
tinylfu_destroy(struct tinylfu *t)
{
	free(t->next);
	free(t->prev);
	free(t->queue);
	free(t->counters);
}

static inline uint8_t *
tinylfu_counter(const struct tinylfu *t, uint32_t key, uint32_t row)
{
	uint64_t h = ((uint64_t)key << 2 | row) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	return &t->counters[(size_t)row * (t->mask + 1u) + ((h >> 32) & t->mask)];
}

static inline uint32_t
tinylfu_often(const struct tinylfu *t, uint32_t key)
{
	uint32_t least = TINYLFU_MOST;

	for (uint32_t row = 0; row < TINYLFU_ROWS; row++) {
		const uint32_t count = *tinylfu_counter(t, key, row);

		least = count < least ? count : least;
	}
	return least;
}

static inline void
tinylfu_count(struct tinylfu *t, uint32_t key)
{
	const size_t all = (size_t)TINYLFU_ROWS * (t->mask + 1u);

	for (uint32_t row = 0; row < TINYLFU_ROWS; row++) {
		uint8_t *count = tinylfu_counter(t, key, row);

		*count = (uint8_t)(*count + (*count < TINYLFU_MOST));
	}
	if (++t->uses < TINYLFU_SAMPLE * t->capacity)
		return;
	for (size_t i = 0; i < all; i++)
		t->counters[i] /= 2;
	t->uses /= 2;
}

static inline void
tinylfu_put(struct tinylfu *t, uint32_t key, enum tinylfu_queue queue)
{
	const uint32_t head = t->keys + queue;

	t->next[key] = t->next[head];
	t->prev[key] = head;
	t->prev[t->next[head]] = key;
	t->next[head] = key;
	t->queue[key] = (uint8_t)queue;
	t->length[queue]++;
}

static inline void
tinylfu_take(struct tinylfu *t, uint32_t key)
{
	t->next[t->prev[key]] = t->next[key];
	t->prev[t->next[key]] = t->prev[key];
	t->length[t->queue[key]]--;
	t->queue[key] = LFU_NONE;
}

static inline uint32_t
tinylfu_tail(const struct tinylfu *t, enum tinylfu_queue queue)
{
	return t->prev[t->keys + queue];
}

/* Uses a key that is held. */
static inline void
tinylfu_hit(struct tinylfu *t, uint32_t key)
{
	const bool window = t->queue[key] == LFU_WINDOW;

	tinylfu_take(t, key);
	tinylfu_put(t, key, window ? LFU_WINDOW : LFU_PROTECTED);
	if (t->length[LFU_PROTECTED] > t->protected_max) {
		const uint32_t last = tinylfu_tail(t, LFU_PROTECTED);

		tinylfu_take(t, last);
		tinylfu_put(t, last, LFU_PROBATION);
	}
}

/* Moves the window's surplus key into the main part, if there is room or it was requested more
 * often. */
static inline void
tinylfu_pass(struct tinylfu *t)
{
	const uint32_t candidate = tinylfu_tail(t, LFU_WINDOW);
	const uint32_t main_count = t->length[LFU_PROBATION] + t->length[LFU_PROTECTED];

	tinylfu_take(t, candidate);
	if (main_count == t->capacity - t->window) {
		const uint32_t victim = tinylfu_tail(
			t, t->length[LFU_PROBATION] != 0 ? LFU_PROBATION : LFU_PROTECTED);

		if (tinylfu_often(t, candidate) <= tinylfu_often(t, victim))
			return;
		tinylfu_take(t, victim);
	}
	tinylfu_put(t, candidate, LFU_PROBATION);
}

static inline uint32_t
tinylfu_held(const struct tinylfu *t)
{
	return t->length[LFU_WINDOW] + t->length[LFU_PROBATION] + t->length[LFU_PROTECTED];
}

/* Uses a key, which is held from then on unless it is not admitted. True if it was held
 * before. */
static inline bool
tinylfu_use(struct tinylfu *t, uint32_t key)
{
	tinylfu_count(t, key);
	if (t->queue[key] != LFU_NONE) {
		tinylfu_hit(t, key);
		return true;
	}
	tinylfu_put(t, key, LFU_WINDOW);
	if (t->length[LFU_WINDOW] > t->window)
		tinylfu_pass(t);
	return false;
}

#endif
