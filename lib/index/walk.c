/*
 * walk.c - shows each item once, some buckets at a time.
 *
 * A walk goes through positions, not through buckets. A position is the fraction of the index that
 * lies before it, in 32 bits. Each key has two: that of its primary bucket, from its hash, and that
 * of its alternate bucket, from its hash and its tag. Both stay the same whatever the number of
 * buckets: the primary bucket is the one at its position, the alternate bucket is at its position
 * or up to two buckets after it (index.h). An item is shown at the position of the bucket that it
 * is in.
 *
 * Why an item is shown once: it keeps its position, even in a resize, unless it moves to its key's
 * other bucket. Such a move is refused (walks_let_move) unless each walk has passed both positions
 * or has reached neither. So the items behind a walk have been shown, and those ahead of it have
 * not.
 *
 * Why a step misses none: it publishes which positions are in progress, and then locks each bucket
 * to search it. A move holds the locks of both its buckets. If the move comes before the walk has
 * locked the first of them, the walk finds the item where it went. If it comes later, the moving
 * core sees the positions in progress and does not move the item. A resize copies from an old
 * bucket to a new one under the locks of both, and the walk searches the old ones first.
 *
 * A walk shows the version that a lookup of the key finds at that moment, so none that was replaced
 * meanwhile.
 */
#include "walk.h"
#include "geometry.h"

/* Estimated times. An item is read from memory; buckets are adjacent, so they are in the cache. */
#define BUCKET_NS 40u
#define ITEM_NS   80u

/* ---- moves ---- */

static bool
lets_move(uint64_t span, uint32_t here, uint32_t there)
{
	const uint32_t first = (uint32_t)(span >> 32), last = (uint32_t)span;

	return (here < first && there < first) || (here > last && there > last);
}

bool
walks_let_item_move(const struct index_core *ic, uint32_t ref)
{
	const struct index *ix = ic->ix;
	const struct walks *ws = ic->walks;
	uint32_t places = atomic_load_explicit(&ws->active, memory_order_relaxed);

	if (ref == 0)
		return true;

	const uint64_t hash = index_hash(ix, item_key(arena_at(ix->arena, ref)));
	const uint32_t primary = hash_position(hash), alternate = hash_alternate_position(hash);

	for (; places != 0; places &= places - 1) {
		const struct walk_place *p = &ws->place[__builtin_ctz(places)];

		/* Relaxed: a walk publishes before it locks a bucket, and this core has locked
		 * both. */
		if (!lets_move(atomic_load_explicit(&p->span, memory_order_relaxed), primary,
			       alternate))
			return false;
	}
	return true;
}

/* An item's position is at its bucket, or up to ALTERNATE_BEHIND buckets before it. For the first
 * buckets that includes the last positions. */
bool
walks_let_buckets_exchange(const struct walks *ws, uint32_t bucket_count, uint32_t a, uint32_t b)
{
	const uint32_t low = a < b ? a : b, high = a < b ? b : a;
	uint32_t places = atomic_load_explicit(&ws->active, memory_order_relaxed);

	for (; places != 0; places &= places - 1) {
		const struct walk_place *p = &ws->place[__builtin_ctz(places)];
		/* Relaxed: the answer is a hint. */
		const uint64_t span = atomic_load_explicit(&p->span, memory_order_relaxed);
		const uint32_t first = spread((uint32_t)(span >> 32), bucket_count);
		const uint32_t last = spread((uint32_t)span, bucket_count);

		if ((low < ALTERNATE_BEHIND || high >= first) && low <= last + ALTERNATE_BEHIND)
			return false;
	}
	return true;
}

/* ---- places ---- */

static bool
is_over(const struct walk_place *p, uint32_t now_s, uint32_t pause_s)
{
	return now_s > atomic_load_explicit(&p->stepped_s, memory_order_relaxed) + pause_s;
}

static void
leave(struct walks *ws, uint32_t place, uint32_t owner)
{
	/* The owner is cleared first, since another core may take the place once its bit is clear.
	 * Release: pairs with the acquire in enter. */
	if (atomic_compare_exchange_strong_explicit(&ws->place[place].owner, &owner, 0,
						    memory_order_relaxed, memory_order_relaxed))
		atomic_fetch_and_explicit(&ws->active, ~(1u << place), memory_order_release);
}

