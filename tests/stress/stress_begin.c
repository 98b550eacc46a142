/*
 * Creating an item, and winning its recache token. Goal: of cores that create the same number or
 * value, or try to win the same token, exactly one is the first, and no other core's write is lost.
 * Method: for key after key all threads do the same at once: increment or create, append or create,
 * make an empty item to be filled, or win a stale one while it is touched and incremented. Memory
 * is plentiful, so no item may be forgotten (the model of stress_model.c lets a store forget, so it
 * would not notice a lost item).
 *
 * stress_begin [caught]: with "caught" the store is a mutant, and must fail.
 */
#include "caught.h"
#include "gaps.h"
#include "store/conditional.h"
#include "image/store_image.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS      4u
#define KEYS         1500u
#define CAUGHT_KEYS  60000u
#define MEMORY       (64u << 20)
#define TRIES_MAX    100000u /* tries of one call, while others hold memory until they turn */
#define TURN_NOW_S   STORE_CLOCK_START
#define EXPIRY_S     1000u
#define FIRST_NUMBER 5u

/* Results of the calls for the keys of one number. */
struct score {
	_Atomic uint32_t created, counted, extended, made, won;
};

struct run {
	struct store *store;
	uint32_t keys;
	_Atomic uint32_t arrived;
	_Atomic bool lied;
	struct score *scores;
};

struct worker {
	struct run *run;
	struct store_core *core;
	uint32_t id;
};

static void
lie(struct run *run, const char *what, uint32_t key)
{
	if (!atomic_exchange(&run->lied, true))
		printf("lie: %s, key %u\n", what, key);
}

static struct view
name_of(const char *what, uint32_t key, char *to)
{
	return (struct view){(const uint8_t *)to, (uint32_t)snprintf(to, 32, "%s%u", what, key)};
}

/* ---- calls, until there is memory ---- */

typedef enum store_result call_fn(struct worker *w, struct view key, uint64_t hash, void *arg);

static enum store_result
insist(struct worker *w, const char *what, uint32_t n, call_fn *call, void *arg)
{
	char text[32];
	const struct view key = name_of(what, n, text);
	enum store_result r = STORE_NO_MEMORY;

	for (uint32_t tries = 0; tries < TRIES_MAX; tries++) {
		r = call(w, key, store_hash(w->core, key), arg);
		if (r != STORE_NO_MEMORY && r != STORE_NOT_YET)
			break;
		store_turn(w->core, TURN_NOW_S);
		sched_yield();
	}
	return r;
}

struct writing {
	struct store_conditions conditions;
	const char *bytes;
	const struct item *made;
};

static enum store_result
call_write(struct worker *w, struct view key, uint64_t hash, void *arg)
{
	struct writing *wr = arg;
	const uint32_t len = (uint32_t)strlen(wr->bytes);
	struct fill f;
	const enum store_result r = store_begin(w->core, &f, key, hash, len, 0, 0);

	if (r != STORE_OK)
		return r;
	store_fill(w->core, &f, wr->bytes, len);
	return store_finish_with(w->core, &f, &wr->conditions, &wr->made);
}

static enum store_result
call_count(struct worker *w, struct view key, uint64_t hash, void *arg)
{
	const struct store_arith_args sum = {.delta = 1, .vivify = true, .initial = 1};

	return store_arith_with(w->core, key, hash, &sum, arg);
}

static enum store_result
call_touch(struct worker *w, struct view key, uint64_t hash, void *arg)
{
	const struct item *it;

	return store_touch(w->core, key, hash, EXPIRY_S, &it);
}

static enum store_result
call_stale(struct worker *w, struct view key, uint64_t hash, void *arg)
{
	const struct store_removal how = {.mark_stale = true};
	const struct item *left;

	return store_delete_with(w->core, key, hash, &how, &left);
}

/* Tries to win the token, until there is memory. */
static enum store_result
call_win(struct worker *w, struct view key, uint64_t hash, void *arg)
{
	const struct item *it = store_peek(w->core, key, hash);

	if (it == NULL)
		return STORE_NOT_FOUND;
	sched_yield();
	return store_win(w->core, it) ? STORE_OK : STORE_EXISTS;
}

/* ---- one key ---- */

/* Waits until all threads have reached a key. */
static void
gather(struct worker *w, uint32_t n)
{
	atomic_fetch_add(&w->run->arrived, 1);
	while (atomic_load(&w->run->arrived) < THREADS * (n + 1) && !atomic_load(&w->run->lied))
		sched_yield();
	store_turn(w->core, TURN_NOW_S);
}

