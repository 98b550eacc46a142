/*
 * policy_models.h - which of n numbered keys SIEVE, CLOCK and S3-FIFO of a given capacity would
 * hold.
 *
 * SIEVE: Zhang et al., NSDI 2024. S3-FIFO: Yang et al., SOSP 2023, with its published parameters: a
 * tenth of the capacity for new keys, as many ghosts as the rest, two uses to pass.
 *
 * Shape:  queues in two arrays, one place a key; places from keys on are the queues' heads. A ghost
 *         is the number that the key left with.
 * Owner:  policy_create allocates, policy_destroy frees: a bench's model, no part of the product.
 */
#ifndef CLOCKOO_POLICY_MODELS_H
#define CLOCKOO_POLICY_MODELS_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum policy { POLICY_CLOCK, POLICY_SIEVE, POLICY_S3FIFO };

#define POLICY_ABSENT   UINT32_MAX
#define S3FIFO_USES_MAX 3u
#define S3FIFO_PASS     2u /* uses that take a key from the small queue to the main one */
#define S3FIFO_PART     10u

struct policy_model {
	enum policy policy;
	uint32_t *next, *prev; /* towards the tail; towards the head */
	uint32_t *left;        /* number at which the key left the small queue; 0: no ghost */
	uint8_t *uses;
	bool *in_main;
	uint32_t keys, capacity;
	uint32_t count, small; /* keys held, and those of them in the small queue */
	uint32_t hand;         /* of SIEVE; a head: at the tail */
	uint32_t departures;
};

static inline void
policy_create(struct policy_model *m, enum policy policy, uint32_t keys, uint32_t capacity)
{
	const size_t places = (size_t)keys + 2;

	*m = (struct policy_model){
		.policy = policy, .keys = keys, .capacity = capacity, .hand = keys + 1};
	m->next = malloc(places * sizeof *m->next);
	m->prev = malloc(places * sizeof *m->prev);
	m->left = calloc(keys, sizeof *m->left);
	m->uses = calloc(keys, sizeof *m->uses);
	m->in_main = calloc(keys, sizeof *m->in_main);
	ensure(capacity > S3FIFO_PART && m->next != NULL && m->prev != NULL && m->left != NULL &&
	       m->uses != NULL && m->in_main != NULL);
	for (uint32_t i = 0; i < keys; i++)
		m->next[i] = POLICY_ABSENT;
	for (uint32_t head = keys; head < places; head++)
		m->next[head] = m->prev[head] = head;
}

static inline void
policy_destroy(struct policy_model *m)
{
	free(m->next);
	free(m->prev);
	free(m->left);
	free(m->uses);
	free(m->in_main);
}

/* The head of the small queue, and of the only one. */
static inline uint32_t
policy_head(const struct policy_model *m, bool in_main)
{
	return m->keys + in_main;
}

static inline void
policy_push(struct policy_model *m, uint32_t key, bool in_main)
{
	const uint32_t head = policy_head(m, in_main);

	m->next[key] = m->next[head];
	m->prev[key] = head;
	m->prev[m->next[head]] = key;
	m->next[head] = key;
	m->in_main[key] = in_main;
	m->count++;
	m->small += !in_main;
}

static inline void
policy_take_out(struct policy_model *m, uint32_t key)
{
	m->next[m->prev[key]] = m->next[key];
	m->prev[m->next[key]] = m->prev[key];
	m->next[key] = POLICY_ABSENT;
	m->count--;
	m->small -= !m->in_main[key];
}

/* The tail, unless it was used: then it goes to the head once more. */
static inline void
policy_evict_clock(struct policy_model *m)
{
	for (;;) {
		const uint32_t key = m->prev[policy_head(m, true)];

		policy_take_out(m, key);
		if (m->uses[key] == 0)
			return;
		m->uses[key]--;
		policy_push(m, key, true);
	}
}

static inline void
policy_evict_sieve(struct policy_model *m)
{
	const uint32_t head = policy_head(m, true);
	uint32_t key = m->hand == head ? m->prev[head] : m->hand;

	while (m->uses[key] != 0) {
		m->uses[key] = 0;
		key = m->prev[key] == head ? m->prev[head] : m->prev[key];
	}
	m->hand = m->prev[key];
	policy_take_out(m, key);
}

static inline void
policy_evict_s3fifo(struct policy_model *m)
{
	const uint32_t main_max = m->capacity - m->capacity / S3FIFO_PART;

	for (;;) {
		const uint32_t key = m->prev[policy_head(m, false)];

		if (m->count - m->small > main_max || m->small == 0) {
			policy_evict_clock(m);
			return;
		}
		policy_take_out(m, key);
		if (m->uses[key] < S3FIFO_PASS) {
			m->left[key] = ++m->departures;
			return;
		}
		m->uses[key] = 0;
		policy_push(m, key, true);
	}
}

static inline void
policy_evict(struct policy_model *m)
{
	switch (m->policy) {
	case POLICY_CLOCK:
		policy_evict_clock(m);
		break;
	case POLICY_SIEVE:
		policy_evict_sieve(m);
		break;
	case POLICY_S3FIFO:
		policy_evict_s3fifo(m);
		break;
	}
}

/* The key is used, and from now on there. Was it before? */
static inline bool
policy_use(struct policy_model *m, uint32_t key)
{
	const uint32_t uses_max = m->policy == POLICY_S3FIFO ? S3FIFO_USES_MAX : 1;

	if (m->next[key] != POLICY_ABSENT) {
		m->uses[key] += m->uses[key] < uses_max;
		return true;
	}

	const bool ghost = m->left[key] != 0 &&
			   m->departures - m->left[key] < m->capacity - m->capacity / S3FIFO_PART;

	m->left[key] = 0;
	if (m->count == m->capacity)
		policy_evict(m);
	m->uses[key] = 0;
	policy_push(m, key, m->policy != POLICY_S3FIFO || ghost);
	return false;
}

#endif