void
walks_expire(struct walks *ws, uint32_t now_s)
{
	uint32_t places = atomic_load_explicit(&ws->active, memory_order_relaxed);

	for (; places != 0; places &= places - 1) {
		const uint32_t n = (uint32_t)__builtin_ctz(places);
		/* Acquire: pairs with the release in enter, so the second of the walk's first step
		 * is visible. */
		const uint32_t owner =
			atomic_load_explicit(&ws->place[n].owner, memory_order_acquire);

		if (owner != 0 &&
		    is_over(&ws->place[n], now_s, WALK_PAUSE_MAX_S + WALK_CLOCKS_APART_S))
			leave(ws, n, owner);
	}
}

/* Takes a place, if one is free. */
static void
enter(const struct index_walk *w, struct walk_cursor *cursor)
{
	struct walks *ws = w->places;
	uint32_t active = atomic_load_explicit(&ws->active, memory_order_relaxed);

	cursor->begun = true;
	while (active != (1u << WALKS_MAX) - 1) {
		const uint32_t n = (uint32_t)__builtin_ctz(~active);

		/* Acquire: pairs with the release in leave, so what the place's last walk wrote
		 * comes first. */
		if (!atomic_compare_exchange_weak_explicit(&ws->active, &active, active | 1u << n,
							   memory_order_acquire,
							   memory_order_relaxed))
			continue;
		cursor->place = n;
		cursor->owner = atomic_fetch_add_explicit(&ws->begun, 1, memory_order_relaxed) + 1;
		cursor->owner += cursor->owner == 0;
		atomic_store_explicit(&ws->place[n].stepped_s, w->now_s, memory_order_relaxed);
		/* Release: pairs with the acquire in walks_expire. */
		atomic_store_explicit(&ws->place[n].owner, cursor->owner, memory_order_release);
		return;
	}
}

/* Gives up the place if the walk has paused for too long. */
static void
keep_place(const struct index_walk *w, struct walk_cursor *cursor)
{
	struct walk_place *p = &w->places->place[cursor->place];

	if (cursor->owner == 0)
		return;
	if (atomic_load_explicit(&p->owner, memory_order_relaxed) != cursor->owner ||
	    is_over(p, w->now_s, WALK_PAUSE_MAX_S))
		cursor->owner = 0;
	else
		atomic_store_explicit(&p->stepped_s, w->now_s, memory_order_relaxed);
}

/* Publishes which positions are in progress. */
static void
publish(const struct index_walk *w, const struct walk_cursor *cursor, uint32_t first, uint32_t last)
{
	/* Relaxed: the locks of the buckets, which are taken next, order it
	 * (walks_let_item_move). */
	if (cursor->owner != 0)
		atomic_store_explicit(&w->places->place[cursor->place].span,
				      (uint64_t)first << 32 | last, memory_order_relaxed);
}

/* ---- a step ---- */

static bool
is_before(const struct walk_found *a, const struct walk_found *b)
{
	return a->position < b->position || (a->position == b->position && a->hash < b->hash);
}

/* Adds the item in a slot, if its position is one of the step's. */
static void
add(const struct index *ix, struct walk_step *s, uint32_t ref, uint16_t tag)
{
	struct walk_found f = {.ref = ref,
			       .hash = index_hash(ix, item_key(arena_at(ix->arena, ref)))};
	uint32_t n = s->count;

	f.position = (tag & TAG_DISPLACED) != 0 ? hash_alternate_position(f.hash)
						: hash_position(f.hash);
	if (f.position < s->first || f.position > s->last)
		return;
	while (n != 0 && is_before(&f, &s->found[n - 1]))
		n--;
	/* The item was found before, and a resize has copied it since. */
	if (n != 0 && s->found[n - 1].position == f.position && s->found[n - 1].hash == f.hash)
		return;
	ensure(s->count < FOUND_MAX);
	memmove(&s->found[n + 1], &s->found[n], (s->count++ - n) * sizeof f);
	s->found[n] = f;
}

/* Searches a bucket: all of its items, or only the displaced ones. Returns the time that it
 * takes. */
static uint32_t
look(const struct index *ix, struct walk_step *s, uint32_t n, bool all)
{
	struct bucket *b = index_bucket(ix, n);
	uint32_t refs[BUCKET_SLOTS];
	uint16_t tags[BUCKET_SLOTS];
	uint32_t items = 0;

	bucket_lock(b);
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		refs[i] = bucket_ref(b, i);
		tags[i] = bucket_tag(b, i);
	}
	bucket_unlock(b);
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		prefetch(arena_at(ix->arena, refs[i]));
	protocol_gap();
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		/* A tombstone's tag is 0. */
		if (refs[i] == 0 || tags[i] == 0 || (!all && (tags[i] & TAG_DISPLACED) == 0))
			continue;
		add(ix, s, refs[i], tags[i]);
		items++;
	}
	return BUCKET_NS + items * ITEM_NS;
}

