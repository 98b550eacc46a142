/*
 * Many cores in one store. Goal: a get returns a miss or the last value written, beside any
 * calls of other cores; no count is lost. Method: threads as cores, two that write and two that
 * read; every value has its key, its version and a sum, so that a reader can check it alone. The
 * run ends at the first lie, or after some seconds without one.
 *
 *   move    an index so full and small that keys change buckets all the time; keys that are never
 *           written must be found by every get
 *   walk    the same index; a walk over all items shows each of these keys once
 *   reuse   few keys written over and over; an item that a reader got must not change until its
 *           turn ends
 *   evict   more than the memory holds, small to chunked, with deletes: eviction, page moves
 *   count   every thread increments one key, and adds to another by cas: the sums are exact
 *
 * With "resized" as second argument the index grows and shrinks all the time.
 *
 * With "caught" as last argument, the store is a mutant (mutants.py), and the run passes only
 * if a lie was seen, or the store found itself broken.
 */
#include "eviction_sieve.h"
#include "caught.h"
#include "store/resize.h"
#include "image/store_plan.h"
#include "../support/store_calls.h"
#include "image/store_image.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS       4u
#define WRITERS       2u
#define RUN_MS        1500u
#define CAUGHT_MS     60000u /* how long a mutant may stay undetected */
#define TURN_OPS      16u
#define COUNT_TO      40000u
#define KEYS_MAX      40000u
#define MOVE_BUCKETS  256u
#define MOVE_RESIDENT 2380u
#define MOVE_PASSING  30u
#define LOOKS_AGAIN   1000u
#define WALK_ITEMS    16u

struct run {
	struct store *store;
	_Atomic bool stop;
	_Atomic uint64_t lies;
	const char *_Atomic lie;
	uint32_t sizes[2];                   /* least and most buckets of a resized index */
	_Atomic uint64_t versions[KEYS_MAX]; /* the version that the key's only writer wrote last */
};

struct worker {
	struct run *run;
	struct store_core *core;
	uint32_t id;
	uint64_t random;
	uint64_t walks;          /* walks done */
	uint64_t seen[KEYS_MAX]; /* versions read last: a later read may see no older one */
};

/* The record at the beginning of a value. */
struct content {
	uint64_t key, version, len, sum;
};

static void
lie(struct run *run, const char *what)
{
	atomic_fetch_add(&run->lies, 1);
	atomic_store(&run->lie, what);
	atomic_store(&run->stop, true);
}

static uint64_t
next_random(struct worker *w)
{
	w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
	return w->random >> 24;
}

/* Starts a resize to any size between the two, as soon as the last one has ended. */
static void
resize_now(struct worker *w)
{
	const uint32_t least = w->run->sizes[0], most = w->run->sizes[1];

	resize_begin(w->core, least + (uint32_t)(next_random(w) % (most - least)) / 2 * 2);
}

static bool
running(struct worker *w, uint64_t op)
{
	if (op % TURN_OPS == 0)
		store_turn(w->core, 2);
	if (w->run->sizes[1] != 0 && op % TURN_OPS == 0)
		resize_now(w);
	if (op % (TURN_OPS * 16) == 0)
		store_housekeeping(w->core);
	return !atomic_load_explicit(&w->run->stop, memory_order_relaxed);
}

static struct view
key_view(const uint64_t *key)
{
	return (struct view){(const uint8_t *)key, sizeof *key};
}

static uint64_t
sum_of(const struct content *t)
{
	return hash_bytes(t, offsetof(struct content, sum), 99);
}

/* Writes the value of a version: the record, then bytes that follow from it. */
static void
write_value(struct store_core *sc, struct fill *f, struct content t)
{
	uint8_t bytes[4096];

	t.sum = sum_of(&t);
	store_fill(sc, f, &t, sizeof t);
	memset(bytes, (int)(t.sum & 0xff), sizeof bytes);
	while (f->filled < f->value_len) {
		const uint32_t left = f->value_len - f->filled;

		store_fill(sc, f, bytes, left < sizeof bytes ? left : (uint32_t)sizeof bytes);
	}
}

