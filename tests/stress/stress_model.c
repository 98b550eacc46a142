/*
 * Random calls on many threads, judged afterwards. Goal: the answers to concurrent calls are
 * those of a store that does one at a time, each key for itself, except for what it forgets.
 * Method: rounds of calls on a handful of keys that collide in everything, in an index so full
 * that items move and are evicted all the time; every call is recorded with its times
 * (history.h), and when the threads are done linear.c searches for an order. Each round has keys
 * of its own. Threads outnumber processors; yields at random places between calls, and within
 * them where the store was compiled with gaps (gap.h), make them meet.
 *
 * stress_model [caught] [SEED [MILLISECONDS [SHAPE]]]
 *
 * SHAPE is part of the names of the rounds to run. The seed is printed; with it the same calls
 * are made, though not at the same times (seed 0 is the time of day). With "caught" the store is
 * a mutant, and the run passes only if it lied or stalled.
 */
#include "eviction_sieve.h"
#include "asking.h"
#include "caught.h"
#include "gaps.h"
#include "linear.h"
#include "store/resize.h"
#include "image/store_plan.h"
#include "store/introspect.h"
#include "../support/store_calls.h"
#include "image/store_image.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 8u
#ifdef __SANITIZE_THREAD__
#define CALLS_A_ROUND 400u                 /* calls of a thread */
#define TICK_ORDER    memory_order_relaxed /* a stronger one hides what the store lacks */
#else
#define CALLS_A_ROUND 1500u
#define TICK_ORDER    memory_order_seq_cst
#endif
#define KEYS_MAX      60u
#define RUN_MS        1000u
#define CAUGHT_MS     60000u /* how long a mutant may stay undetected */
#define STALL_MS      1000u  /* if no call ends for so long, threads wait for each other */
#define STALL_SANE_MS 60000u
#define TURN_CALLS    12u
#define TIME_CALLS    400u /* calls of thread 0 in a second */
#define YIELD_OF      6u   /* one call in this many is followed by a yield */
#define OFFLINE_OF    16u  /* one turn in this many begins with a sleep */
#define PROBE_OF      4u
#define PROBE_ENDS    4u /* the last step of a probe */
#define MANY_OF       6u /* one call in this many is a batch of gets */
#define MANY_MAX      3u
#define WALK_OF       20u /* one call in this many is a walk over some buckets */
#define WALK_MAX      8u
#define EXTEND_FLAGS  1000u
#define TIME_THREAD   8u /* the history's thread for the steps of time */

/* The shape of a round. */
static const struct shape {
	const char *name;
	uint32_t threads, keys;
	uint32_t fillers;   /* other keys, which make items move */
	uint32_t filler_of; /* one call in this many is for them */
	uint32_t buckets, pages;
	uint32_t flush_of; /* one call in this many is a flush */
	uint32_t most;     /* buckets, if the index is resized all the time */
} shapes[] = {
	{"four, moves", 4, 40, 120, 2, 16, 8, 20000, 0},
	{"three on two keys", 3, 2, 155, 2, 16, 8, 300, 0},
	{"eight, moves", 8, 40, 120, 2, 16, 8, 20000, 0},
	{"two on one key", 2, 1, 156, 4, 16, 8, 300, 0},
	{"five, evictions", 5, 12, 16000, 2, 2048, 8, 1000, 0},
	{"two, moves", 2, 60, 100, 3, 16, 8, 20000, 0},
	{"eight on one key", 8, 1, 150, 8, 16, 8, 1000, 0},
	{"eight, flushes", 8, 3, 100, 8, 16, 8, 40, 0},
	{"one thread", 1, 2, 155, 2, 16, 8, 200, 0},
	{"four, resized", 4, 40, 120, 2, 16, 8, 20000, 32},
	{"eight, resized", 8, 4, 100, 4, 16, 8, 100, 24},
	{"five, resized, evictions", 5, 12, 16000, 2, 2048, 9, 1000, 9000},
	{"one thread, resized", 1, 2, 155, 2, 16, 8, 200, 20},
};

#define SHAPES (sizeof shapes / sizeof shapes[0])