/* Finds the items at the step's positions, for one number of buckets. Returns the time that it
 * takes. */
static uint32_t
find_among(const struct index *ix, struct walk_step *s, uint32_t bucket_count)
{
	const uint32_t from = spread(s->first, bucket_count), to = spread(s->last, bucket_count);
	const uint32_t count = to - from + 1 + ALTERNATE_BEHIND;
	uint32_t ns = 0;

	for (uint32_t i = 0; i < count && i < bucket_count; i++)
		ns += look(ix, s, (from + i) % bucket_count, from + i <= to);
	return ns;
}

/* Returns the last position in the bucket in which this position is. */
static uint32_t
last_in_bucket(uint32_t bucket_count, uint32_t position)
{
	const uint64_t next = spread(position, bucket_count) + 1ull;

	return (uint32_t)(((next << 32) + bucket_count - 1) / bucket_count - 1);
}

static bool
is_resizing(const struct geometry *g)
{
	return (g->seq & GEOMETRY_RESIZING) != 0;
}

static bool
same_buckets(const struct geometry *a, const struct geometry *b)
{
	return a->old_count == b->old_count && is_resizing(a) == is_resizing(b) &&
	       (!is_resizing(a) || a->new_count == b->new_count);
}

/* Finds the items from the cursor's position to the end of its bucket. False: a resize began or
 * ended meanwhile. */
static bool
find(const struct index_walk *w, struct walk_cursor *cursor)
{
	const struct index *ix = w->ix;
	struct walk_step *s = w->step;
	const struct geometry g = geometry_now(ix);
	const uint32_t fewer =
		is_resizing(&g) && g.new_count < g.old_count ? g.new_count : g.old_count;

	s->of = NULL;
	s->count = 0;
	s->first = cursor->at;
	s->last = last_in_bucket(fewer, cursor->at);
	publish(w, cursor, s->first, s->last);
	protocol_gap();
	cursor->work_ns += find_among(ix, s, g.old_count);
	if (is_resizing(&g))
		cursor->work_ns += find_among(ix, s, g.new_count);

	const struct geometry now = geometry_now(ix);

	if (same_buckets(&g, &now))
		s->of = cursor;
	return s->of != NULL;
}

/* True if the walk has shown the item that was found there. */
static bool
is_behind(const struct walk_cursor *cursor, const struct walk_found *f)
{
	return f->position < cursor->at ||
	       (cursor->amid && f->position == cursor->at && f->hash <= cursor->hash);
}

/* Shows the found items that it has not shown. Returns how many. */
static uint32_t
show(const struct index_walk *w, struct walk_cursor *cursor, const struct item **items,
     uint32_t max)
{
	struct walk_step *s = w->step;
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct walk_found *f = &s->found[i];

		if (is_behind(cursor, f))
			continue;
		if (count == max)
			return count;
		items[count] = w->current(w, f, &cursor->work_ns);
		count += items[count] != NULL;
		cursor->at = f->position;
		cursor->hash = f->hash;
		cursor->amid = true;
	}
	s->of = NULL;
	cursor->amid = false;
	cursor->done = s->last == UINT32_MAX;
	cursor->at = s->last + 1;
	return count;
}

static uint32_t
step(const struct index_walk *w, struct walk_cursor *cursor, const struct item **items,
     uint32_t max)
{
	const struct walk_step *s = w->step;
	uint32_t count = 0;

	if (s->of == cursor || find(w, cursor))
		count = show(w, cursor, items, max);
	publish(w, cursor, cursor->at, s->of == cursor ? s->last : cursor->at);
	if (cursor->done)
		index_walk_end(w, cursor);
	return count;
}

void
index_walk_end(const struct index_walk *w, struct walk_cursor *cursor)
{
	if (cursor->owner != 0)
		leave(w->places, cursor->place, cursor->owner);
	cursor->owner = 0;
	if (w->step->of == cursor)
		w->step->of = NULL;
}

uint32_t
index_walk_next(const struct index_walk *w, struct walk_cursor *cursor, const struct item **items,
		uint32_t max)
{
	uint32_t count = 0;

	cursor->work_ns = 0;
	if (cursor->begun)
		keep_place(w, cursor);
	else
		enter(w, cursor);
	for (uint32_t looks = 0; looks < WALK_BUCKETS_MAX && cursor->work_ns < WALK_NS_MAX &&
				 count < max && !cursor->done;
	     looks++)
		count += step(w, cursor, items + count, max - count);
	return count;
}
