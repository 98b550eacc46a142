/*
 * Floods of flushes among sets, gets, touches and deletes of many cores. Goal: no flushed item is
 * found again, no other is lost in a store that never evicts, and in the end no item is hidden.
 * Method: every value has a number; its writer notes how many flushes had begun when it was stored.
 * If a later flush is done, and a reader finds the value after that, the store has lied. Sixteen
 * flushes at a time are more than there are numbers for: the last ones wait for the sweep.
 *
 * With "resized" as argument the index grows and shrinks all the time; with "evicts" the store
 * may evict. With "caught" the store is a mutant, and must fail.
 */
#include "caught.h"
#include "store/account.h"
#include "store/resize.h"
#include "image/store_image.h"
#include "image/store_plan.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS     3u
#define RUN_MS      1500u
#define CAUGHT_MS   60000u /* how long a mutant may stay undetected */
#define TURN_OPS    64u
#define KEYS        120000u /* several times what the retire list holds */
#define FLOOD       (GENERATIONS_MAX + 1)
#define CALM_OPS    60000u     /* operations of the flusher between floods */
#define NUMBERS     (1u << 21) /* values of a writer, after which it ends */
#define LEAST       14000u     /* buckets of a resized index, at least */
#define MOST        18000u
#define DRAIN_TURNS 20000u
#define NOT_THERE   0
#define FAR_SECONDS 1000000u

struct run {
	struct store *store;
	_Atomic bool stop;
	const char *_Atomic lie;
	bool resized;
	_Atomic uint32_t begun, done;             /* numbers of flushes */
	_Atomic uint32_t there[THREADS][NUMBERS]; /* note() after this value was stored */
};

struct worker {
	struct run *run;
	struct store_core *core;
	uint32_t id, next;
	uint64_t random, stored, found, refused, waited;
	uint32_t last[KEYS]; /* note() of own keys that must exist until the next flush */
};

struct content {
	uint32_t key, writer, number, sum;
};

static void
lie(struct run *run, const char *what)
{
	atomic_store(&run->lie, what);
	atomic_store(&run->stop, true);
}

static uint32_t
next_random(struct worker *w)
{
	w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(w->random >> 33);
}

static bool
running(struct worker *w, uint64_t op)
{
	if (op % TURN_OPS == 0)
		store_turn(w->core, STORE_CLOCK_START);
	if (w->run->resized && op % (TURN_OPS * 64) == 0)
		resize_begin(w->core, LEAST + next_random(w) % (MOST - LEAST) / 2 * 2);
	if (op % (TURN_OPS * 16) == 0)
		store_housekeeping(w->core);
	return !atomic_load_explicit(&w->run->stop, memory_order_relaxed) && w->next < NUMBERS;
}

static struct view
key_view(const uint32_t *key)
{
	return (struct view){(const uint8_t *)key, sizeof *key};
}

/* Returns one more than the number of flushes that have begun, since 0 stands for no note. */
static uint32_t
note(struct run *run)
{
	return atomic_load(&run->begun) + 1;
}

static void
store_key(struct worker *w, uint32_t key)
{
	const struct view k = key_view(&key);
	const struct content t = {key, w->id, w->next, key ^ w->next};
	const uint32_t done = atomic_load(&w->run->done);
	struct fill f;
	uint32_t noted;

	w->last[key] = NOT_THERE;
	if (store_begin(w->core, &f, k, store_hash(w->core, k), sizeof t, 0, 0) != STORE_OK) {
		w->refused++;
		return;
	}
	store_fill(w->core, &f, &t, sizeof t);
	if (store_finish(w->core, &f, STORE_SET, 0) != STORE_OK) {
		w->refused++;
		return;
	}
	noted = note(w->run);
	atomic_store(&w->run->there[w->id][w->next++], noted);
	/* A flush that was under way may have flushed the value. */
	if (done + 1 == noted)
		w->last[key] = noted;
	w->stored++;
}

/* Returns the value's note; UINT32_MAX if its writer has not noted it yet. */
static uint32_t
was_there(struct run *run, const struct content *t)
{
	const uint32_t noted = atomic_load(&run->there[t->writer][t->number]);

	return noted != NOT_THERE ? noted : UINT32_MAX;
}

static void
find_key(struct worker *w, uint32_t key)
{
	const struct view k = key_view(&key);
	const uint32_t done = atomic_load(&w->run->done);
	const struct item *it = store_get(w->core, k, store_hash(w->core, k));
	struct content t;

	if (it == NULL) {
		if (w->run->store->never_evict && key % THREADS == w->id &&
		    w->last[key] == note(w->run))
			lie(w->run, "a value that nobody flushed is gone");
		return;
	}
	memcpy(&t, store_value_at(w->core, it, 0).data, sizeof t);
	if (t.key != key || t.writer != key % THREADS || t.sum != (t.key ^ t.number))
		lie(w->run, "a value was not what was written under its key");
	else if (done + 1 > was_there(w->run, &t))
		lie(w->run, "a flushed value came back");
	w->found++;
}

static void
touch_or_delete(struct worker *w, uint32_t key, bool touch)
{
	const struct view k = key_view(&key);
	const struct item *it;

	if (touch) {
		store_touch(w->core, k, store_hash(w->core, k), FAR_SECONDS, &it);
		return;
	}
	w->last[key] = NOT_THERE;
	store_delete(w->core, k, store_hash(w->core, k));
}