struct worker {
	struct round *round;
	struct store_core *core;
	uint32_t id;
	uint64_t random;
	uint64_t cas[KEYS_MAX]; /* cas last seen of each key */
	uint32_t filled;        /* fillers stored so far */
	uint32_t count;
	struct call calls[CALLS_A_ROUND];
	struct probe probe; /* probe of probe_key, in step probe_step */
	uint32_t probe_key;
	uint32_t probe_step;
	const struct item *held; /* must not change until the turn ends */
	struct call held_as;
	bool changed; /* the held item did change */
};

struct round {
	const struct shape *shape;
	uint64_t number;
	struct store *store;
	void *memory;
	struct worker *workers;
	_Atomic uint64_t tick;
	_Atomic uint64_t done_calls;
	_Atomic uint32_t running;
	_Atomic uint32_t now_s;
	_Atomic uint32_t turned_s[THREADS_MAX]; /* each thread's clock, once its turn has begun */
	struct call time;                       /* the step under way until all turned_s reach it */
	struct call times[CALLS_A_ROUND];
	uint32_t time_count;
};

static uint64_t
next_random(uint64_t *random)
{
	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	return *random >> 33;
}

static uint64_t
roll(struct worker *w, uint64_t sides)
{
	return next_random(&w->random) % sides;
}

/* Returns the next tick, in one order of all threads. Earlier stores become visible here, as
 * before an answer leaves through a NIC. */
static uint64_t
next_tick(struct round *r)
{
	return atomic_fetch_add_explicit(&r->tick, 1, TICK_ORDER) + 1;
}

/* ---- one call ---- */

static struct view
name_of(const struct round *r, uint32_t key, char *text, size_t size)
{
	const int len = snprintf(text, size, "%llu:%u", (unsigned long long)r->number, key);

	return (struct view){(const uint8_t *)text, (uint32_t)len};
}

/* Returns the result for the history. Results that mean "nothing happened" without a reason count
 * as lack of memory. */
static enum store_result
result_seen(enum store_result r)
{
	return r <= STORE_NOT_A_NUMBER && r != STORE_TOO_LARGE ? r
	       : r == STORE_TOO_LARGE                          ? STORE_TOO_LARGE
							       : STORE_NO_MEMORY;
}

/* Records the item's fields. */
static void
take_down(struct worker *w, struct call *c, const struct item *it)
{
	const uint32_t len = item_value_len(it);

	c->got_number = item_cas(it);
	c->got_flags = item_flags(it);
	c->got_stale = item_is_stale(it);
	c->got_len = len < HISTORY_VALUE_MAX ? len : HISTORY_VALUE_MAX;
	if (len != 0)
		memcpy(c->got, store_value_at(w->core, it, 0).data, c->got_len);
	if (c->kind != CALL_GET)
		return;
	c->got_expiry_s = item_expiry_s(it);
	c->got_expiry = c->got_expiry_s == 0 || c->got_expiry_s > c->now_s;
	if (w->held == NULL) {
		w->held = it;
		w->held_as = *c;
	}
}

static enum store_result
do_call(struct worker *w, struct call *c, struct view key)
{
	const struct item *it = NULL;
	enum store_result r;

	if (c->kind == CALL_GET && w->probe_step == PROBE_ENDS) {
		it = store_get_probed(w->core, &w->probe, key);
		r = it != NULL ? STORE_OK : STORE_NOT_FOUND;
		w->probe_step = 0;
	} else {
		r = call_ask(w->core, c, key, &it);
	}
	if (it != NULL)
		take_down(w, c, it);
	return r;
}

/* ---- choice of calls ---- */

static const enum call_kind mix[] = {
	CALL_GET,     CALL_GET,     CALL_GET,   CALL_GET,   CALL_GET,        CALL_GET,
	CALL_SET,     CALL_SET,     CALL_ADD,   CALL_ADD,   CALL_CAS,        CALL_CAS,
	CALL_CAS,     CALL_INCR,    CALL_INCR,  CALL_DECR,  CALL_APPEND,     CALL_APPEND,
	CALL_PREPEND, CALL_REPLACE, CALL_TOUCH, CALL_TOUCH, CALL_DELETE,     CALL_COUNT,
	CALL_COUNT,   CALL_EXTEND,  CALL_LATE,  CALL_LATE,  CALL_DELETE_CAS, CALL_STALE,
	CALL_STALE,   CALL_EMPTY,   CALL_WIN,   CALL_WIN,   CALL_WIN,
};

