/*
 * cut_calls.c - the calls of a writer, and the versions that each may leave.
 */
#include "cut_catch.h"
#include "cut_run.h"
#include "store/resize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX       24u
#define NUMBERS        48u              /* the first keys hold numbers */
#define FLOOR_MOST     (UINT64_MAX / 4) /* larger numbers do not raise the floor (unlink.c) */
#define SUCCESSOR_LIED 7
#define LIMIT_STEPS    4u /* values of the memory limit */

uint32_t
roll(struct run *r, uint32_t sides)
{
	r->random = r->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((r->random >> 33) % sides);
}

void
lie(struct run *r, const char *what)
{
	printf("%s: %s, amid %s, call %u, cut %llu\n", r->shape->name, what, r->w->doing, r->call,
	       (unsigned long long)r->cuts);
	fflush(stdout);
	_exit(r->is_successor ? SUCCESSOR_LIED : r->caught ? 0 : 1);
}

void
settle(struct run *r)
{
	r->alone++;
	for (uint32_t key = 0; key < MODEL_KEYS; key++) {
		struct model_key *k = &r->model.keys[key];
		const struct view name = model_name(key);
		const struct item *it;

		if (k->pending)
			continue; /* the other writer is amid a call */
		it = store_peek(r->w->core, name, store_hash(r->w->core, name));
		if (it != NULL && item_cas(it) > k->cas_most && item_cas(it) <= FLOOR_MOST)
			k->cas_most = item_cas(it);
		if (it == NULL)
			k->now.there = false;
		k->evicted = false;
	}
	r->alone--;
}

static void
on_evicted(void *arg, const struct item *it)
{
	struct run *r = arg;

	r->model.keys[model_number(item_key(it))].evicted = true;
}

void
watch_evictions(struct run *r)
{
	for (uint32_t i = 0; i < writers_of(r); i++)
		store_watch_evictions(r->writers[i].core, on_evicted, r);
}

/* ---- calls ---- */

static void
draw_value(struct run *r, uint32_t key)
{
	const bool large = r->shape->large_of != 0 && roll(r, r->shape->large_of) == 0;
	const uint32_t len = large ? roll(r, CUT_VALUE_MAX) : roll(r, 8) == 0 ? 1500 : roll(r, 300);

	if (key < NUMBERS) {
		char text[TEXT_MAX];

		version_set(&r->w->scratch, (const uint8_t *)text,
			    (uint32_t)snprintf(text, sizeof text, "%u", roll(r, 100000)));
		return;
	}
	for (uint32_t i = 0; i < len; i++)
		r->w->value_bytes[i] = (uint8_t)(r->random >> (i & 7) * 8) + (uint8_t)i;
	version_set(&r->w->scratch, r->w->value_bytes, len);
}

static uint32_t
draw_expiry(struct run *r)
{
	return !r->shape->calm && roll(r, 4) == 0 ? r->now_s + 1 + roll(r, 20) : 0;
}

/* Allows the key the version r->w->scratch, which the call may leave. */
static void
expect(struct run *r, uint32_t key)
{
	model_expect(&r->model, key, &r->w->scratch);
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
	const uint64_t hash = store_hash(r->w->core, name);
	const struct version *now = &r->model.keys[key].now;
	const bool extends = how.mode == STORE_APPEND || how.mode == STORE_PREPEND;
	const struct item *made;
	struct version fresh = {
		.there = true, .flags = roll(r, 2) * 77, .expiry_s = draw_expiry(r)};
	struct fill f;
	enum store_result result;

	draw_value(r, key);
	result = store_begin(r->w->core, &f, name, hash, r->w->scratch.len, fresh.flags,
			     fresh.expiry_s);
	if (result != STORE_OK) {
		r->refused++;
		return;
	}
	r->alone++;
	catch_open(); /* the value is not published yet, so it need not be watched */
	store_fill(r->w->core, &f, r->w->scratch.bytes, r->w->scratch.len);
	catch_close();
	r->alone--;
	if (extends && now->there && now->len + r->w->scratch.len <= CUT_VALUE_MAX) {
		const bool after = how.mode == STORE_APPEND;

		memmove(r->w->value_bytes + (after ? now->len : 0), r->w->scratch.bytes,
			r->w->scratch.len);
		memcpy(r->w->value_bytes + (after ? 0 : r->w->scratch.len), now->bytes, now->len);
		version_set(&r->w->scratch, r->w->value_bytes, now->len + r->w->scratch.len);
		fresh.flags = now->flags;
		fresh.expiry_s = now->expiry_s;
	}
	r->w->scratch.there = true;
	r->w->scratch.flags = fresh.flags;
	r->w->scratch.expiry_s = fresh.expiry_s;
	expect(r, key);
	acknowledge(r, key, store_finish_with(r->w->core, &f, &how, &made));
}

static uint64_t
cas_of(struct run *r, uint32_t key)
{
	const struct view name = model_name(key);
	const struct item *it = store_peek(r->w->core, name, store_hash(r->w->core, name));

	return it != NULL ? item_cas(it) : 1;
}

