/*
 * policy_models.h - models of FIFO, SIEVE, CLOCK and S3-FIFO: which of n numbered keys they would
 * hold at a given capacity.
 *
 * SIEVE: Zhang et al., NSDI 2024. S3-FIFO: Yang et al., SOSP 2023, with its published parameters:
 * a tenth of the capacity for new keys, as many ghosts as the rest, two uses to pass. All have
 * the miss ratios of libCacheSim's (README.md).
 *
 * Shape:  queues in two arrays, with one place for each key; places from keys on are the queues'
 *         heads.
 * Owner:  policy_create allocates, policy_destroy frees: a bench's model, no part of the product.
 */
#ifndef CLOCKOO_POLICY_MODELS_H
#define CLOCKOO_POLICY_MODELS_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum policy { POLICY_FIFO, POLICY_CLOCK, POLICY_SIEVE, POLICY_S3FIFO, POLICIES };

#define S3FIFO_USES_MAX 3u
#define S3FIFO_PASS     2u /* uses that move a key from the small queue to the main one */
#define S3FIFO_PART     10u

/* The queue that a key is in. SMALL and GHOSTS are S3-FIFO's; a ghost is not held. */
enum policy_queue { QUEUE_SMALL, QUEUE_MAIN, QUEUE_GHOSTS, QUEUES, QUEUE_NONE = QUEUES };

struct policy_model {
	enum policy policy;
	uint32_t *next, *prev; /* towards the tail; towards the head */
	uint8_t *uses, *queue; /* enum policy_queue */
	uint32_t keys, capacity, small_max;
	uint32_t length[QUEUES + 1];
	uint32_t hand; /* SIEVE's; a head stands for the tail */
	bool evicted;  /* once at least */
};

static inline uint32_t
policy_count(const struct policy_model *m)
{
	return m->length[QUEUE_SMALL] + m->length[QUEUE_MAIN];
}

/* Returns a queue's head. */
static inline uint32_t
policy_head(const struct policy_model *m, enum policy_queue queue)
{
	return m->keys + queue;
}

static inline void
policy_create(struct policy_model *m, enum policy policy, uint32_t keys, uint32_t capacity)
{
	const size_t places = (size_t)keys + QUEUES;

	*m = (struct policy_model){.policy = policy,
				   .keys = keys,
				   .capacity = capacity,
				   .small_max = capacity / S3FIFO_PART};
	m->hand = policy_head(m, QUEUE_MAIN);
	m->next = malloc(places * sizeof *m->next);
	m->prev = malloc(places * sizeof *m->prev);
	m->uses = calloc(keys, sizeof *m->uses);
	m->queue = malloc(keys * sizeof *m->queue);
	ensure(capacity > S3FIFO_PART && m->next != NULL && m->prev != NULL && m->uses != NULL &&
	       m->queue != NULL);
	memset(m->queue, QUEUE_NONE, keys * sizeof *m->queue);
	for (uint32_t head = keys; head < places; head++)
		m->next[head] = m->prev[head] = head;
}

static inline void
policy_destroy(struct policy_model *m)
{
	free(m->next);
	free(m->prev);
	free(m->uses);
	free(m->queue);
}

static inline void
policy_push(struct policy_model *m, uint32_t key, enum policy_queue queue)
{
	const uint32_t head = policy_head(m, queue);

	m->next[key] = m->next[head];
	m->prev[key] = head;
	m->prev[m->next[head]] = key;
	m->next[head] = key;
	m->queue[key] = (uint8_t)queue;
	m->length[queue]++;
}

static inline void
policy_take_out(struct policy_model *m, uint32_t key)
{
	m->next[m->prev[key]] = m->next[key];
	m->prev[m->next[key]] = m->prev[key];
	m->length[m->queue[key]]--;
	m->queue[key] = QUEUE_NONE;
}

static inline uint32_t
policy_tail(const struct policy_model *m, enum policy_queue queue)
{
	return m->prev[policy_head(m, queue)];
}

/* Evicts the key at the tail, unless it was used: then the key moves to the head. */
static inline void
policy_evict_clock(struct policy_model *m)
{
	for (;;) {
		const uint32_t key = policy_tail(m, QUEUE_MAIN);

		policy_take_out(m, key);
		if (m->uses[key] == 0)
			return;
		m->uses[key]--;
		policy_push(m, key, QUEUE_MAIN);
	}
}

static inline void
policy_evict_sieve(struct policy_model *m)
{
	const uint32_t head = policy_head(m, QUEUE_MAIN);
	uint32_t key = m->hand == head ? m->prev[head] : m->hand;

	while (m->uses[key] != 0) {
		m->uses[key] = 0;
		key = m->prev[key] == head ? m->prev[head] : m->prev[key];
	}
	m->hand = m->prev[key];
	policy_take_out(m, key);
}

static inline void
policy_leave_ghost(struct policy_model *m, uint32_t key)
{
	if (m->length[QUEUE_GHOSTS] == m->capacity - m->small_max)
		policy_take_out(m, policy_tail(m, QUEUE_GHOSTS));
	policy_push(m, key, QUEUE_GHOSTS);
}

/* Evicts from the small queue while the main one is not too long; keys that pass may make it too
 * long. */
static inline void
policy_evict_s3fifo(struct policy_model *m)
{
	if (m->length[QUEUE_MAIN] > m->capacity - m->small_max) {
		policy_evict_clock(m);
		return;
	}
	while (m->length[QUEUE_SMALL] != 0) {
		const uint32_t key = policy_tail(m, QUEUE_SMALL);

		policy_take_out(m, key);
		if (m->uses[key] < S3FIFO_PASS) {
			policy_leave_ghost(m, key);
			return;
		}
		m->uses[key] = 0;
		policy_push(m, key, QUEUE_MAIN);
	}
	policy_evict_clock(m);
}

static inline void
policy_evict(struct policy_model *m)
{
	switch (m->policy) {
	case POLICY_FIFO: /* no key counts a use */
	case POLICY_CLOCK:
		policy_evict_clock(m);
		break;
	case POLICY_SIEVE:
		policy_evict_sieve(m);
		break;
	case POLICY_S3FIFO:
		policy_evict_s3fifo(m);
		break;
	case POLICIES:
		ensure(false);
	}
}

/* True if a new key begins in the small queue. Until the first eviction it does so only if there is
 * room, as in the authors' code, so that the main queue fills as well. */
static inline bool
policy_is_probed(const struct policy_model *m)
{
	return m->policy == POLICY_S3FIFO && (m->evicted || m->length[QUEUE_SMALL] < m->small_max);
}

/* Uses a key, which is held from then on. True if it was held before. */
static inline bool
policy_use(struct policy_model *m, uint32_t key)
{
	static const uint32_t most[POLICIES] = {0, 1, 1, S3FIFO_USES_MAX};
	const uint32_t uses_max = most[m->policy];
	const bool ghost = m->queue[key] == QUEUE_GHOSTS;

	if (!ghost && m->queue[key] != QUEUE_NONE) {
		m->uses[key] += m->uses[key] < uses_max;
		return true;
	}
	if (ghost)
		policy_take_out(m, key);
	if (policy_count(m) == m->capacity) {
		policy_evict(m);
		m->evicted = true;
	}
	m->uses[key] = 0;
	policy_push(m, key, ghost || !policy_is_probed(m) ? QUEUE_MAIN : QUEUE_SMALL);
	return false;
}

#endif
