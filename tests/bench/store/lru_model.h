/*
 * lru_model.h - a model of an exact LRU: which of n numbered keys it would hold at a given
 * capacity.
 *
 * Shape:  a doubly linked list in two arrays; place n is the list's head.
 * Owner:  lru_create allocates, lru_destroy frees: a bench's model, no part of the product.
 */
#ifndef CLOCKOO_LRU_MODEL_H
#define CLOCKOO_LRU_MODEL_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define LRU_ABSENT UINT32_MAX

struct lru {
	uint32_t *next, *prev; /* towards older; towards newer */
	uint32_t keys, capacity, count;
};

static inline void
lru_create(struct lru *l, uint32_t keys, uint32_t capacity)
{
	const size_t places = (size_t)keys + 1;

	*l = (struct lru){.keys = keys, .capacity = capacity};
	l->next = malloc(places * sizeof *l->next);
	l->prev = malloc(places * sizeof *l->prev);
	ensure(capacity != 0 && l->next != NULL && l->prev != NULL);
	for (uint32_t i = 0; i < keys; i++)
		l->next[i] = LRU_ABSENT;
	l->next[keys] = l->prev[keys] = keys;
}

static inline void
lru_destroy(struct lru *l)
{
	free(l->next);
	free(l->prev);
}

static inline void
lru_take_out(struct lru *l, uint32_t key)
{
	l->next[l->prev[key]] = l->next[key];
	l->prev[l->next[key]] = l->prev[key];
	l->next[key] = LRU_ABSENT;
	l->count--;
}

/* Gets a key without storing it: a key that is held is used. */
static inline bool
lru_get(struct lru *l, uint32_t key)
{
	if (l->next[key] == LRU_ABSENT)
		return false;
	lru_take_out(l, key);
	l->next[key] = l->next[l->keys];
	l->prev[key] = l->keys;
	l->prev[l->next[key]] = key;
	l->next[l->keys] = key;
	l->count++;
	return true;
}

/* Uses a key, which is held from then on. True if it was held before. */
static inline bool
lru_use(struct lru *l, uint32_t key)
{
	const bool there = l->next[key] != LRU_ABSENT;

	if (there)
		lru_take_out(l, key);
	else if (l->count == l->capacity)
		lru_take_out(l, l->prev[l->keys]);
	l->next[key] = l->next[l->keys];
	l->prev[key] = l->keys;
	l->prev[l->next[key]] = key;
	l->next[l->keys] = key;
	l->count++;
	return there;
}

#endif