static void
begin_all(struct worker *w, uint32_t n)
{
	struct score *s = &w->run->scores[n];
	const char letter[2] = {(char)('a' + w->id), 0};
	struct writing extend = {.conditions = {.mode = STORE_APPEND, .vivify = true},
				 .bytes = letter};
	struct writing make = {.conditions = {.mode = STORE_ADD, .won = true}, .bytes = ""};
	struct store_arith_result total;

	if (insist(w, "count", n, call_count, &total) == STORE_OK) {
		s->counted++;
		s->created += total.created;
	}
	s->extended += insist(w, "extend", n, call_write, &extend) == STORE_OK;
	s->made += insist(w, "make", n, call_write, &make) == STORE_OK;
	if (insist(w, "make", n, call_win, NULL) == STORE_OK)
		lie(w->run, "an item that was made as won was won", n);
}

/* Two threads change the item, which copies it, while all try to win the token. */
static void
win_all(struct worker *w, uint32_t n)
{
	struct score *s = &w->run->scores[n];
	struct store_arith_result total;

	if (w->id == 0)
		insist(w, "stale", n, call_touch, NULL);
	else if (w->id == 1)
		insist(w, "stale", n, call_count, &total);
	else
		s->won += insist(w, "stale", n, call_win, NULL) == STORE_OK;
	s->won += insist(w, "stale", n, call_win, NULL) == STORE_OK;
}

/* ---- the verdict ---- */

static const struct item *
look(struct store_core *sc, const char *what, uint32_t n)
{
	char text[32];
	const struct view key = name_of(what, n, text);

	return store_peek(sc, key, store_hash(sc, key));
}

static bool
value_is_number(struct store_core *sc, const struct item *it, uint32_t number)
{
	char text[32];
	const int len = snprintf(text, sizeof text, "%u", number);

	return it != NULL && item_value_len(it) == (uint32_t)len &&
	       memcmp(store_value_at(sc, it, 0).data, text, (size_t)len) == 0;
}

static bool
letters_are_there(struct store_core *sc, const struct item *it)
{
	uint32_t letters = 0;

	if (it == NULL || item_value_len(it) != THREADS)
		return false;
	for (uint32_t i = 0; i < THREADS; i++)
		letters |= 1u << (store_value_at(sc, it, i).data[0] - 'a');
	return letters == (1u << THREADS) - 1;
}

/* Checks a key that no thread uses any more. */
static void
judge_key(struct run *run, struct store_core *sc, uint32_t n)
{
	const struct score *s = &run->scores[n];
	const struct item *stale = look(sc, "stale", n);

	if (s->created != 1 || s->counted != THREADS)
		lie(run, "a number was begun twice", n);
	if (!value_is_number(sc, look(sc, "count", n), THREADS))
		lie(run, "a count is lost", n);
	if (s->extended != THREADS || !letters_are_there(sc, look(sc, "extend", n)))
		lie(run, "an append is lost", n);
	if (s->made != 1)
		lie(run, "not one core made the item", n);
	if (!value_is_number(sc, stale, FIRST_NUMBER + 1) || !item_is_stale(stale) ||
	    item_expiry_s(stale) != EXPIRY_S)
		lie(run, "a change of the stale item is lost", n);
	else if (s->won + store_win(sc, stale) != 1)
		lie(run, "not one core won", n);
}

/* ---- all keys ---- */

static void *
work(void *arg)
{
	struct worker *w = arg;
	struct writing first = {.conditions = {.mode = STORE_SET}, .bytes = "5"};

	gaps_begin(w->id + 1);
	store_turn(w->core, TURN_NOW_S);
	for (uint32_t n = 0; n < w->run->keys && !atomic_load(&w->run->lied); n++) {
		if (w->id == n % THREADS) {
			insist(w, "stale", n, call_write, &first);
			insist(w, "stale", n, call_stale, NULL);
		}
		gather(w, n);
		if (w->id == 0 && n != 0)
			judge_key(w->run, w->core, n - 1);
		begin_all(w, n);
		win_all(w, n);
	}
	store_offline(w->core);
	return NULL;
}

static void
run_threads(struct run *run)
{
	struct worker workers[THREADS];
	pthread_t threads[THREADS];

	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){run, store_core_of(run->store, i), i};
		if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
			abort();
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int
main(int argc, char **argv)
{
	const bool mutant = argc == 2 && strcmp(argv[1], "caught") == 0;
	const struct store_config cfg = {.memory_bytes = MEMORY,
					 .cores = THREADS,
					 .value_max = STORE_VALUE_MAX,
					 .seed = 0x5eed};
	struct region region = {.size = align_up(store_bytes(&cfg), 4096)};
	struct run run = {.keys = mutant ? CAUGHT_KEYS : KEYS};

	region.base = aligned_alloc(4096, region.size);
	run.scores = calloc(run.keys, sizeof *run.scores);
	if (region.base == NULL || run.scores == NULL)
		return 1;
	if (mutant)
		crash_is_harm();
	run.store = store_create(&region, &cfg);
	run_threads(&run);
	printf("%s\n", run.lied ? "lied" : "no lie seen");
	free(run.scores);
	free(region.base);
	return run.lied == mutant ? 0 : 1;
}