static enum store_result
write_key(struct worker *w, uint64_t key, uint64_t version, uint32_t len)
{
	const struct view k = key_view(&key);
	struct fill f;
	enum store_result r = store_begin(w->core, &f, k, store_hash(w->core, k), len, 0, 0);

	if (r != STORE_OK)
		return r;
	write_value(w->core, &f, (struct content){.key = key, .version = version, .len = len});
	return store_finish(w->core, &f, STORE_SET, 0);
}

/* True if the item is of this key, and every byte of its value is right. */
static bool
item_is_right(struct worker *w, const struct item *it, uint64_t key, struct content *t)
{
	const uint32_t len = item_value_len(it);
	uint32_t at = sizeof *t;

	if (item_key_len(it) != sizeof key || memcmp(item_key_bytes(it), &key, sizeof key) != 0 ||
	    len < sizeof *t || len > STORE_VALUE_MAX)
		return false;
	memcpy(t, store_value_at(w->core, it, 0).data, sizeof *t);
	if (t->key != key || t->len != len || t->sum != sum_of(t))
		return false;
	while (at < len) {
		const struct view run = store_value_at(w->core, it, at);

		for (uint32_t i = 0; i < run.len; i++)
			if (run.data[i] != (uint8_t)t->sum)
				return false;
		at += run.len;
	}
	return true;
}

/* ---- move ---- */

static void
move_writer(struct worker *w)
{
	uint64_t keys[MOVE_PASSING] = {0};
	uint64_t next = (uint64_t)(w->id + 1) << 40;

	for (uint64_t op = 0; running(w, op); op++) {
		uint64_t *slot = &keys[op % MOVE_PASSING];
		const struct view old = key_view(slot);

		if (*slot != 0)
			store_delete(w->core, old, store_hash(w->core, old));
		*slot = next++;
		write_key(w, *slot, 1, sizeof(struct content));
	}
}

static void
move_reader(struct worker *w)
{
	for (uint64_t op = 0; running(w, op); op++) {
		const uint64_t key = next_random(w) % MOVE_RESIDENT;
		const struct view k = key_view(&key);
		const uint64_t hash = store_hash(w->core, k);
		const uint64_t over =
			counter_read(&store_counters(w->core)[STORE_RETRIES_EXHAUSTED]);

		if (store_get(w->core, k, hash) != NULL ||
		    counter_read(&store_counters(w->core)[STORE_RETRIES_EXHAUSTED]) != over)
			continue;
		/* No thread writes this key: if it is found later, it was there all the time. */
		for (uint32_t i = 0; i < LOOKS_AGAIN; i++) {
			if (store_get(w->core, k, hash) != NULL) {
				lie(w->run, "a key that was there was not found");
				break;
			}
		}
	}
}

/* ---- walk ---- */

/* Stores and deletes passing keys, and overwrites half of the others. */
static void
walk_writer(struct worker *w)
{
	uint64_t keys[MOVE_PASSING] = {0};
	uint64_t next = (uint64_t)(w->id + 1) << 40;

	for (uint64_t op = 0; running(w, op); op++) {
		uint64_t *slot = &keys[op % MOVE_PASSING];
		const struct view old = key_view(slot);

		if (*slot != 0)
			store_delete(w->core, old, store_hash(w->core, old));
		*slot = next++;
		write_key(w, *slot, 1, sizeof(struct content));
		write_key(w, next_random(w) % (MOVE_RESIDENT / 2), op, sizeof(struct content));
	}
}