/* Chooses a number, or a value that identifies its writer. */
static void
choose_value(struct worker *w, struct call *c)
{
	const bool extend =
		c->kind == CALL_APPEND || c->kind == CALL_PREPEND || c->kind == CALL_EXTEND;

	if (roll(w, 2) == 0)
		c->len = (uint32_t)snprintf(c->bytes, sizeof c->bytes, "%u",
					    (uint32_t)roll(w, extend ? 10 : 1000));
	else
		c->len = (uint32_t)snprintf(c->bytes, sizeof c->bytes, "%c%u.", (char)('a' + w->id),
					    w->count);
	if (c->kind == CALL_EXTEND)
		c->flags = EXTEND_FLAGS; /* no other call's: the answer shows what it did */
	if (extend)
		return;
	c->flags = roll(w, 2) == 0 ? (uint32_t)roll(w, 100) : 0;
}

/* The arguments that each kind of call has. */
static const struct brings {
	bool value, expiry, cas;
} brings[CALL_KINDS] = {
	[CALL_TOUCH] = {.expiry = true},
	[CALL_SET] = {.value = true, .expiry = true},
	[CALL_ADD] = {.value = true, .expiry = true},
	[CALL_REPLACE] = {.value = true, .expiry = true},
	[CALL_CAS] = {.value = true, .expiry = true, .cas = true},
	[CALL_LATE] = {.value = true, .expiry = true, .cas = true},
	[CALL_APPEND] = {.value = true},
	[CALL_PREPEND] = {.value = true},
	[CALL_EXTEND] = {.value = true, .expiry = true},
	[CALL_COUNT] = {.expiry = true},
	[CALL_EMPTY] = {.expiry = true},
	[CALL_DELETE_CAS] = {.cas = true},
	[CALL_STALE] = {.cas = true},
};

static void
choose_arguments(struct worker *w, struct call *c)
{
	const struct brings *b = &brings[c->kind];

	if (b->value)
		choose_value(w, c);
	if (b->cas)
		c->number = w->cas[c->key] + (roll(w, 8) == 0);
	if (c->kind == CALL_STALE && roll(w, 2) == 0)
		c->number = 0;
	if (c->kind == CALL_LATE && roll(w, 4) == 0)
		c->number -= c->number != 0;
	if (c->kind == CALL_INCR || c->kind == CALL_DECR || c->kind == CALL_COUNT)
		c->number = roll(w, 20);
	if (c->kind == CALL_COUNT)
		c->initial = roll(w, 1000);
	if ((b->expiry && roll(w, 4) == 0) || c->kind == CALL_FLUSH)
		c->expiry_s = c->now_s + (uint32_t)roll(w, 3);
}

static struct call
choose_call(struct worker *w)
{
	const struct shape *s = w->round->shape;
	struct call c = {.thread = w->id,
			 .key = (uint32_t)roll(w, s->keys),
			 .now_s = w->core->now_s,
			 .kind = mix[roll(w, sizeof mix / sizeof mix[0])]};

	if (roll(w, s->flush_of) == 0)
		c.kind = CALL_FLUSH;
	choose_arguments(w, &c);
	return c;
}

/* Makes a get in separate steps, as in a batch: other calls of this thread run in between. */
static bool
probe_on(struct worker *w)
{
	char text[ITEM_KEY_MAX];

	switch (w->probe_step) {
	case 0:
		if (roll(w, PROBE_OF) != 0)
			return false;
		w->probe_key = (uint32_t)roll(w, w->round->shape->keys);
		store_probe(w->core, &w->probe, name_of(w->round, w->probe_key, text, sizeof text));
		break;
	case 1:
		store_probe_primary(w->core, &w->probe);
		break;
	case 2:
		store_probe_alternate(w->core, &w->probe);
		break;
	default:
		w->probe_step = PROBE_ENDS;
		return true;
	}
	w->probe_step += roll(w, 2) == 0;
	return false;
}