static void
do_count(struct run *r, uint32_t key)
{
	const struct view name = model_name(key);
	const struct version *now = &r->model.keys[key].now;
	const struct store_arith_args args = {.delta = roll(r, 3) == 0 ? 1000000007 : 1,
					      /* another writer may flush the number meanwhile */
					      .vivify = roll(r, 2) == 0 && writers_of(r) == 1,
					      .initial = 5};
	struct store_arith_result result;
	char text[TEXT_MAX];
	uint64_t value = args.initial;

	if (now->there) {
		memcpy(text, now->bytes, now->len < TEXT_MAX ? now->len : TEXT_MAX - 1);
		text[now->len < TEXT_MAX ? now->len : TEXT_MAX - 1] = 0;
		value = strtoull(text, NULL, 10) + args.delta;
	}
	version_copy(&r->w->scratch, now);
	if (!now->there)
		r->w->scratch.flags = r->w->scratch.expiry_s = 0;
	r->w->scratch.there = now->there || args.vivify;
	version_set(&r->w->scratch, (const uint8_t *)text,
		    (uint32_t)snprintf(text, sizeof text, "%llu", (unsigned long long)value));
	expect(r, key);
	acknowledge(
		r, key,
		store_arith_with(r->w->core, name, store_hash(r->w->core, name), &args, &result));
}

static void
do_touch(struct run *r, uint32_t key)
{
	const struct view name = model_name(key);
	const struct item *it;

	version_copy(&r->w->scratch, &r->model.keys[key].now);
	r->w->scratch.expiry_s = draw_expiry(r);
	expect(r, key);
	acknowledge(r, key,
		    store_touch(r->w->core, name, store_hash(r->w->core, name),
				r->w->scratch.expiry_s, &it));
}

static void
do_delete(struct run *r, uint32_t key)
{
	const struct view name = model_name(key);
	const uint64_t hash = store_hash(r->w->core, name);
	struct store_removal how = {.mark_stale = roll(r, 8) == 0, .drop_value = roll(r, 8) == 0};
	const struct item *left;
	enum store_result result;

	version_copy(&r->w->scratch, &r->model.keys[key].now);
	if (how.drop_value) {
		version_set(&r->w->scratch, r->w->scratch.bytes, 0);
		r->w->scratch.flags = r->w->scratch.expiry_s = 0;
	}
	r->w->scratch.there = r->w->scratch.there && (how.mark_stale || how.drop_value);
	expect(r, key);
	result = store_delete_with(r->w->core, name, hash, &how, &left);
	if (result == STORE_OK && left == NULL)
		r->model.keys[key].next.there = false;
	acknowledge(r, key, result);
}

static void
do_get(struct run *r, uint32_t key)
{
	const struct view name = model_name(key);
	const struct item *it = store_get(r->w->core, name, store_hash(r->w->core, name));

	if (it != NULL && roll(r, 4) == 0)
		store_win(r->w->core, it);
}

/* Settles after a flush has ended: items that another writer stores
 * meanwhile may be flushed, too. */
static void
settle_flush(struct run *r, bool flushed)
{
	settle(r);
	if (!flushed)
		return;
	r->model.flushing--;
	for (uint32_t key = 0; key < MODEL_KEYS; key++)
		r->model.keys[key].evicted |= r->model.keys[key].pending;
}

static void
do_flush(struct run *r)
{
	const bool later = roll(r, 2) == 0;

	r->model.flushing += !later;
	if (later)
		r->due_generation = store_generation(r->store);
	store_flush(r->w->core, later ? r->now_s + 1 + roll(r, 3) : 0);
	settle_flush(r, !later);
}

/* Steps the second, which is the same for all cores, while no other writer is amid a call. */
static void
step_second(struct run *r)
{
	r->now_s++;
	r->alone++;
	for (uint32_t i = 0; i < writers_of(r); i++)
		if (&r->writers[i] != r->w)
			store_turn(r->writers[i].core, r->now_s);
	r->alone--;
}

static void
do_turn(struct run *r, bool second)
{
	const uint32_t due = (uint32_t)atomic_load(&r->store->due_flush);
	const bool flushes = due != 0 && due <= r->now_s + second;

	r->model.flushing += flushes;
	if (second)
		step_second(r);
	store_turn(r->w->core, r->now_s);
	store_housekeeping(r->w->core);
	settle_flush(r, flushes);
}

static uint32_t
draw_buckets(struct run *r)
{
	const uint32_t step = r->shape->bucket_step == 0 ? 2 : r->shape->bucket_step;

	return r->shape->buckets + step * roll(r, r->shape->more / step);
}

static void
do_pages(struct run *r)
{
	const uint32_t classes = store_class_count_mt(r->store);

	if (r->shape->more != 0)
		resize_begin(r->w->core, draw_buckets(r));
	if (r->shape->limit_of != 0 && roll(r, r->shape->limit_of) == 0)
		store_limit_mt(r->store,
			       r->cfg.memory_bytes / LIMIT_STEPS * (1 + roll(r, LIMIT_STEPS)));
	if (r->shape->page_of != 0 && roll(r, r->shape->page_of) == 0)
		store_page_move_mt(r->store, STORE_ANY_CLASS, 1 + roll(r, classes));
}

/* ---- one call, drawn ---- */

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

/* Returns a random key of the writer. Two writers have the even and the odd keys. */
static uint32_t
draw_key(struct run *r)
{
	const uint32_t key = roll(r, MODEL_KEYS), writers = writers_of(r);

	return key - key % writers + (uint32_t)(r->w - r->writers);
}

void
one_call(struct run *r)
{
	static const enum store_mode modes[] = {STORE_SET, STORE_ADD,    STORE_REPLACE,
						STORE_CAS, STORE_APPEND, STORE_PREPEND,
						STORE_SET};
	const uint32_t key = draw_key(r), n = draw_call(r);

	r->w->doing = calls[n].doing;
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
	r->w->doing = "flush";
	if (r->shape->flush_of != 0 && roll(r, r->shape->flush_of) == 0)
		do_flush(r);
	r->w->doing = "resize or page";
	do_pages(r);
	r->w->doing = "turn";
	do_turn(r, roll(r, 16) == 0 && r->amid <= 1);
}
