/*
 * A store that is cut off after any of its stores. Goal: whatever instruction was the last one, the
 * memory is one that a successor can go on with. Method: one thread writes to a store of few keys;
 * its memory is watched (cut_catch.h), and after each instruction that wrote to it the rules of
 * RESTART.md that need no repair are judged, and all keys are looked up.
 *
 *     cuts SHAPE [CALLS [SEED [SUCCESSOR_OF]]]
 *
 * It repeats exactly. With "caught" as first argument the store is a mutant, and must be seen to
 * fail.
 */
#include "caught.h"
#include "cut_catch.h"
#include "cut_look.h"
#include "reopen.h"
#include "store/account.h"
#include "store/resize.h"
#include "store/store_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define VALUE_MAX  200000u /* of chunks */
#define TEXT_MAX   24u
#define NUMBERS    48u              /* the first keys hold numbers */
#define FLOOR_MOST (UINT64_MAX / 4) /* unlink.c: the floor does not follow larger numbers */

#define SUCCESSOR_LIED  7
#define SUCCESSOR_OF    127u /* cuts; a prime, so that all kinds of stores have their turn */
#define MOVING_OF       31u  /* of those at which an item is in two slots */
#define SUCCESSOR_CALLS 40u
#define SUCCESSOR_S     20u /* no repair takes as long */

struct shape {
	const char *name;
	size_t limit;               /* bytes; 0: all */
	uint32_t large_of;          /* one value in so many is large; 0: none */
	uint32_t buckets, more;     /* the index is resized between the two; 0: never */
	uint32_t flush_of, page_of; /* one call in so many; 0: none */
	uint32_t calls;
	bool never_evict;
	bool calm; /* few deletes, and nothing expires */
};

static const struct shape shapes[] = {
	{.name = "small", .calls = 2000, .buckets = 20, .flush_of = 64},
	{.name = "crowded", .calls = 1500, .buckets = 16, .calm = true},
	{.name = "resized", .calls = 200, .buckets = 16, .more = 40, .flush_of = 256},
	{.name = "pages",
	 .calls = 400,
	 .limit = 3 << 20,
	 .large_of = 12,
	 .buckets = 32,
	 .flush_of = 512,
	 .page_of = 24},
};

struct run {
	const struct shape *shape;
	struct store_config cfg;
	struct store *store;
	struct store_core *core;
	struct model model;
	uint64_t random;
	uint32_t now_s, call;
	uint32_t due_generation; /* in which a flush was asked for later */
	uint64_t cuts, moving_cuts, refused, successors;
	uint32_t successor_of; /* one cut in so many has a successor */
	bool is_successor;
	uint8_t *beside; /* what ends with the process */
	size_t beside_bytes;
	const char *doing;
	bool caught;
};

static uint32_t
roll(struct run *r, uint32_t sides)
{
	r->random = r->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((r->random >> 33) % sides);
}

static void
lie(struct run *r, const char *what)
{
	printf("%s: %s, amid %s, call %u, cut %llu\n", r->shape->name, what, r->doing, r->call,
	       (unsigned long long)r->cuts);
	fflush(stdout);
	_exit(r->is_successor ? SUCCESSOR_LIED : r->caught ? 0 : 1);
}

/* A due flush that was done, or replaced, must not be done again. */
static const char *
look_at_flush(const struct run *r)
{
	const struct store *st = r->store;
	const uint64_t due = atomic_load(&st->due_flush);
	const uint32_t generation = store_generation(st);

	return due != 0 && due == store_due_flush((uint32_t)due, generation) &&
			       generation != r->due_generation
		       ? "a flush is done and still due"
		       : NULL;
}

static void succeed(struct run *r);

static void
on_cut(void *arg)
{
	struct run *r = arg;
	bool moving;
	const char *what = look_at_index(r->store, &r->model, &moving);

	r->cuts++;
	if (what == NULL)
		what = look_at_flush(r);
	if (what == NULL)
		what = look_up_all(r->core, &r->model);
	if (what != NULL)
		lie(r, what);
	r->moving_cuts += moving;
	if (r->cuts % r->successor_of == 0 || (moving && r->moving_cuts % MOVING_OF == 0))
		succeed(r);
}