/* Gets a batch of different keys: each is a call, all at the same time. */
static void
ask_many(struct worker *w)
{
	const struct shape *s = w->round->shape;
	const uint32_t count = s->keys < MANY_MAX ? s->keys : MANY_MAX;
	const uint32_t first = (uint32_t)roll(w, s->keys);
	struct call *calls = &w->calls[w->count];
	char texts[MANY_MAX][ITEM_KEY_MAX];
	struct view keys[MANY_MAX];
	const struct item *items[MANY_MAX];

	if (w->count + count > CALLS_A_ROUND)
		return;
	for (uint32_t i = 0; i < count; i++) {
		calls[i] = (struct call){.thread = w->id,
					 .kind = CALL_GET,
					 .key = (first + i) % s->keys,
					 .now_s = w->core->now_s};
		keys[i] = name_of(w->round, calls[i].key, texts[i], sizeof texts[i]);
	}
	calls[0].invoked = next_tick(w->round);
	store_gets(w->core, keys, count, items);
	for (uint32_t i = 0; i < count; i++) {
		calls[i].invoked = calls[0].invoked;
		calls[i].result = items[i] != NULL ? STORE_OK : STORE_NOT_FOUND;
		if (items[i] != NULL)
			take_down(w, &calls[i], items[i]);
	}
	calls[0].returned = next_tick(w->round);
	for (uint32_t i = 0; i < count; i++)
		calls[i].returned = calls[0].returned;
	w->count += count;
}

/* Reads the key's number, if it is one of this round's. */
static bool
key_number(const struct round *r, struct view name, uint32_t *key)
{
	char text[ITEM_KEY_MAX + 1], again[ITEM_KEY_MAX];
	unsigned long long round;

	memcpy(text, name.data, name.len);
	text[name.len] = 0;
	if (sscanf(text, "%llu:%u", &round, key) != 2 || *key >= r->shape->keys)
		return false;
	return view_equal(name, name_of(r, *key, again, sizeof again));
}

/* Walks some buckets of the index, as a dump does: a key's item in it must be one that a get
 * would have found. */
static void
ask_walk(struct worker *w)
{
	struct walk_cursor cursor = {.at = (uint32_t)roll(w, UINT32_MAX)};
	struct call *c = &w->calls[w->count];
	const struct item *items[WALK_MAX];

	*c = (struct call){.thread = w->id, .kind = CALL_GET, .now_s = w->core->now_s};
	c->invoked = next_tick(w->round);

	const uint32_t count = store_walk(w->core, &cursor, STORE_ALL_CLASSES, items, WALK_MAX);

	for (uint32_t i = 0; i < count; i++) {
		if (!key_number(w->round, item_key(items[i]), &c->key))
			continue;
		take_down(w, c, items[i]);
		c->returned = next_tick(w->round); /* only now: a touch may have written in place */
		w->count++;
		return;
	}
}

static void
ask(struct worker *w)
{
	struct call *c = &w->calls[w->count];
	char text[ITEM_KEY_MAX];

	*c = choose_call(w);
	if (probe_on(w)) {
		*c = (struct call){.thread = w->id,
				   .kind = CALL_GET,
				   .key = w->probe_key,
				   .now_s = w->core->now_s};
	}

	const struct view key = name_of(w->round, c->key, text, sizeof text);

	c->invoked = next_tick(w->round);
	c->result = result_seen(do_call(w, c, key));
	c->returned = next_tick(w->round);
	if (call_tells_item(c))
		w->cas[c->key] = c->got_number;
	w->count++;
	if (c->result == STORE_NO_MEMORY)
		sched_yield(); /* memory is freed when the others have turned */
}

/* Fills the index with keys that are never read: each worker stores a new one and deletes its
 * oldest, so their number is constant, and each new one needs a place. */
