/*
 * Appends and prepends from all threads. Goal: no token is lost, doubled, torn, or out of its
 * thread's order. Method: every thread adds numbered tokens to the one value, at either end,
 * until it is larger than any object and is in chunks; readers among them, the threads
 * themselves, find it well-formed at every moment; in the end every token is there.
 */
#include "store/store.h"
#include "image/store_image.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS    4u
#define TOKENS     1800u /* of a thread at each end: 4 * 2 * 1800 * 8 bytes are two chunks */
#define LOOK_OF    16u   /* one check in this many additions */
#define TRIES_MAX  50000000u
#define LEAD_MAX   12u /* tokens a thread may be ahead of another */
#define MEMORY     (64u << 20)
#define MIDDLE     UINT32_MAX /* the thread of the first token */
#define TOKENS_MAX (THREADS * 2 * TOKENS + 1)
#define TURN_NOW_S STORE_CLOCK_START
#define RUNS_MAX                                                                                   \
	5u /* a run that has evicted the value shows nothing: versions that wait for a stalled     \
	      thread may take the memory of its class */

struct token {
	uint32_t thread, number;
};

struct worker {
	struct store_core *core;
	const struct worker *all;
	uint32_t id;
	_Atomic uint32_t added;
	_Atomic bool lied;
	struct token seen[TOKENS_MAX];
};

static const struct store_config store_cfg = {
	.memory_bytes = MEMORY, .cores = THREADS, .value_max = STORE_VALUE_MAX, .seed = 0x5eed};
static const uint8_t name[] = "the one value";
static const struct view key = {name, sizeof name};

static enum store_result
add(struct store_core *sc, enum store_mode mode, struct token token)
{
	struct fill f;
	const enum store_result r =
		store_begin(sc, &f, key, store_hash(sc, key), sizeof token, 0, 0);

	if (r != STORE_OK)
		return r;
	store_fill(sc, &f, &token, sizeof token);
	return store_finish(sc, &f, mode, 0);
}

/* True if every thread's numbers rise from 0 one by one, from the token `at` outwards. */
static bool
half_is_in_order(const struct token *at, int32_t step, uint32_t count, uint32_t *next)
{
	for (uint32_t i = 0; i < count; i++) {
		at += step;
		if (at->thread >= THREADS || at->number != next[at->thread]++)
			return false;
	}
	return true;
}

/* True if the value is well-formed. next: the number of each thread's tokens in front and at the
 * end. */
static bool
value_is_in_order(struct worker *w, uint32_t next[2][THREADS])
{
	const struct item *it = store_get(w->core, key, store_hash(w->core, key));
	uint32_t middle = 0, len = 0;

	if (it == NULL || item_value_len(it) % sizeof(struct token) != 0)
		return false;
	while (len < item_value_len(it)) {
		const struct view run = store_value_at(w->core, it, len);

		memcpy((uint8_t *)w->seen + len, run.data, run.len);
		len += run.len;
	}

	const uint32_t count = len / (uint32_t)sizeof(struct token);

	while (middle < count && w->seen[middle].thread != MIDDLE)
		middle++;
	return middle < count && half_is_in_order(&w->seen[middle], -1, middle, next[0]) &&
	       half_is_in_order(&w->seen[middle], 1, count - middle - 1, next[1]);
}

static bool
one_lied(const struct worker *w)
{
	bool lied = false;

	for (uint32_t i = 0; i < THREADS; i++)
		lied |= atomic_load(&w->all[i].lied);
	return lied;
}

/* True if a thread is too far ahead. Old versions are freed only when every thread has turned. If
 * they filled the memory while one is stalled, the value would be evicted, which a cache may do and
 * which would end this test. */
static bool
too_far_ahead(const struct worker *w)
{
	for (uint32_t i = 0; i < THREADS; i++)
		if (atomic_load(&w->all[i].added) + LEAD_MAX < w->added)
			return true;
	return false;
}

static void *
work(void *arg)
{
	struct worker *w = arg;

	for (uint32_t tries = 0; w->added < 2 * TOKENS && tries < TRIES_MAX && !one_lied(w);
	     tries++) {
		const struct token token = {w->id, w->added / 2};
		uint32_t next[2][THREADS] = {{0}};

		store_turn(w->core, TURN_NOW_S);
		if (too_far_ahead(w)) {
			sched_yield();
			continue;
		}
		switch (add(w->core, w->added % 2 == 0 ? STORE_PREPEND : STORE_APPEND, token)) {
		case STORE_OK:
			w->added++;
			break;
		case STORE_NOT_STORED:
			w->lied = true; /* nothing is evicted, so the value must exist */
			break;
		default:
			sched_yield(); /* memory is freed when the others have turned */
			break;
		}
		if (tries % LOOK_OF == 0)
			w->lied = !value_is_in_order(w, next);
	}
	store_offline(w->core);
	return NULL;
}

/* True if all tokens are there, in order. */
static bool
all_are_there(struct worker *workers)
{
	uint32_t next[2][THREADS] = {{0}};
	bool good;

	store_turn(workers[0].core, TURN_NOW_S);
	good = value_is_in_order(&workers[0], next);
	for (uint32_t i = 0; i < THREADS; i++) {
		good &= !workers[i].lied && workers[i].added == 2 * TOKENS &&
			next[0][i] == TOKENS && next[1][i] == TOKENS;
		printf("thread %u: added %u, found %u and %u, evicted %llu%s\n", i,
		       workers[i].added, next[0][i], next[1][i],
		       (unsigned long long)counter_read(
			       &store_counters(workers[i].core)[STORE_EVICTED]),
		       workers[i].lied ? ", and saw a lie" : "");
	}
	return good;
}

static bool
forgotten(const struct worker *workers)
{
	uint64_t evicted = 0;

	for (uint32_t i = 0; i < THREADS; i++)
		evicted += counter_read(&store_counters(workers[i].core)[STORE_EVICTED]);
	return evicted != 0;
}

/* Runs a store with a thread for each core, until all tokens are added or a thread saw a lie. */
static bool
run(struct worker *workers, struct region region, bool *evicted)
{
	struct store *store = store_create(&region, &store_cfg);
	struct store_core *first = store_core_of(store, 0);
	pthread_t threads[THREADS];
	bool good;

	store_turn(first, TURN_NOW_S);
	if (add(first, STORE_SET, (struct token){MIDDLE, 0}) != STORE_OK)
		return false;
	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i].core = store_core_of(store, i);
		workers[i].all = workers;
		workers[i].id = i;
		if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
			abort();
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	good = all_are_there(workers);
	*evicted = forgotten(workers);
	return good;
}

int
main(void)
{
	struct region region = {.size = align_up(store_bytes(&store_cfg), 4096)};
	bool good = false, evicted = true;

	region.base = aligned_alloc(4096, region.size);
	if (region.base == NULL)
		return 1;
	for (uint32_t tries = 0; tries < RUNS_MAX && !good && evicted; tries++) {
		struct worker *workers = calloc(THREADS, sizeof *workers);

		if (workers == NULL)
			return 1;
		good = run(workers, region, &evicted);
		free(workers);
	}
	free(region.base);
	return good ? 0 : 1;
}
