/*
 * bags_model.h - a model of a bag LRU: which of n numbered keys it would hold at a given
 * capacity.
 *
 * Wiggins, Langston, "Enhancing the Scalability of Memcached", 2012: a key goes into the newest
 * bag, a get only writes the newest bag's number on it, and a cleaner moves it there later. The
 * oldest key of the oldest bag leaves, even if a get has marked it since the last cleaning. As
 * in the paper, the cleaner puts keys for the newest bag into the one before it.
 *
 * The paper's cleaner runs by the clock, and the paper gives no sizes. Here, by bags_create: a bag
 * is full at bag_items keys, and the cleaner runs after a fixed number of uses; a bag with less
 * than half of that is merged into the next.
 *
 * Shape:  a list of keys a bag, oldest first; places from keys on are the bags' heads.
 * Owner:  bags_create allocates, bags_destroy frees: a bench's model, no part of the product.
 */
#ifndef CLOCKOO_BAGS_MODEL_H
#define CLOCKOO_BAGS_MODEL_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BAGS      250u
#define BAGS_NONE UINT8_MAX

struct bags {
	uint32_t *next, *prev; /* towards newer; towards older */
	uint8_t *bag, *mark;   /* the bag that a key is in; the bag that it belongs to */
	uint32_t keys, capacity, count, bag_items, every, uses;
	uint32_t length[BAGS];
	uint8_t order[BAGS], spare[BAGS]; /* bags in use, oldest first; bags not in use */
	uint32_t bags, spares;
};

static inline void
bags_open(struct bags *b)
{
	ensure(b->spares != 0);

	const uint8_t bag = b->spare[--b->spares];
	const uint32_t head = b->keys + bag;

	b->order[b->bags++] = bag;
	b->length[bag] = 0;
	b->next[head] = b->prev[head] = head;
}

static inline void
bags_create(struct bags *b, uint32_t keys, uint32_t capacity, uint32_t bag_items, uint32_t every)
{
	const size_t places = (size_t)keys + BAGS;

	*b = (struct bags){
		.keys = keys, .capacity = capacity, .bag_items = bag_items, .every = every};
	b->next = malloc(places * sizeof *b->next);
	b->prev = malloc(places * sizeof *b->prev);
	b->bag = malloc(keys);
	b->mark = malloc(keys);
	ensure(capacity != 0 && bag_items != 0 && every != 0 && b->next != NULL &&
	       b->prev != NULL && b->bag != NULL && b->mark != NULL);
	memset(b->bag, BAGS_NONE, keys);
	for (uint32_t bag = 0; bag < BAGS; bag++)
		b->spare[b->spares++] = (uint8_t)bag;
	bags_open(b);
	bags_open(b);
}

static inline void
bags_destroy(struct bags *b)
{
	free(b->next);
	free(b->prev);
	free(b->bag);
	free(b->mark);
}

static inline void
bags_put(struct bags *b, uint32_t key, uint8_t bag)
{
	const uint32_t head = b->keys + bag;

	b->prev[key] = b->prev[head];
	b->next[key] = head;
	b->next[b->prev[head]] = key;
	b->prev[head] = key;
	b->bag[key] = b->mark[key] = bag;
	b->length[bag]++;
}

static inline void
bags_take(struct bags *b, uint32_t key)
{
	b->next[b->prev[key]] = b->next[key];
	b->prev[b->next[key]] = b->prev[key];
	b->length[b->bag[key]]--;
	b->bag[key] = BAGS_NONE;
}

static inline void
bags_evict(struct bags *b)
{
	uint32_t oldest = 0;

	while (b->length[b->order[oldest]] == 0)
		oldest++;
	bags_take(b, b->next[b->keys + b->order[oldest]]);
	b->count--;
}

static inline void
bags_clean_one(struct bags *b, uint8_t bag)
{
	const uint8_t newest = b->order[b->bags - 1], alternate = b->order[b->bags - 2];
	uint32_t key = b->next[b->keys + bag];

	/* Visits as many keys as the bag had: a key that returns to the same bag is not visited
	 * again. */
	for (uint32_t left = b->length[bag]; left != 0; left--) {
		const uint32_t next = b->next[key];
		const uint8_t mark = b->mark[key];

		if (mark != bag) {
			bags_take(b, key);
			bags_put(b, key, mark == newest ? alternate : mark);
		}
		key = next;
	}
}

/* Moves a bag's keys before those of the next newer bag. */
static inline void
bags_merge(struct bags *b, uint32_t at)
{
	const uint8_t from = b->order[at], to = b->order[at + 1];

	while (b->length[from] != 0) {
		const uint32_t key = b->prev[b->keys + from], head = b->keys + to;

		bags_take(b, key);
		b->next[key] = b->next[head];
		b->prev[key] = head;
		b->prev[b->next[head]] = key;
		b->next[head] = key;
		b->bag[key] = b->mark[key] = to;
		b->length[to]++;
	}
	memmove(b->order + at, b->order + at + 1, b->bags - at - 1);
	b->bags--;
	b->spare[b->spares++] = from;
}

static inline void
bags_clean(struct bags *b)
{
	for (uint32_t at = 0; at + 1 < b->bags; at++)
		bags_clean_one(b, b->order[at]);
	for (uint32_t at = 0; at + 2 < b->bags;)
		if (b->length[b->order[at]] == 0 || b->length[b->order[at]] < b->bag_items / 2)
			bags_merge(b, at);
		else
			at++;
}

/* Uses a key, which is held from then on. True if it was held before. */
static inline bool
bags_use(struct bags *b, uint32_t key)
{
	const bool there = b->bag[key] != BAGS_NONE;
	const uint8_t newest = b->order[b->bags - 1];

	if (there) {
		b->mark[key] = newest;
	} else {
		if (b->count == b->capacity)
			bags_evict(b);
		bags_put(b, key, newest);
		b->count++;
		if (b->length[newest] >= b->bag_items)
			bags_open(b);
	}
	if (++b->uses % b->every == 0 || b->spares == 0)
		bags_clean(b);
	return there;
}

#endif