static void
fill(struct worker *w, uint32_t filler, enum call_kind kind)
{
	struct call c = {.kind = kind, .len = HISTORY_ARGUMENT};
	char text[ITEM_KEY_MAX];
	const int len = snprintf(text, sizeof text, "filler %u of %u", filler, w->id);

	memset(c.bytes, 'f', c.len);
	do_call(w, &c, (struct view){(const uint8_t *)text, (uint32_t)len});
}

static void
fill_on(struct worker *w)
{
	const uint32_t own = w->round->shape->fillers / w->round->shape->threads;

	if (w->filled >= own)
		fill(w, w->filled - own, CALL_DELETE);
	fill(w, w->filled++, CALL_SET);
}

static void
fill_up(struct worker *w)
{
	const struct shape *s = w->round->shape;

	for (uint32_t i = 0; i < s->fillers / s->threads; i++) {
		if (i % TURN_CALLS == 0)
			store_turn(w->core, STORE_CLOCK_START);
		fill_on(w);
	}
	store_offline(w->core);
}

/* ---- time ---- */

/* Advances the time; thread 0 calls it. A second begins for all threads at once: its step is
 * under way until every thread has turned in it. */
static void
pass_time(struct worker *w)
{
	struct round *r = w->round;

	if (r->time.invoked == 0) {
		if (w->count % TIME_CALLS != TIME_CALLS - 1)
			return;
		r->time = (struct call){.thread = TIME_THREAD, .kind = CALL_TIME};
		r->time.invoked = next_tick(r);
		r->time.now_s = atomic_fetch_add(&r->now_s, 1) + 1;
	}
	for (uint32_t i = 0; i < r->shape->threads; i++)
		if (atomic_load_explicit(&r->turned_s[i], TICK_ORDER) < r->time.now_s)
			return;
	r->time.returned = next_tick(r);
	r->times[r->time_count++] = r->time;
	r->time.invoked = 0;
}

/* Starts a resize to any size between the least and the most, if none is under way. */
static void
resize_now(struct worker *w)
{
	const struct shape *s = w->round->shape;

	resize_begin(w->core, s->buckets + roll(w, (s->most - s->buckets) / 2 + 1) * 2);
}

/* Lets the sweep do its share again. By the clock it would sweep one of these few buckets a second,
 * and no round would see a whole pass. */
static void
walk_on(struct store *st)
{
	spin_lock(&st->sweep.lock);
	st->sweep.done = 0;
	spin_unlock(&st->sweep.lock);
}

static void
turn(struct worker *w)
{
	const uint32_t now_s = atomic_load_explicit(&w->round->now_s, memory_order_relaxed);
	struct call again = w->held_as;

	if (w->held != NULL) {
		take_down(w, &again, w->held);
		w->changed |= again.got_len != w->held_as.got_len ||
			      memcmp(again.got, w->held_as.got, again.got_len) != 0;
		w->held = NULL;
	}
	w->probe_step = 0; /* a probe is valid for one turn */
	if (roll(w, OFFLINE_OF) == 0) {
		store_offline(w->core); /* as a core that sleeps; the turn wakes it */
		sched_yield();
	}
	store_turn(w->core, now_s);
	atomic_store_explicit(&w->round->turned_s[w->id], now_s, TICK_ORDER);
	if (roll(w, 4) == 0) {
		walk_on(w->round->store);
		store_housekeeping(w->core);
	}
	if (w->round->shape->most != 0)
		resize_now(w);
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	const struct shape *s = w->round->shape;

	gaps_begin(w->random);
	for (uint64_t n = 0; w->count < CALLS_A_ROUND; n++) {
		if (n % TURN_CALLS == 0)
			turn(w);
		if (roll(w, s->filler_of) == 0)
			fill_on(w);
		else if (roll(w, MANY_OF) == 0)
			ask_many(w);
		else if (roll(w, WALK_OF) == 0)
			ask_walk(w);
		else
			ask(w);
		if (w->id == 0)
			pass_time(w);
		if (roll(w, YIELD_OF) == 0)
			sched_yield();
		atomic_fetch_add_explicit(&w->round->done_calls, 1, memory_order_relaxed);
	}
	store_offline(w->core);
	atomic_store(&w->round->turned_s[w->id], UINT32_MAX);
	atomic_fetch_sub(&w->round->running, 1);
	return NULL;
}

