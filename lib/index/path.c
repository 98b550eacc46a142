/*
 * path.c - cuckoo paths, which empty a slot for an item when both its buckets are full.
 *
 * A breadth-first search without locks finds a chain of moves that ends in an empty slot. The moves
 * are made from the empty end backwards (Li et al., EuroSys 2014, section 4.3). Each move is valid
 * by itself, so if another writer breaks the chain only the search is lost. An item that is being
 * moved is in at least one of its buckets at every moment.
 */
#include "path.h"
#include "resize_limits.h"
#include "walk.h"

#define PATH_SEARCHES_MAX 4u /* other writers may break a path before it is run */

struct node {
	uint32_t bucket;
	uint16_t parent; /* the node from whose bucket an item would move to this one */
	uint8_t slot;    /* the slot of that item in the parent's bucket */
	uint16_t tag;    /* the tag of that slot when it was searched */
};

struct search {
	uint32_t seq;          /* seq of the geometry in which the search began */
	const uint32_t *avoid; /* buckets to which no item may move */
	uint32_t avoid_count;
	uint32_t max; /* most nodes of this search */
	uint32_t count;
	struct node nodes[PATH_NODES_MAX];
};

/* Returns the other bucket of an item's key by hashing the key, since during a resize the tag is
 * not enough. If the key has no other bucket, returns this one. The item stays readable until this
 * core turns. */
static uint32_t
alternate_by_key(const struct index *ix, uint32_t bucket, uint32_t ref, uint16_t tag)
{
	if (ref == 0)
		return bucket;

	const struct item *it = arena_at(ix->arena, ref);
	const struct view key = {item_key_bytes(it), item_key_len(it)};
	const struct place p = index_place(ix, index_hash(ix, key));

	if ((tag & TAG_DISPLACED) != 0)
		return p.alternate == bucket ? p.primary : bucket;
	return p.primary == bucket ? p.alternate : bucket;
}

/* A bucket to which an item can move: its other bucket, or its own if it has no other. The tag is
 * kept because it must be read only once: a second read may see another item's tag, whose other
 * bucket is a different one. */
struct successor {
	uint32_t bucket;
	uint16_t tag;
};

/* Successors that are found and prefetched ahead of the one that is checked. Half of all
 * buckets have an empty slot, so few are needed during a resize, when finding one means reading an
 * item's key. */
#define SUCCESSORS_AHEAD          (BUCKET_SLOTS - 1)
#define SUCCESSORS_AHEAD_RESIZING 1u

/* A bucket whose successors are being found, one after the other. */
struct expansion {
	uint32_t bucket, bucket_count, found;
	bool resizing;
	struct successor successors[BUCKET_SLOTS];
};

static void
expansion_begin(struct expansion *e, const struct index *ix, uint32_t seq, uint32_t bucket)
{
	const struct bucket *b = index_bucket(ix, bucket);

	e->bucket = bucket;
	e->found = 0;
	/* Read before seq is compared, so it is the number of buckets with which the search
	 * began. */
	e->bucket_count = index_bucket_count(ix);
	e->resizing = (seq & GEOMETRY_RESIZING) != 0 || index_seq(ix) != seq;
	for (uint32_t slot = 0; e->resizing && slot < BUCKET_SLOTS; slot++)
		prefetch(arena_at(ix->arena, bucket_ref(b, slot)));
}

static void
find_successor(struct expansion *e, const struct index *ix)
{
	const struct bucket *b = index_bucket(ix, e->bucket);
	const uint32_t slot = e->found++;
	const uint16_t tag = bucket_tag(b, slot);
	const uint32_t other = e->resizing
				       ? alternate_by_key(ix, e->bucket, bucket_ref(b, slot), tag)
				       : bucket_alternate(e->bucket_count, e->bucket, tag);

	e->successors[slot] = (struct successor){.bucket = other, .tag = tag};
	prefetch(index_bucket(ix, other));
}

/* Returns the successor that the item in a slot leads to. Called for the slots in order. */
static struct successor
successor_of(struct expansion *e, const struct index *ix, uint32_t slot)
{
	const uint32_t ahead = e->resizing ? SUCCESSORS_AHEAD_RESIZING : SUCCESSORS_AHEAD;

	while (e->found < BUCKET_SLOTS && e->found <= slot + ahead)
		find_successor(e, ix);
	return e->successors[slot];
}

