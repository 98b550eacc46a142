/*
 * migrate.c - a bucket gives its items to their new buckets.
 *
 * First, without locks: where does each item go, and is there room? Where there is none, others are
 * moved out of the way (path.c). Then the bucket and all those its items go to are locked, in order
 * of their addresses, and if all is still so: the items are copied, the geometry is stepped on, the
 * old slots are cleared, and only then the locks are given back.
 *
 * Why no lookup misses what is there: copies come before the step, the step before the clearing.
 * One that looked where the key was before finds it there, or sees the step and looks again. Why no
 * writer does harm: who has locked an old pair holds the bucket up; who has locked a new one sees
 * it filled and the old one cleared, since all of them are locked until then. For the same reason a
 * reference seen in the old slot never stands for a version that is out of date.
 *
 * A flushed item is dropped, not carried: the sweep may be past its new bucket (sweep.c). One that
 * finds no place is evicted; in a store that never evicts, its bucket waits.
 */
#include "path.h"
#include "resize.h"
#include "resize_limits.h"
#include "retire_list.h"
#include "unlink.h"

#define DEFERRED       UINT32_MAX
#define LOCKS_MAX      (1 + BUCKET_SLOTS + RESIZE_FACTOR_MAX + 1)
#define PREFETCH_AHEAD 3u /* buckets */

/* A slot of the bucket. */
struct slot_plan {
	uint32_t ref; /* 0: empty, or a tombstone */
	uint32_t to;  /* its new bucket; the old one: it stays; NOWHERE: there is no room */
	uint16_t tag; /* as it will lie there */
};

#define NOWHERE UINT32_MAX

struct migration {
	uint32_t bucket;
	struct slot_plan slots[BUCKET_SLOTS];
	uint32_t new_primaries[2]; /* from and to: new primary buckets of keys that have their
				      primary bucket here */
	uint32_t locks[LOCKS_MAX]; /* buckets, in order */
	uint32_t lock_count;
};

static uint32_t
empty_slots(const struct bucket *b)
{
	uint32_t count = 0;

	for (uint32_t free = bucket_match(b, 0); free != 0; free &= free - 1)
		count += bucket_ref(b, (uint32_t)__builtin_ctz(free)) == 0;
	return count;
}

/* Items of the plan that go to a bucket. */
static uint32_t
bound_for(const struct migration *m, uint32_t bucket)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		count += m->slots[i].ref != 0 && m->slots[i].to == bucket;
	return count;
}

static uint32_t
items_of(const struct migration *m)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		count += m->slots[i].ref != 0;
	return count;
}

static bool
has_room(const struct store *st, const struct migration *m, uint32_t bucket)
{
	return bucket != m->bucket &&
	       bound_for(m, bucket) < empty_slots(index_bucket(&st->ix, bucket));
}

/* Where an item goes that lies here under this tag: into the bucket that stands in for this one,
 * or, if that is full, into its other one. A displaced item to its primary bucket first, if the
 * index grows and the primary bucket is above: it left a full one, and gets pay for it until the
 * sweep comes by. Down, where buckets are still to be emptied, it would get behind a walk that goes
 * on meanwhile (walk.c), and take room that is scarce there. */
static struct slot_plan
choose(const struct store *st, const struct migration *m, uint32_t slot, struct place *after)
{
	const struct bucket *b = index_bucket(&st->ix, m->bucket);
	const uint32_t ref = bucket_ref(b, slot);
	const uint16_t tag = bucket_tag(b, slot);
	const bool alternate = (tag & TAG_DISPLACED) != 0;

	if (tag == 0 || ref == 0)
		return (struct slot_plan){.to = NOWHERE};
	*after = geometry_place_after(&st->ix, index_hash(&st->ix, item_key(item_at(st, ref))));

	const uint32_t first = alternate ? after->alternate : after->primary;
	const uint32_t second = alternate ? after->primary : after->alternate;
	const bool to_primary =
		alternate && index_grows(&st->ix) && second > m->bucket && has_room(st, m, second);

	if (!to_primary && (first == m->bucket || has_room(st, m, first)))
		return (struct slot_plan){.ref = ref, .to = first, .tag = tag};
	if (to_primary || has_room(st, m, second))
		return (struct slot_plan){.ref = ref, .to = second, .tag = tag ^ TAG_DISPLACED};
	return (struct slot_plan){.ref = ref, .to = NOWHERE};
}

/* One plan. False: *crowded has no room for an item. */
static bool
plan_once(const struct store *st, struct migration *m, struct place *crowded)
{
	bool good = true;

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		m->slots[i] = (struct slot_plan){.to = NOWHERE};
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		struct place after;

		m->slots[i] = choose(st, m, i, &after);
		if (m->slots[i].ref == 0 || m->slots[i].to != NOWHERE)
			continue;
		*crowded = after;
		good = false;
	}
	return good;
}

static void
add_lock(struct migration *m, uint32_t bucket)
{
	uint32_t i = m->lock_count;

	while (i != 0 && m->locks[i - 1] > bucket)
		i--;
	if (i != 0 && m->locks[i - 1] == bucket)
		return;
	memmove(&m->locks[i + 1], &m->locks[i], (m->lock_count - i) * sizeof m->locks[0]);
	m->locks[i] = bucket;
	m->lock_count++;
}