/* Which keys are gone, and the highest cas of the others: known, once the call has ended. */
static void
settle(struct run *r)
{
	for (uint32_t key = 0; key < MODEL_KEYS; key++) {
		struct model_key *k = &r->model.keys[key];
		const struct view name = model_name(key);
		const struct item *it = store_peek(r->core, name, store_hash(r->core, name));

		if (it != NULL && item_cas(it) > k->cas_most && item_cas(it) <= FLOOR_MOST)
			k->cas_most = item_cas(it);
		if (it == NULL)
			k->now.there = false;
		k->evicted = false;
	}
}

static void
on_evicted(void *arg, const struct item *it)
{
	struct run *r = arg;

	r->model.keys[model_number(item_key(it))].evicted = true;
}

/* ---- calls ---- */

static struct version scratch; /* what a call leaves */
static uint8_t value_bytes[VALUE_MAX];

static void
draw_value(struct run *r, uint32_t key)
{
	const bool large = r->shape->large_of != 0 && roll(r, r->shape->large_of) == 0;
	const uint32_t len = large ? roll(r, VALUE_MAX) : roll(r, 8) == 0 ? 1500 : roll(r, 300);

	if (key < NUMBERS) {
		char text[TEXT_MAX];

		version_set(&scratch, (const uint8_t *)text,
			    (uint32_t)snprintf(text, sizeof text, "%u", roll(r, 100000)));
		return;
	}
	for (uint32_t i = 0; i < len; i++)
		value_bytes[i] = (uint8_t)(r->random >> (i & 7) * 8) + (uint8_t)i;
	version_set(&scratch, value_bytes, len);
}

static uint32_t
draw_expiry(struct run *r)
{
	return !r->shape->calm && roll(r, 4) == 0 ? r->now_s + 1 + roll(r, 20) : 0;
}

/* The call may leave scratch. */
static void
expect(struct run *r, uint32_t key)
{
	model_expect(&r->model, key, &scratch);
}

static void
acknowledge(struct run *r, uint32_t key, enum store_result result)
{
	r->refused += result == STORE_NO_MEMORY || result == STORE_NOT_YET;
	model_acknowledge(&r->model, key, result == STORE_OK);
}

static void
do_store(struct run *r, uint32_t key, struct store_conditions how)
{
	const struct view name = model_name(key);
	const uint64_t hash = store_hash(r->core, name);
	const struct version *now = &r->model.keys[key].now;
	const bool extends = how.mode == STORE_APPEND || how.mode == STORE_PREPEND;
	const struct item *made;
	struct version fresh = {
		.there = true, .flags = roll(r, 2) * 77, .expiry_s = draw_expiry(r)};
	struct fill f;
	enum store_result result;

	draw_value(r, key);
	result = store_begin(r->core, &f, name, hash, scratch.len, fresh.flags, fresh.expiry_s);
	if (result != STORE_OK) {
		r->refused++;
		return;
	}
	catch_open(); /* nobody sees the value yet */
	store_fill(r->core, &f, scratch.bytes, scratch.len);
	catch_close();
	if (extends && now->there && now->len + scratch.len <= VALUE_MAX) {
		const bool after = how.mode == STORE_APPEND;

		memmove(value_bytes + (after ? now->len : 0), scratch.bytes, scratch.len);
		memcpy(value_bytes + (after ? 0 : scratch.len), now->bytes, now->len);
		version_set(&scratch, value_bytes, now->len + scratch.len);
		fresh.flags = now->flags;
		fresh.expiry_s = now->expiry_s;
	}
	scratch.there = true;
	scratch.flags = fresh.flags;
	scratch.expiry_s = fresh.expiry_s;
	expect(r, key);
	acknowledge(r, key, store_finish_with(r->core, &f, &how, &made));
}

static uint64_t
cas_of(struct run *r, uint32_t key)
{
	const struct view name = model_name(key);
	const struct item *it = store_peek(r->core, name, store_hash(r->core, name));

	return it != NULL ? item_cas(it) : 1;
}