/* Flushes as a connection does. False if the run ends before. */
static bool
flush(struct worker *w)
{
	while (store_flush(w->core, 0) != STORE_OK) {
		if (atomic_load_explicit(&w->run->stop, memory_order_relaxed))
			return false;
		store_turn(w->core, STORE_CLOCK_START);
		w->waited++;
		sched_yield();
	}
	return true;
}

static void
flood(struct worker *w)
{
	for (uint32_t i = 0; i < FLOOD; i++) {
		store_key(w, next_random(w) % (KEYS / THREADS) * THREADS + w->id);
		atomic_fetch_add(&w->run->begun, 1);
		if (!flush(w))
			return;
		atomic_store(&w->run->done, atomic_load(&w->run->begun));
	}
}

static void *
work(void *arg)
{
	struct worker *w = arg;

	for (uint64_t op = 0; running(w, op); op++) {
		const uint32_t own = next_random(w) % (KEYS / THREADS) * THREADS + w->id;
		const uint32_t how = next_random(w) % 16;

		if (how < 10)
			store_key(w, own);
		else if (how < 14)
			find_key(w, how < 12 ? own : next_random(w) % KEYS);
		else
			touch_or_delete(w, own, how == 14);
		if (w->id == 0 && op % CALM_OPS == CALM_OPS - 1)
			flood(w);
	}
	store_offline(w->core);
	return NULL;
}

/* Checks that after one more flush the store has freed everything. */
static void
check_end(struct run *run)
{
	struct store *st = run->store;
	uint32_t waiting = 1;

	for (uint32_t turn = 0; turn < DRAIN_TURNS; turn++) {
		for (uint32_t i = 0; i < THREADS; i++)
			store_turn(store_core_of(st, i), STORE_CLOCK_START);
		if (store_flush(store_core_of(st, 0), 0) == STORE_OK)
			break;
	}
	for (uint32_t turn = 0; turn < DRAIN_TURNS; turn++) {
		waiting = 0;
		for (uint32_t i = 0; i < THREADS; i++) {
			struct store_core *sc = store_core_of(st, i);

			store_turn(sc, STORE_CLOCK_START + turn / 64);
			store_housekeeping(sc);
			waiting += sc->retire_list.tail - sc->retire_list.head;
		}
	}
	if (atomic_load(&st->tombstones) != 0)
		lie(run, "something hides for ever");
	if (store_balance(st, STORE_ITEMS_LINKED, STORE_ITEMS_UNLINKED) != 0)
		lie(run, "something that was flushed was never collected");
	if (waiting != 0)
		lie(run, "the retire list keeps something");
}

static struct store *
make_store(bool never_evict, void **memory)
{
	const struct store_config cfg = {.memory_bytes = 16u << 20,
					 .cores = THREADS,
					 .value_max = STORE_VALUE_MAX,
					 .never_evict = never_evict,
					 .seed = (uint64_t)time(NULL)};
	struct store_plan plan = store_plan_of(&cfg);
	struct region region = {.size = align_up(store_bytes(&cfg), 4096)};

	printf("seed %llu\n", (unsigned long long)cfg.seed);
	plan.bucket_count = (LEAST + MOST) / 2;
	plan.bucket_step = 0;
	*memory = region.base = aligned_alloc(4096, region.size);
	return store_create_planned(&region, &cfg, &plan);
}

/* Waits for the end of the run. Returns the most tombstones seen. */
static uint64_t
wait_for_end(struct run *run, uint32_t run_ms)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	uint64_t most = 0;

	for (uint32_t i = 0; i < run_ms && !atomic_load(&run->stop); i++) {
		const uint64_t tombstones = atomic_load(&run->store->tombstones);

		most = tombstones > most ? tombstones : most;
		nanosleep(&ms, NULL);
	}
	atomic_store(&run->stop, true);
	return most;
}

static uint64_t
run_threads(struct run *run, uint32_t run_ms)
{
	struct worker *workers = calloc(THREADS, sizeof *workers);
	pthread_t threads[THREADS];
	uint64_t most;

	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i].run = run;
		workers[i].core = store_core_of(run->store, i);
		workers[i].id = i;
		workers[i].random = run->store->seed + i;
		pthread_create(&threads[i], NULL, work, &workers[i]);
	}
	most = wait_for_end(run, run_ms);
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		printf("%u: %llu stored, %llu found, %llu refused, %llu turns waited for a flush\n",
		       i, (unsigned long long)workers[i].stored,
		       (unsigned long long)workers[i].found, (unsigned long long)workers[i].refused,
		       (unsigned long long)workers[i].waited);
	}
	free(workers);
	return most;
}

int
main(int argc, char **argv)
{
	struct run *run = calloc(1, sizeof *run);
	bool never_evict = true, mutant = false;
	const char *said;
	uint64_t most;
	void *memory;

	for (int i = 1; i < argc; i++) {
		run->resized |= strcmp(argv[i], "resized") == 0;
		never_evict &= strcmp(argv[i], "evicts") != 0;
		mutant |= strcmp(argv[i], "caught") == 0;
	}
	if (mutant)
		crash_is_harm();
	run->store = make_store(never_evict, &memory);
	most = run_threads(run, mutant ? CAUGHT_MS : RUN_MS);
	if (atomic_load(&run->lie) == NULL)
		check_end(run);
	said = atomic_load(&run->lie);
	printf("%u flushes, %llu seen hidden at once, %llu buckets emptied\n%s\n",
	       atomic_load(&run->done), (unsigned long long)most,
	       (unsigned long long)store_sum(run->store, STORE_INDEX_MIGRATED),
	       said != NULL ? said : "no lie seen");
	free(memory);
	free(run);
	return (said != NULL) != mutant;
}