/* All the plan is about. */
static void
list_locks(struct migration *m)
{
	m->lock_count = 0;
	add_lock(m, m->bucket);
	for (uint32_t primary = m->new_primaries[0]; primary <= m->new_primaries[1]; primary++)
		add_lock(m, primary);
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		if (m->slots[i].ref != 0 && m->slots[i].to != NOWHERE)
			add_lock(m, m->slots[i].to);
}

/* As good a plan as can be had. False: a better one may be had with some more work, which is enough
 * for now: until is what searched may come to. */
static bool
plan(struct store_core *sc, struct migration *m, uint32_t until)
{
	struct place crowded;

	for (uint32_t rooms = 0; rooms < MIGRATE_ROOMS; rooms++) {
		if (plan_once(sc->store, m, &crowded))
			return true;
		if ((int32_t)(sc->searched - until) >= 0)
			return false;
		/* Not out of one bucket that is needed into another: that would go on for ever. */
		list_locks(m);
		if (!path_make_room(sc, &crowded, m->locks, m->lock_count))
			return true;
	}
	return true;
}

static void
lock_all(const struct store *st, struct migration *m)
{
	list_locks(m);
	for (uint32_t i = 0; i < m->lock_count; i++)
		bucket_lock(index_bucket(&st->ix, m->locks[i]));
}

static void
unlock_all(const struct store *st, const struct migration *m)
{
	for (uint32_t i = 0; i < m->lock_count; i++)
		bucket_unlock(index_bucket(&st->ix, m->locks[i]));
}

/* Has the item in a slot only been replaced under its key? Then the plan is for the new one: a key
 * that is written all the time would spoil every plan. The old one can be read until this core
 * turns. But what stays keeps its tag: where both buckets of a key are this one, as may be during a
 * resize, what was displaced may have been deleted and put back into its primary bucket. */
static bool
is_replaced(const struct store *st, struct migration *m, uint32_t slot)
{
	const struct bucket *b = index_bucket(&st->ix, m->bucket);
	const uint32_t ref = bucket_ref(b, slot);
	struct slot_plan *planned = &m->slots[slot];

	if (planned->ref == 0 || planned->to == NOWHERE ||
	    (planned->to == m->bucket && planned->tag != bucket_tag(b, slot)) ||
	    !item_has_key(item_at(st, ref), item_key(item_at(st, planned->ref))))
		return false;
	planned->ref = ref;
	return true;
}

/* Under the locks: is the bucket as it was, and is there still room? */
static bool
plan_holds(const struct store *st, struct migration *m)
{
	const struct bucket *b = index_bucket(&st->ix, m->bucket);

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		const uint32_t ref = bucket_tag(b, i) != 0 ? bucket_ref(b, i) : 0;

		if (ref != 0 && ref != m->slots[i].ref && !is_replaced(st, m, i))
			return false;
	}
	for (uint32_t i = 0; i < m->lock_count; i++)
		if (m->locks[i] != m->bucket &&
		    bound_for(m, m->locks[i]) > empty_slots(index_bucket(&st->ix, m->locks[i])))
			return false;
	return true;
}

/* Under the locks: others write here all the time, so what is not as planned has no place. */
static void
give_up(const struct store *st, struct migration *m)
{
	const struct bucket *b = index_bucket(&st->ix, m->bucket);

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		if (bucket_ref(b, i) != m->slots[i].ref)
			m->slots[i] = (struct slot_plan){.ref = bucket_ref(b, i), .to = NOWHERE};
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		const uint32_t to = m->slots[i].to;

		if (to != NOWHERE && to != m->bucket &&
		    bound_for(m, to) > empty_slots(index_bucket(&st->ix, to)))
			m->slots[i].to = NOWHERE;
	}
}

/* Under the locks: what is dead goes, and what has no place. */
static void
drop_unplaced(struct store_core *sc, struct migration *m)
{
	struct store *st = sc->store;
	struct bucket *b = index_bucket(&st->ix, m->bucket);

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		const uint32_t ref = bucket_ref(b, i);

		if (ref == 0)
			continue;
		if (bucket_tag(b, i) == 0) { /* a tombstone */
			unlink_tombstone(sc, b, i);
			continue;
		}

		const struct item *it = item_at(st, ref);
		const bool flushed = item_flushed(it, store_generation(st));

		if (!flushed && m->slots[i].to != NOWHERE)
			continue;
		count(sc, STORE_INDEX_EVICTED, !flushed);
		unlink_spot(sc, (struct spot){.bucket = b, .slot = i}, UNLINK_EVICTED);
	}
}

static bool
moves_out(const struct migration *m, const struct bucket *b, uint32_t slot)
{
	return bucket_ref(b, slot) != 0 && m->slots[slot].to != m->bucket;
}