static void
do_count(struct run *r, uint32_t key)
{
	const struct view name = model_name(key);
	const struct version *now = &r->model.keys[key].now;
	const struct store_arith_args args = {
		.delta = roll(r, 3) == 0 ? 1000000007 : 1, .vivify = roll(r, 2) == 0, .initial = 5};
	struct store_arith_result result;
	char text[TEXT_MAX];
	uint64_t value = args.initial;

	if (now->there) {
		memcpy(text, now->bytes, now->len < TEXT_MAX ? now->len : TEXT_MAX - 1);
		text[now->len < TEXT_MAX ? now->len : TEXT_MAX - 1] = 0;
		value = strtoull(text, NULL, 10) + args.delta;
	}
	version_copy(&scratch, now);
	if (!now->there)
		scratch.flags = scratch.expiry_s = 0;
	scratch.there = now->there || args.vivify;
	version_set(&scratch, (const uint8_t *)text,
		    (uint32_t)snprintf(text, sizeof text, "%llu", (unsigned long long)value));
	expect(r, key);
	acknowledge(r, key,
		    store_arith_with(r->core, name, store_hash(r->core, name), &args, &result));
}

static void
do_touch(struct run *r, uint32_t key)
{
	const struct view name = model_name(key);
	const struct item *it;

	version_copy(&scratch, &r->model.keys[key].now);
	scratch.expiry_s = draw_expiry(r);
	expect(r, key);
	acknowledge(r, key,
		    store_touch(r->core, name, store_hash(r->core, name), scratch.expiry_s, &it));
}

static void
do_delete(struct run *r, uint32_t key)
{
	const struct view name = model_name(key);
	const uint64_t hash = store_hash(r->core, name);
	struct store_removal how = {.mark_stale = roll(r, 8) == 0, .drop_value = roll(r, 8) == 0};
	const struct item *left;
	enum store_result result;

	version_copy(&scratch, &r->model.keys[key].now);
	if (how.drop_value) {
		version_set(&scratch, scratch.bytes, 0);
		scratch.flags = scratch.expiry_s = 0;
	}
	scratch.there = scratch.there && (how.mark_stale || how.drop_value);
	expect(r, key);
	result = store_delete_with(r->core, name, hash, &how, &left);
	if (result == STORE_OK && left == NULL)
		r->model.keys[key].next.there = false;
	acknowledge(r, key, result);
}

static void
do_get(struct run *r, uint32_t key)
{
	const struct view name = model_name(key);
	const struct item *it = store_get(r->core, name, store_hash(r->core, name));

	if (it != NULL && roll(r, 4) == 0)
		store_win(r->core, it);
}

static void
do_flush(struct run *r)
{
	const bool later = roll(r, 2) == 0;

	r->model.flushing = !later;
	if (later)
		r->due_generation = store_generation(r->store);
	store_flush(r->core, later ? r->now_s + 1 + roll(r, 3) : 0);
	settle(r);
	r->model.flushing = false;
}

static void
do_turn(struct run *r, bool second)
{
	const uint32_t due = (uint32_t)atomic_load(&r->store->due_flush);

	r->now_s += second;
	r->model.flushing = due != 0 && due <= r->now_s;
	store_turn(r->core, r->now_s);
	store_housekeeping(r->core);
	settle(r);
	r->model.flushing = false;
}

static void
do_pages(struct run *r)
{
	const uint32_t classes = store_class_count_mt(r->store);

	if (r->shape->more != 0)
		resize_begin(r->core, r->shape->buckets + 2 * roll(r, r->shape->more / 2));
	if (r->shape->page_of != 0 && roll(r, r->shape->page_of) == 0)
		store_page_move_mt(r->store, STORE_ANY_CLASS, 1 + roll(r, classes));
}

/* ---- */

static const struct {
	const char *doing;
	uint32_t weight;
} calls[] = {{"set", 30},   {"add", 6},     {"replace", 4},    {"cas", 8},
	     {"append", 8}, {"prepend", 4}, {"chosen cas", 6}, {"count", 10},
	     {"touch", 6},  {"delete", 10}, {"get", 8}};