static bool
is_avoided(const struct search *s, uint32_t bucket)
{
	for (uint32_t i = 0; i < s->avoid_count; i++)
		if (s->avoid[i] == bucket)
			return true;
	return false;
}

/* True if no walk forbids the move of the item in a slot. */
static bool
may_leave(const struct index_core *ic, const struct expansion *e, uint32_t to, uint32_t slot)
{
	if (unlikely(e->resizing))
		return walks_let_move(ic, bucket_ref(index_bucket(ic->ix, e->bucket), slot));
	return walks_let_exchange(ic->walks, e->bucket_count, e->bucket, to);
}

/* Adds the successors of node n to the search. Returns a node with an empty slot; 0: there is
 * none. */
static uint32_t
expand(const struct index_core *ic, struct search *s, uint32_t n)
{
	const struct index *ix = ic->ix;
	const uint32_t bucket = s->nodes[n].bucket;
	struct expansion e;

	expansion_begin(&e, ix, s->seq, bucket);
	for (uint32_t slot = 0; slot < BUCKET_SLOTS && s->count < s->max; slot++) {
		const struct successor next = successor_of(&e, ix, slot);

		protocol_gap();
		if (next.tag == 0 || next.bucket == bucket || is_avoided(s, next.bucket) ||
		    !may_leave(ic, &e, next.bucket, slot))
			continue;
		s->nodes[s->count++] = (struct node){.bucket = next.bucket,
						     .parent = (uint16_t)n,
						     .slot = (uint8_t)slot,
						     .tag = next.tag};
		if (bucket_empty_slot(index_bucket(ix, next.bucket)) < BUCKET_SLOTS)
			return s->count - 1;
	}
	return 0;
}

/* Returns the most nodes of a search (resize_limits.h). */
static uint32_t
nodes_max(const struct index_core *ic, const struct search *s)
{
	if ((s->seq & GEOMETRY_RESIZING) == 0)
		return PATH_NODES_MAX;
	if (!ic->keeps_all)
		return PATH_NODES_RESIZING;
	return s->avoid_count != 0 ? PATH_NODES_MAX : PATH_NODES_FEW;
}

/* Returns a node with an empty slot; 0: none was found. The two buckets of the place are known to
 * be full. */
static uint32_t
search(const struct index_core *ic, struct search *s, const struct place *p)
{
	uint32_t found = 0;

	s->seq = p->seq;
	s->max = nodes_max(ic, s);
	s->nodes[0] = (struct node){.bucket = p->primary};
	s->nodes[1] = (struct node){.bucket = p->alternate};
	s->count = 2;
	for (uint32_t n = 0; n < s->count && found == 0 && s->count < s->max; n++)
		found = expand(ic, s, n);
	return found;
}

/* True if these two are still the buckets of the item in the slot. The same tag proves it, unless
 * the index was resized since the search. Under both locks. */
static bool
move_is_current(const struct index *ix, const struct search *s, uint32_t n, uint32_t ref)
{
	const uint32_t from = s->nodes[s->nodes[n].parent].bucket;

	return likely(index_seq(ix) == s->seq && (s->seq & GEOMETRY_RESIZING) == 0) ||
	       alternate_by_key(ix, from, ref, s->nodes[n].tag) == s->nodes[n].bucket;
}

/* Moves the item of node n from its parent's bucket to its own. False: other writers have broken
 * the path. */
static bool
move(struct index_core *ic, const struct search *s, uint32_t n)
{
	const struct index *ix = ic->ix;
	const struct node *node = &s->nodes[n];
	struct bucket *from = index_bucket(ix, s->nodes[node->parent].bucket);
	struct bucket *to = index_bucket(ix, node->bucket);
	bool done = false;

	bucket_lock_both(from, to);

	const uint32_t empty = bucket_empty_slot(to), ref = bucket_ref(from, node->slot);

	if (bucket_tag(from, node->slot) == node->tag && empty < BUCKET_SLOTS &&
	    move_is_current(ix, s, n, ref) && walks_let_move(ic, ref)) {
		/* A flushed item is dropped: it must not move, since the sweep may have passed the
		 * new bucket. */
		if (item_flushed(arena_at(ix->arena, ref), index_generation(ic))) {
			ic->owner->drop(ic, (struct spot){.bucket = from, .slot = node->slot},
					DROP_FLUSHED);
		} else {
			bucket_move(from, node->slot, to, empty);
			counter_add(ic->moves, 1);
		}
		done = true;
	}
	bucket_unlock_both(from, to);
	return done;
}