static void
copy_moved(const struct store *st, const struct migration *m, const struct bucket *b)
{
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		if (!moves_out(m, b, i))
			continue;

		struct bucket *to = index_bucket(&st->ix, m->slots[i].to);
		const uint32_t slot = bucket_empty_slot(to);

		ensure(slot < BUCKET_SLOTS);
		bucket_put(to, slot, bucket_ref(b, i), m->slots[i].tag);
	}
}

/* Under the locks: which tags are displaced from here, their new primary buckets must say, too. So
 * must they of an item that goes to its alternate bucket from here. */
static void
copy_overflows(const struct store *st, const struct migration *m)
{
	const struct bucket *b = index_bucket(&st->ix, m->bucket);
	uint32_t overflows = bucket_overflows(b);

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		if ((bucket_tag(b, i) & TAG_DISPLACED) == 0 &&
		    (m->slots[i].tag & TAG_DISPLACED) != 0)
			overflows |= overflow_bits(m->slots[i].tag);
	for (uint32_t primary = m->new_primaries[0]; primary <= m->new_primaries[1]; primary++) {
		struct bucket *to = index_bucket(&st->ix, primary);

		bucket_set_overflows(to, bucket_overflows(to) | overflows);
	}
}

/* No key has its primary bucket here any more, or not yet, but who stays. */
static void
clear_overflows(const struct store *st, const struct migration *m)
{
	if (m->bucket < m->new_primaries[0] || m->bucket > m->new_primaries[1])
		bucket_set_overflows(index_bucket(&st->ix, m->bucket), 0);
}

static void
clear_moved(const struct migration *m, struct bucket *b)
{
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		if (moves_out(m, b, i))
			bucket_clear(b, i);
}

/* Under the locks. */
static void
execute_plan(struct store_core *sc, struct migration *m)
{
	struct store *st = sc->store;
	struct bucket *b = index_bucket(&st->ix, m->bucket);

	drop_unplaced(sc, m);
	copy_moved(st, m, b);
	copy_overflows(st, m);
	protocol_gap();
	geometry_step(&st->ix);
	protocol_gap();
	clear_moved(m, b);
	clear_overflows(st, m);
	count(sc, STORE_INDEX_MIGRATED, 1);
}

/* Is somebody to be forgotten, and may nobody be? Others' deletes make room, sooner or later. */
static bool
must_wait(const struct store *st, const struct migration *m)
{
	for (uint32_t i = 0; st->never_evict && i < BUCKET_SLOTS; i++)
		if (m->slots[i].ref != 0 && m->slots[i].to == NOWHERE)
			return true;
	return false;
}

/* How many items it had; DEFERRED: it still has them. */
static uint32_t
migrate_bucket(struct store_core *sc, uint32_t bucket, uint32_t until)
{
	struct migration m = {.bucket = bucket};

	geometry_new_primaries(&sc->store->ix, bucket, &m.new_primaries[0], &m.new_primaries[1]);
	for (uint32_t tries = 1;; tries++) {
		/* What was done to make room stays done: the next turn goes on from there. */
		if (!plan(sc, &m, until) && sc->store->resize.deferred < MIGRATE_DEFER_MAX) {
			sc->store->resize.deferred++;
			return DEFERRED;
		}
		protocol_gap();
		lock_all(sc->store, &m);
		if (plan_holds(sc->store, &m))
			break;
		if (tries == MIGRATE_TRIES) {
			give_up(sc->store, &m);
			break;
		}
		unlock_all(sc->store, &m);
	}
	/* Tombstones cannot be carried. */
	if (must_wait(sc->store, &m) || !retire_list_has_room(sc, BUCKET_SLOTS)) {
		unlock_all(sc->store, &m);
		return DEFERRED;
	}
	execute_plan(sc, &m);
	unlock_all(sc->store, &m);
	sc->store->resize.deferred = 0;
	return items_of(&m);
}

static void
prefetch_items(const struct store *st, uint32_t bucket)
{
	const struct bucket *b = index_bucket(&st->ix, bucket);

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		prefetch(item_at(st, bucket_ref(b, i)));
}

/* Buckets that come soon: those below while the index grows, those above while it shrinks. */
static void
prefetch_coming(const struct store *st, uint32_t bucket)
{
	const uint32_t end = index_bucket_count(&st->ix);
	const uint32_t soon =
		index_grows(&st->ix) ? bucket - PREFETCH_AHEAD : bucket + PREFETCH_AHEAD;

	if (soon < end)
		prefetch_items(st, soon);
}

bool
migrate_slice(struct store_core *sc)
{
	struct store *st = sc->store;
	const uint32_t before = sc->searched;
	uint32_t work = 0;

	while (work + (sc->searched - before) < MIGRATE_WORK) {
		const uint32_t bucket = geometry_next(&st->ix);

		if (bucket == UINT32_MAX)
			return false;
		/* What is flushed on the way, here and along chains, goes there. */
		if (!retire_list_has_room(sc, RETIRE_LIST_KEEP))
			return true;
		prefetch_coming(st, bucket);

		const uint32_t items = migrate_bucket(sc, bucket, before + MIGRATE_WORK - work);

		if (items == DEFERRED)
			return true;
		work += MIGRATE_BUCKET + MIGRATE_ITEM * items;
	}
	return true;
}