static uint32_t
draw_call(struct run *r)
{
	uint32_t all = 0, n = 0, at;

	if (r->shape->calm && roll(r, 4) != 0)
		return 0;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		all += calls[i].weight;
	for (at = roll(r, all); at >= calls[n].weight; n++)
		at -= calls[n].weight;
	return n;
}

static void
one_call(struct run *r)
{
	static const enum store_mode modes[] = {STORE_SET, STORE_ADD,    STORE_REPLACE,
						STORE_CAS, STORE_APPEND, STORE_PREPEND,
						STORE_SET};
	const uint32_t key = roll(r, MODEL_KEYS), n = draw_call(r);

	r->doing = calls[n].doing;
	switch (n) {
	case 7:
		do_count(r, key % NUMBERS);
		break;
	case 8:
		do_touch(r, key);
		break;
	case 9:
		do_delete(r, key);
		break;
	case 10:
		do_get(r, key);
		break;
	default: {
		const bool extends = modes[n] == STORE_APPEND || modes[n] == STORE_PREPEND;
		const bool chosen = n == 6;
		const uint32_t of = extends ? NUMBERS + key % (MODEL_KEYS - NUMBERS) : key;

		do_store(r, of,
			 (struct store_conditions){.mode = modes[n],
						   .cas = cas_of(r, of) + (roll(r, 4) == 0),
						   .set_cas = chosen,
						   .new_cas = chosen ? 1 + roll(r, 40) : 0});
	}
	}
	settle(r);
	r->doing = "flush";
	if (r->shape->flush_of != 0 && roll(r, r->shape->flush_of) == 0)
		do_flush(r);
	r->doing = "resize or page";
	do_pages(r);
	r->doing = "turn";
	do_turn(r, roll(r, 16) == 0);
}