/* ---- a round ---- */

/* The policies of rounds, by the number of the round. */
static const struct eviction_policy *const policies[6] = {&eviction_clock, &eviction_2q,
							  &eviction_clock, &eviction_sieve,
							  &eviction_clock, &eviction_2q};

static void
begin_round(struct round *r, const struct shape *shape, uint64_t seed, uint64_t number)
{
	const struct store_config cfg = {.memory_bytes = STORE_MEMORY_MIN,
					 .cores = shape->threads,
					 .value_max = HISTORY_VALUE_MAX,
					 .seed = seed + number,
					 .eviction = policies[number % 6]};
	struct store_plan plan = store_plan_of(&cfg);
	struct region region = {.size = align_up(store_bytes(&cfg), 4096)};

	plan.bucket_count = shape->buckets;
	plan.bucket_step = 0;
	plan.page_count = shape->pages + 1; /* one page is the index's */
	plan.reserve = plan.reserve < shape->pages / 4 ? plan.reserve : shape->pages / 4;
	memset(r, 0, sizeof *r);
	r->shape = shape;
	r->number = number;
	region.base = r->memory = aligned_alloc(4096, region.size);
	r->workers = calloc(shape->threads, sizeof *r->workers);
	ensure(r->memory != NULL && r->workers != NULL);
	r->store = store_create_planned(&region, &cfg, &plan);
	atomic_init(&r->now_s, STORE_CLOCK_START);
	for (uint32_t i = 0; i < shape->threads; i++)
		r->workers[i] = (struct worker){.round = r,
						.core = store_core_of(r->store, i),
						.id = i,
						.random = (seed + number) * THREADS_MAX + i};
}

static void
end_round(struct round *r)
{
	free(r->workers);
	free(r->memory);
}

static uint64_t
clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Watches for a stall. False if no call has ended for so long that the
 * threads wait for each other. */
static bool
watch(struct round *r, uint32_t stall_ms)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	uint64_t since = clock_ms(), before = 0;

	while (atomic_load(&r->running) != 0) {
		const uint64_t done = atomic_load_explicit(&r->done_calls, memory_order_relaxed);

		if (done != before)
			since = clock_ms();
		else if (clock_ms() - since > stall_ms)
			return false;
		before = done;
		nanosleep(&ms, NULL);
	}
	return true;
}

static bool
run_threads(struct round *r, uint32_t stall_ms)
{
	pthread_t threads[THREADS_MAX];

	for (uint32_t i = 0; i < r->shape->threads; i++)
		fill_up(&r->workers[i]);
	atomic_store(&r->running, r->shape->threads);
	for (uint32_t i = 0; i < r->shape->threads; i++)
		if (pthread_create(&threads[i], NULL, work, &r->workers[i]) != 0)
			abort();
	if (!watch(r, stall_ms))
		return false;
	for (uint32_t i = 0; i < r->shape->threads; i++)
		pthread_join(threads[i], NULL);
	if (r->time.invoked != 0) {
		r->time.returned = next_tick(r);
		r->times[r->time_count++] = r->time;
	}
	return true;
}

/* ---- the verdict ---- */

static uint32_t
history_of(const struct round *r, uint32_t key, const struct call **calls)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->time_count; i++)
		calls[n++] = &r->times[i];
	for (uint32_t t = 0; t < r->shape->threads; t++) {
		const struct worker *w = &r->workers[t];

		for (uint32_t i = 0; i < w->count; i++)
			if (w->calls[i].key == key || w->calls[i].kind == CALL_FLUSH)
				calls[n++] = &w->calls[i];
	}
	return n;
}