/* Walks over all items. False: the run has ended amid the walk. */
static bool
walk_once(struct worker *w, uint8_t *shown, uint64_t *op)
{
	struct walk_cursor cursor = {0};
	const struct item *items[WALK_ITEMS];

	memset(shown, 0, MOVE_RESIDENT);
	while (!cursor.done) {
		const uint32_t n = store_walk(w->core, &cursor, STORE_ALL_CLASSES, items,
					      1 + (uint32_t)(next_random(w) % WALK_ITEMS));

		for (uint32_t i = 0; i < n; i++) {
			const uint64_t key = load_u64(item_key(items[i]).data);

			if (key < MOVE_RESIDENT)
				shown[key]++;
		}
		if (!running(w, ++*op))
			return false;
	}
	return true;
}

static void
walk_reader(struct worker *w)
{
	uint8_t shown[MOVE_RESIDENT];

	for (uint64_t op = 0; walk_once(w, shown, &op); w->walks++)
		for (uint64_t key = 0; key < MOVE_RESIDENT; key++)
			if (shown[key] != 1)
				lie(w->run, shown[key] == 0 ? "a walk missed a key"
							    : "a walk showed a key twice");
}

/* ---- reuse and evict ---- */

static void
write_own_keys(struct worker *w, uint32_t keys, bool large)
{
	for (uint64_t op = 0; running(w, op); op++) {
		const uint64_t key = next_random(w) % (keys / WRITERS) * WRITERS + w->id;
		const uint64_t r = next_random(w);
		const struct view k = key_view(&key);
		uint32_t len = sizeof(struct content) + (uint32_t)(r % 64);

		if (large && r % 8 == 0)
			len += (uint32_t)(r >> 8) % 3000;
		if (large && r % 2048 == 1)
			len += (uint32_t)(r >> 11) % 200000;
		if (large && r % 16 == 2) {
			store_delete(w->core, k, store_hash(w->core, k));
			continue;
		}

		const uint64_t version = atomic_load(&w->run->versions[key]) + 1;

		atomic_store(&w->run->versions[key], version);
		/* There are more threads than processors: memory is freed
		 * when the others have run. */
		if (write_key(w, key, version, len) == STORE_NO_MEMORY)
			sched_yield();
	}
}

static void
judge_item(struct worker *w, const struct item *it, uint64_t key)
{
	struct content t;

	if (!item_is_right(w, it, key, &t)) {
		lie(w->run, "a value was not what was written under its key");
		return;
	}
	if (t.version < w->seen[key])
		lie(w->run, "a version came back after a newer one had been seen");
	if (t.version > atomic_load(&w->run->versions[key]))
		lie(w->run, "a version was seen that nobody wrote");
	w->seen[key] = t.version;
}

static void
read_keys(struct worker *w, uint32_t keys)
{
	const struct item *held[TURN_OPS] = {NULL};
	uint64_t held_key[TURN_OPS] = {0};
	struct content t;

	for (uint64_t op = 0; running(w, op); op++) {
		const uint64_t key = next_random(w) % keys;
		const struct view k = key_view(&key);
		const uint32_t n = op % TURN_OPS;

		held[n] = store_get(w->core, k, store_hash(w->core, k));
		held_key[n] = key;
		if (held[n] != NULL)
			judge_item(w, held[n], key);
		if (n != TURN_OPS - 1)
			continue;
		/* At the end of the turn all items got in it must be unchanged. */
		for (uint32_t i = 0; i < TURN_OPS; i++)
			if (held[i] != NULL && !item_is_right(w, held[i], held_key[i], &t))
				lie(w->run, "an item changed while a reader held it");
	}
}

/* ---- count ---- */