static void
start(struct run *r, uint64_t seed)
{
	r->cfg = (struct store_config){.memory_bytes = STORE_MEMORY_MIN,
				       .limit_bytes = r->shape->limit,
				       .cores = 1,
				       .value_max = VALUE_MAX,
				       .seed = seed,
				       .never_evict = r->shape->never_evict};

	struct store_plan plan = store_plan_of(&r->cfg);
	struct region region = {.size = align_up(store_bytes(&r->cfg), 4096)};

	plan.bucket_count = r->shape->buckets;
	plan.bucket_step = 0;
	region.base =
		mmap(NULL, region.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ensure(region.base != MAP_FAILED);
	r->store = store_create_planned(&region, &r->cfg, &plan);
	r->core = store_core_of(r->store, 0);
	store_watch_evictions(r->core, on_evicted, r);
	r->random = seed;
	r->now_s = STORE_CLOCK_START;
	r->doing = "start";
	store_turn(r->core, r->now_s);
	r->beside = region.base + r->cfg.memory_bytes;
	r->beside_bytes = region.size - r->cfg.memory_bytes;
	catch_stores(region.base, r->cfg.memory_bytes, on_cut, r);
	catch_close();
}

/* Judge what a successor has, and go on with it: with whichever version of a key is there. */
static void
judge(struct run *r, struct reopened *next)
{
	const char *what = reopen_look_at_pages(next->store);
	bool moving;

	if (what == NULL)
		what = look_at_index(next->store, &r->model, &moving);
	r->store = next->store;
	r->core = store_core_of(next->store, 0);
	store_watch_evictions(r->core, on_evicted, r);
	if (what == NULL)
		what = look_up_all(r->core, &r->model);
	if (what == NULL && next->report.lost != 0)
		what = "items are lost";
	if (what != NULL)
		lie(r, what);
	for (uint32_t key = 0; key < MODEL_KEYS; key++) {
		struct model_key *k = &r->model.keys[key];
		const struct view name = model_name(key);
		const struct item *it = store_peek(r->core, name, store_hash(r->core, name));

		if (k->pending)
			model_acknowledge(&r->model, key,
					  !model_allows_now(&r->model, key, r->core, it, r->now_s));
	}
	settle(r);
	r->model.flushing = false;
	r->due_generation = (uint32_t)(atomic_load(&r->store->due_flush) >> 32);
}

/* In a process of its own: the one that was cut off is gone, and with it all that is not in the
 * image. */
static void
be_successor(struct run *r)
{
	struct store *st = r->store;
	struct reopened next;

	alarm(SUCCESSOR_S);
	r->is_successor = true;
	catch_end();
	memset(r->beside, 0xa5, r->beside_bytes);
	st->ix.buckets = NULL;
	st->ix.arena = NULL;
	st->arena.base = NULL;
	st->cores = NULL;
	reopen_at(&next, reopen_image_of(st), &r->cfg, r->now_s);
	if (next.store == NULL)
		lie(r, store_image_fault_words(next.report.fault));
	if (next.look.kind != STORE_IMAGE_DIRTY)
		lie(r, "it was cut off, and is not to be repaired");
	judge(r, &next);
	for (r->call = 1; r->call <= SUCCESSOR_CALLS; r->call++) {
		const char *what;
		bool moving;

		one_call(r);
		what = look_at_index(r->store, &r->model, &moving);
		if (what == NULL)
			what = look_up_all(r->core, &r->model);
		if (what != NULL)
			lie(r, what);
	}
	_exit(0);
}

static void
succeed(struct run *r)
{
	const pid_t child = fork();
	int status;

	ensure(child >= 0);
	if (child == 0)
		be_successor(r);
	ensure(waitpid(child, &status, 0) == child);
	r->successors++;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	lie(r, WIFEXITED(status) ? "a successor lied" : "a successor fell over");
}

/* The store is left as at a graceful stop, and opened elsewhere. */
static void
leave(struct run *r)
{
	struct reopened next;
	const char *what = NULL;
	bool moving;

	r->doing = "leaving";
	catch_open();
	store_offline(r->core);
	if (!store_image_leave(r->store))
		lie(r, "it cannot be left");
	reopen(&next, r->store, &r->cfg, r->now_s);
	if (next.store == NULL || next.report.checksums_wrong)
		lie(r, "it is not opened as it was left");
	what = reopen_look_at_pages(next.store);
	if (what == NULL)
		what = look_at_index(next.store, &r->model, &moving);
	if (what == NULL)
		what = look_up_all(store_core_of(next.store, 0), &r->model);
	if (what != NULL)
		lie(r, what);
	reopen_end(&next);
}

int
main(int argc, char **argv)
{
	static struct run run;
	const bool caught = argc > 1 && strcmp(argv[1], "caught") == 0;
	char **const args = argv + 1 + caught;
	const int count = argc - 1 - caught;
	uint32_t wanted;

	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (count > 0 && strcmp(args[0], shapes[i].name) == 0)
			run.shape = &shapes[i];
	if (run.shape == NULL) {
		printf("usage: cuts [caught] SHAPE [CALLS [SEED [SUCCESSOR_OF]]]\n");
		return 2;
	}
	wanted = count > 1 ? (uint32_t)strtoul(args[1], NULL, 10) : run.shape->calls;
	run.caught = caught;
	if (caught)
		crash_is_harm();
	run.successor_of = count > 3 ? (uint32_t)strtoul(args[3], NULL, 10) : SUCCESSOR_OF;
	start(&run, count > 2 ? strtoull(args[2], NULL, 10) : 1);
	for (run.call = 1; run.call <= wanted; run.call++)
		one_call(&run);
	leave(&run);
	printf("%s: %u calls, %llu cuts, %llu refused, %llu evicted, %llu moves, %llu migrated, "
	       "%llu rescued, %llu successors\n",
	       run.shape->name, wanted, (unsigned long long)run.cuts,
	       (unsigned long long)run.refused,
	       (unsigned long long)store_sum(run.store, STORE_EVICTED),
	       (unsigned long long)store_sum(run.store, STORE_MOVES),
	       (unsigned long long)store_sum(run.store, STORE_INDEX_MIGRATED),
	       (unsigned long long)store_sum(run.store, STORE_RESCUED),
	       (unsigned long long)run.successors);
	return caught ? 1 : 0;
}