static void
print_lie(const struct round *r, uint32_t key, const struct call **calls, uint32_t count,
	  const struct call *liar)
{
	printf("lie in round %llu (%s), key %u; no order explains this answer:\n",
	       (unsigned long long)r->number, r->shape->name, key);
	call_print(stdout, liar);

	const uint32_t fewer = linear_shorten(calls, count, liar);

	printf("nor these %u of %u calls:\n", fewer, count);
	for (uint32_t i = 0; i < fewer; i++)
		call_print(stdout, calls[i]);
}

static bool
round_lies(struct round *r, struct linear *l)
{
	const struct call **calls = calloc((THREADS_MAX + 1) * CALLS_A_ROUND, sizeof *calls);
	const struct call *liar;
	bool lies = false;

	ensure(calls != NULL);
	for (uint32_t key = 0; key < r->shape->keys && !lies; key++) {
		const uint32_t count = history_of(r, key, calls);

		linear_begin_empty(l);
		lies = linear_walk(l, calls, count, &liar) == LINEAR_LIE;
		if (lies)
			print_lie(r, key, calls, count, liar);
	}
	free(calls);
	for (uint32_t i = 0; i < r->shape->threads && !lies; i++) {
		lies = r->workers[i].changed;
		if (lies)
			printf("lie in round %llu (%s): an item changed while it was held\n",
			       (unsigned long long)r->number, r->shape->name);
	}
	return lies;
}

/* The sums of all rounds: with too few moves or evictions they would prove little. */
struct total {
	uint64_t calls, counted[STORE_COUNTER_COUNT], results[STORE_NOT_A_NUMBER + 1];
};

static void
add_up(struct total *total, const struct round *r)
{
	for (uint32_t t = 0; t < r->shape->threads; t++) {
		const struct worker *w = &r->workers[t];

		total->calls += w->count;
		for (uint32_t i = 0; i < w->count; i++)
			total->results[w->calls[i].result]++;
		for (uint32_t c = 0; c < STORE_COUNTER_COUNT; c++)
			total->counted[c] += counter_read(&store_counters(w->core)[c]);
	}
}

static void
print_total(const struct total *total, const struct linear *l, uint64_t rounds)
{
	printf("%llu rounds, %llu calls, %llu refused for memory, %llu times given up\n",
	       (unsigned long long)rounds, (unsigned long long)total->calls,
	       (unsigned long long)total->results[STORE_NO_MEMORY],
	       (unsigned long long)linear_given_up(l));
	for (uint32_t c = 0; c < STORE_COUNTER_COUNT; c++)
		if (total->counted[c] != 0)
			printf("  %12llu %s\n", (unsigned long long)total->counted[c],
			       store_counter_names[c].words);
}

int
main(int argc, char **argv)
{
	const bool mutant = argc > 1 && strcmp(argv[1], "caught") == 0;
	const char *const *args = (const char *const *)argv + mutant;
	const int count = argc - mutant;
	const uint64_t given = count > 1 ? strtoull(args[1], NULL, 10) : 0;
	const uint64_t seed = given != 0 ? given : (uint64_t)time(NULL);
	const uint64_t run_ms = count > 2 ? strtoull(args[2], NULL, 10)
				: mutant  ? CAUGHT_MS
					  : RUN_MS;
	const char *wanted = count > 3 ? args[3] : "";
	const uint64_t end = clock_ms() + run_ms;
	struct round *r = calloc(1, sizeof *r);
	struct linear *l = linear_new();
	struct total total = {0};
	uint64_t number = 0, rounds = 0;
	bool lied = false;

	if (mutant)
		crash_is_harm();
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	for (; !lied && (clock_ms() < end || number < SHAPES); number++) {
		const struct shape *shape = &shapes[number % SHAPES];

		if (strstr(shape->name, wanted) == NULL)
			continue;
		begin_round(r, shape, seed, number);
		if (!run_threads(r, mutant ? STALL_MS : STALL_SANE_MS)) {
			printf("no call came back for too long: a deadlock\n");
			fflush(stdout);
			_exit(mutant ? 0 : 1); /* the threads never end */
		}
		lied = round_lies(r, l);
		add_up(&total, r);
		end_round(r);
		rounds++;
	}
	print_total(&total, l, rounds);
	linear_free(l);
	free(r);
	return lied == mutant ? 0 : 1;
}