static void
count_once(struct worker *w, const char *name, bool cas)
{
	const struct view k = {(const uint8_t *)name, (uint32_t)strlen(name)};
	const uint64_t hash = store_hash(w->core, k);
	enum store_result r = STORE_EXISTS;
	uint64_t value;

	for (uint64_t op = 1; r != STORE_OK && running(w, op); op++) {
		if (!cas) {
			r = store_count(w->core, k, hash, 1, false, &value);
			if (r == STORE_NOT_FOUND) {
				lie(w->run, "a counter is gone");
				return;
			}
			continue;
		}

		const struct item *it = store_get(w->core, k, hash);
		struct fill f;

		if (it == NULL) {
			lie(w->run, "a counter is gone");
			return;
		}
		value = load_u64(store_value_at(w->core, it, 0).data) + 1;
		if (store_begin(w->core, &f, k, hash, sizeof value, 0, 0) != STORE_OK)
			continue;
		store_fill(w->core, &f, &value, sizeof value);
		r = store_finish(w->core, &f, STORE_CAS, item_cas(it));
	}
}

static void
count_up(struct worker *w)
{
	for (uint32_t i = 0; i < COUNT_TO; i++) {
		running(w, i);
		count_once(w, "incr", false);
		count_once(w, "cas", true);
	}
	store_offline(w->core);
}

static void
check_counts(struct run *run)
{
	struct store_core *sc = store_core_of(run->store, 0);
	const struct view a = {(const uint8_t *)"incr", 4}, b = {(const uint8_t *)"cas", 3};
	const struct item *incr = store_get(sc, a, store_hash(sc, a));
	const struct item *cas = store_get(sc, b, store_hash(sc, b));

	if (incr == NULL || strtoull((const char *)item_tail(incr), NULL, 10) != THREADS * COUNT_TO)
		lie(run, "increments were lost or done twice");
	if (cas == NULL || load_u64(item_tail(cas)) != THREADS * COUNT_TO)
		lie(run, "a cas stored over a version it had not seen");
	if (incr != NULL && cas != NULL && item_cas(incr) != item_cas(cas))
		lie(run, "as many versions as changes, for either key");
}

/* ---- the run ---- */

enum load { LOAD_MOVE, LOAD_WALK, LOAD_REUSE, LOAD_EVICT, LOAD_COUNT };

static const char *const load_names[] = {"move", "walk", "reuse", "evict", "count"};

struct job {
	struct worker *worker;
	enum load load;
};

static void *
work(void *arg)
{
	const struct job *job = arg;
	struct worker *w = job->worker;
	const bool writes = w->id < WRITERS;

	if (job->load == LOAD_COUNT)
		count_up(w);
	else if (job->load == LOAD_MOVE && writes)
		move_writer(w);
	else if (job->load == LOAD_MOVE)
		move_reader(w);
	else if (job->load == LOAD_WALK && writes)
		walk_writer(w);
	else if (job->load == LOAD_WALK)
		walk_reader(w);
	else if (writes)
		write_own_keys(w, job->load == LOAD_REUSE ? 64 : KEYS_MAX, job->load == LOAD_EVICT);
	else
		read_keys(w, job->load == LOAD_REUSE ? 64 : KEYS_MAX);
	store_offline(w->core);
	return NULL;
}

/* Least and most buckets of a resized index: what the load needs, and some more. Its pages are
 * taken by evicting items. */
static const uint32_t sizes[][2] = {[LOAD_MOVE] = {MOVE_BUCKETS, 2 * MOVE_BUCKETS},
				    [LOAD_WALK] = {MOVE_BUCKETS, 2 * MOVE_BUCKETS},
				    [LOAD_REUSE] = {INDEX_BUCKETS_MIN, 64},
				    [LOAD_EVICT] = {2048, 20000},
				    [LOAD_COUNT] = {INDEX_BUCKETS_MIN, 32}};

static struct store *
make_store(enum load load, bool resized, const struct eviction_policy *policy, void **memory)
{
	const struct store_config cfg = {.memory_bytes = STORE_MEMORY_MIN,
					 .cores = THREADS,
					 .value_max = STORE_VALUE_MAX,
					 .seed = (uint64_t)time(NULL),
					 .never_evict = load == LOAD_WALK,
					 .eviction = policy};
	struct store_plan plan = store_plan_of(&cfg);
	struct region region = {.size = align_up(store_bytes(&cfg), 4096)};

	printf("seed %llu\n", (unsigned long long)cfg.seed);
	if (load == LOAD_MOVE || load == LOAD_WALK || resized) {
		plan.bucket_count = sizes[load][0];
		plan.bucket_step = 0;
	}
	*memory = region.base = aligned_alloc(4096, region.size);
	return store_create_planned(&region, &cfg, &plan);
}