/* ---- one step ---- */

/* The slots from which an item may move, in the order that leaves fewest items displaced: the
 * displaced items of the primary bucket, then those of the alternate one, then the others. */
#define STEP_KINDS 4u

static uint32_t
step_bucket(const struct place *p, uint32_t kind)
{
	return kind % 2 == 0 ? p->primary : p->alternate;
}

static uint32_t
step_slots(const struct bucket *b, uint32_t kind)
{
	const uint32_t displaced = bucket_displaced(b);

	return kind < 2 ? displaced : ~displaced & BUCKET_ALL;
}

/* Returns a bit for each slot of a kind, without tombstones. others[slot]: the other bucket of its
 * item, which is prefetched. */
static uint32_t
step_slots_ahead(const struct index *ix, uint32_t bucket, uint32_t kind, uint32_t *others)
{
	const struct bucket *b = index_bucket(ix, bucket);
	const uint32_t bucket_count = index_bucket_count(ix);
	const uint32_t slots = step_slots(b, kind) & ~bucket_match(b, 0);

	for (uint32_t left = slots; left != 0; left &= left - 1) {
		const uint32_t slot = (uint32_t)__builtin_ctz(left);

		others[slot] = bucket_alternate(bucket_count, bucket, bucket_tag(b, slot));
		prefetch(index_bucket(ix, others[slot]));
	}
	return slots;
}

/* Moves the item in a slot to its other bucket, if that has an empty slot and is not locked. A
 * flushed item is dropped instead, since the sweep may have passed its other bucket. Under the lock
 * of from. */
static bool
step_out(struct index_core *ic, const struct place *p, struct bucket *from, uint32_t slot,
	 struct bucket *to)
{
	uint32_t empty = bucket_empty_slot(to);
	bool done = false;

	/* A try need not follow the order of addresses. */
	if (empty == BUCKET_SLOTS || !bucket_try_lock(to))
		return false;
	empty = bucket_empty_slot(to);
	/* The tag yields the other bucket, unless a resize has begun. */
	if (empty < BUCKET_SLOTS && place_is_current(ic->ix, p) &&
	    walks_let_move(ic, bucket_ref(from, slot))) {
		if (unlikely(index_slot_is_flushed(ic, from, slot))) {
			ic->owner->drop(ic, (struct spot){.bucket = from, .slot = slot},
					DROP_FLUSHED);
		} else {
			bucket_move(from, slot, to, empty);
			counter_add(ic->moves, 1);
		}
		done = bucket_ref(from, slot) == 0;
	}
	bucket_unlock(to);
	return done;
}

struct spot
path_step(struct index_core *ic, const struct place *p)
{
	const struct index *ix = ic->ix;
	uint32_t others[BUCKET_SLOTS];

	if (unlikely((p->seq & GEOMETRY_RESIZING) != 0))
		return (struct spot){.bucket = NULL};
	for (uint32_t kind = 0; kind < STEP_KINDS; kind++) {
		const uint32_t bucket = step_bucket(p, kind);
		struct bucket *b = index_bucket(ix, bucket);

		for (uint32_t slots = step_slots_ahead(ix, bucket, kind, others); slots != 0;
		     slots &= slots - 1) {
			const uint32_t slot = (uint32_t)__builtin_ctz(slots);

			if (step_out(ic, p, b, slot, index_bucket(ix, others[slot])))
				return (struct spot){.bucket = b,
						     .slot = slot,
						     .tag = bucket == p->primary
								    ? p->tag
								    : p->tag | TAG_DISPLACED};
		}
	}
	return (struct spot){.bucket = NULL};
}

/* ---- a search ---- */

bool
path_free_slot(struct index_core *ic, const struct place *p, const uint32_t *avoid,
	       uint32_t avoid_count)
{
	struct search s;

	s.avoid = avoid;
	s.avoid_count = avoid_count;

	for (uint32_t tries = 0; tries < PATH_SEARCHES_MAX; tries++) {
		uint32_t n = search(ic, &s, p);

		ic->searched += s.count;
		if (n == 0)
			return false;
		protocol_gap();
		while (n > 1 && move(ic, &s, n))
			n = s.nodes[n].parent;
		if (n <= 1)
			return true;
	}
	return false;
}