static void
fill_store(struct worker *w, enum load load)
{
	const uint64_t zero = 0;
	const struct view keys[2] = {{(const uint8_t *)"incr", 4}, {(const uint8_t *)"cas", 3}};

	for (uint64_t key = 0; (load == LOAD_MOVE || load == LOAD_WALK) && key < MOVE_RESIDENT;
	     key++)
		write_key(w, key, 1, sizeof(struct content));
	for (uint32_t i = 0; load == LOAD_COUNT && i < 2; i++) {
		const struct view value = {i == 0 ? (const uint8_t *)"0" : (const uint8_t *)&zero,
					   i == 0 ? 1 : 8};
		struct fill f;

		store_begin(w->core, &f, keys[i], store_hash(w->core, keys[i]), value.len, 0, 0);
		store_fill(w->core, &f, value.data, value.len);
		store_finish(w->core, &f, STORE_SET, 0);
	}
}

static uint64_t
clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void
wait_for_end(struct run *run, enum load load, uint32_t run_ms)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	const uint64_t end = clock_ms() + run_ms;

	if (load == LOAD_COUNT)
		return;
	while (clock_ms() < end && !atomic_load(&run->stop))
		nanosleep(&ms, NULL);
	atomic_store(&run->stop, true);
}

static void
print_counters(struct store *store)
{
	for (uint32_t c = 0; c < STORE_COUNTER_COUNT; c++) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < THREADS; i++)
			sum += counter_read(&store_counters(store_core_of(store, i))[c]);
		if (sum != 0)
			printf("  %12llu %s\n", (unsigned long long)sum,
			       store_counter_names[c].words);
	}
}

static void
run_threads(struct run *run, enum load load, uint32_t run_ms)
{
	struct worker *workers = calloc(THREADS, sizeof *workers);
	struct job jobs[THREADS];
	pthread_t threads[THREADS];

	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.run = run,
					     .core = store_core_of(run->store, i),
					     .id = i,
					     .random = run->store->seed + i};
		jobs[i] = (struct job){&workers[i], load};
	}
	fill_store(&workers[0], load);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, &jobs[i]);
	wait_for_end(run, load, run_ms);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (load == LOAD_COUNT && atomic_load(&run->lies) == 0)
		check_counts(run);
	for (uint32_t i = WRITERS; load == LOAD_WALK && i < THREADS; i++)
		printf("%llu walks\n", (unsigned long long)workers[i].walks);
	free(workers);
}

int
main(int argc, char **argv)
{
	struct run *run = calloc(1, sizeof *run);
	const bool mutant = argc > 2 && strcmp(argv[argc - 1], "caught") == 0;
	const bool resized = argc > 2 && strcmp(argv[2], "resized") == 0;
	const struct eviction_policy *named = argc > 2 ? eviction_named(argv[2]) : NULL;
	enum load load = LOAD_MOVE;
	void *memory;

	while (argc > 1 && load < LOAD_COUNT && strcmp(argv[1], load_names[load]) != 0)
		load++;
	if (mutant)
		crash_is_harm();
	run->store = make_store(load, resized, named != NULL ? named : &eviction_clock, &memory);
	if (resized)
		memcpy(run->sizes, sizes[load], sizeof run->sizes);
	run_threads(run, load, mutant ? CAUGHT_MS : RUN_MS);
	print_counters(run->store);

	const bool lied = atomic_load(&run->lies) != 0;

	if (lied)
		printf("lie: %s\n", atomic_load(&run->lie));
	else
		printf("no lie seen\n");
	free(run);
	free(memory);
	return lied == mutant ? 0 : 1;
}
