/*
 * migrate.c - during a resize, moves the items of an old bucket to their new buckets.
 *
 * 1. Without locks a plan is made of where each item goes. If there is no slot for one, a cuckoo
 *    path empties a slot (path.c).
 * 2. The bucket, and all buckets that its items go to, are locked in the order of their addresses.
 *    If the plan no longer holds, the next one is made.
 * 3. The items are copied, the geometry is changed, the old slots are cleared, the locks are
 *    released.
 *
 * Why no lookup misses an item: the geometry changes after the copying and before the clearing. A
 * lookup in the old bucket finds the item there, or sees the new geometry and starts again.
 *
 * Why no writer sees a half-done migration: old and new buckets are locked until it is complete. So
 * a reference in the old slot is never that of an outdated version.
 *
 * A flushed item is dropped, since the sweep may have passed its new bucket (sweep.c). An item for
 * which there is no slot is evicted; in a store that never evicts, its bucket waits.
 */
#include "migrate.h"
#include "geometry.h"
#include "path.h"
#include "resize_limits.h"
#include "walk.h"

#define DEFERRED       UINT32_MAX
#define TARGETS_MAX    (2 * BUCKET_SLOTS) /* both buckets of each item */
#define LOCKS_MAX      (1 + BUCKET_SLOTS + RESIZE_FACTOR_MAX + 1)
#define PREFETCH_AHEAD 3u /* buckets between the prefetched one and the one being migrated */

/* The plan for one slot of the bucket. */
struct slot_plan {
	uint32_t ref; /* 0: empty, or a tombstone */
	uint16_t tag; /* the item's tag in its new bucket */
	/* Number of the target that is its new bucket; STAYS: this bucket; NOWHERE: there is no
	 * slot. */
	uint8_t to;
};

#define STAYS   (TARGETS_MAX + 0u)
#define NOWHERE (TARGETS_MAX + 1u)

/* A bucket to which the plan moves items, or would if it had room. */
struct target {
	uint32_t bucket;
	uint32_t planned; /* items that the plan moves there */
	/* A bit for each empty slot: first when the plan is made, again under the locks. */
	uint32_t empty;
};

struct migration {
	uint32_t bucket;
	struct geometry after; /* the geometry once this bucket is empty */
	struct slot_plan slots[BUCKET_SLOTS];
	struct target targets[TARGETS_MAX];
	uint32_t target_count;
	/* After the migration, keys whose primary bucket is this one have theirs between these
	 * two. */
	uint32_t new_primaries[2];
	uint32_t locks[LOCKS_MAX]; /* the buckets to lock, in the order of locking */
	uint32_t lock_count;
};

/* Returns a bit for each empty slot among four. */
static uint32_t
empty_of_four(const struct bucket *b, uint32_t slot)
{
	const vec16 empty = vec16_equal_32(vec16_load(&b->ref[slot]), vec16_zero());

	return vec16_signs(vec16_pack_16(vec16_pack_32(empty, empty), vec16_zero())) & 0xf;
}

/* Returns a bit for each empty slot: one without a reference, which then has no tag either. */
static uint32_t
empty_slots(const struct bucket *b)
{
	uint32_t empty = 0;

	if (MATCH_IN_VECTORS)
		return empty_of_four(b, 0) | empty_of_four(b, 4) << 4 | empty_of_four(b, 6) << 6;
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		empty |= (uint32_t)(bucket_ref(b, i) == 0) << i;
	return empty;
}

static uint32_t
items_of(const struct migration *m)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		count += m->slots[i].ref != 0;
	return count;
}

/* Returns the number of the target that is this bucket; adds it if there is none. */
static uint32_t
target_of(const struct index_core *ic, struct migration *m, uint32_t bucket)
{
	for (uint32_t i = 0; i < m->target_count; i++)
		if (m->targets[i].bucket == bucket)
			return i;
	ensure(m->target_count < TARGETS_MAX);
	m->targets[m->target_count] = (struct target){
		.bucket = bucket, .empty = empty_slots(index_bucket(ic->ix, bucket))};
	return m->target_count++;
}

static bool
has_room(const struct target *t)
{
	return t->planned < (uint32_t)__builtin_popcount(t->empty);
}

/* Returns the target for an item that goes to this bucket; STAYS: it is the bucket itself; NOWHERE:
 * it is full. */
static uint32_t
way_to(const struct index_core *ic, struct migration *m, uint32_t bucket)
{
	uint32_t n;

	if (bucket == m->bucket)
		return STAYS;
	n = target_of(ic, m, bucket);
	return has_room(&m->targets[n]) ? n : NOWHERE;
}

/* Chooses the new bucket of the item in a slot. First choice: the new bucket that takes this one's
 * place for the key. If that is full: the key's other bucket, unless a walk is between the two
 * (walk.c). Exception: in a growing index a displaced item goes back to its primary bucket if that
 * has a higher number than this one, so that gets of it read one bucket. Lower buckets are not
 * migrated yet, so their slots are scarce. */
static struct slot_plan
choose(const struct index_core *ic, struct migration *m, uint32_t slot, uint32_t ref,
       struct place *after)
{
	const uint16_t tag = bucket_tag(index_bucket(ic->ix, m->bucket), slot);
	const bool alternate = (tag & TAG_DISPLACED) != 0;
	uint32_t to = NOWHERE;

	if (tag == 0 || ref == 0)
		return (struct slot_plan){.to = NOWHERE};
	*after = geometry_place(&m->after,
				index_hash(ic->ix, item_key(arena_at(ic->ix->arena, ref))));

	const uint32_t first = alternate ? after->alternate : after->primary;
	const uint32_t second = alternate ? after->primary : after->alternate;
	const uint16_t other_tag = tag ^ TAG_DISPLACED;
	const bool moves = walks_let_move(ic, ref);

	if (moves && alternate && m->after.new_count > m->after.old_count && second > m->bucket)
		to = way_to(ic, m, second);
	if (to < TARGETS_MAX)
		return (struct slot_plan){.ref = ref, .to = (uint8_t)to, .tag = other_tag};
	to = way_to(ic, m, first);
	if (to != NOWHERE)
		return (struct slot_plan){.ref = ref, .to = (uint8_t)to, .tag = tag};
	if (!moves)
		after->primary = after->alternate = first; /* a path that empties a slot of the
							      other bucket would be of no use */
	else if (second != m->bucket)
		to = way_to(ic, m, second);
	return (struct slot_plan){
		.ref = ref, .to = (uint8_t)to, .tag = to != NOWHERE ? other_tag : 0};
}

/* Plans a slot. False: there is no empty slot for its item in the buckets of *after. */
static bool
plan_slot(const struct index_core *ic, struct migration *m, uint32_t slot, struct place *after)
{
	const uint32_t ref = bucket_ref(index_bucket(ic->ix, m->bucket), slot);
	struct slot_plan *sp = &m->slots[slot];

	/* The slot has got another item since the plan began; plan_holds() notices that. */
	if (sp->to != NOWHERE || (sp->ref != 0 && sp->ref != ref))
		return true;
	*sp = choose(ic, m, slot, ref, after);
	if (sp->to < TARGETS_MAX)
		m->targets[sp->to].planned++;
	return sp->ref == 0 || sp->to != NOWHERE;
}

/* Plans the slots that have no plan yet. False: for one of the items there is no empty slot in
 * *crowded. */
static bool
plan_once(const struct index_core *ic, struct migration *m, struct place *crowded)
{
	bool good = true;

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		struct place after;

		if (plan_slot(ic, m, i, &after))
			continue;
		*crowded = after;
		good = false;
	}
	return good;
}

static void
plan_begin(struct migration *m)
{
	m->target_count = 0;
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		m->slots[i] = (struct slot_plan){.to = NOWHERE};
}

/* Notes again which slots are empty: after a path has emptied one, or under the locks. */
static void
look_again(const struct index_core *ic, struct migration *m)
{
	for (uint32_t i = 0; i < m->target_count; i++)
		m->targets[i].empty = empty_slots(index_bucket(ic->ix, m->targets[i].bucket));
}

static void
add_lock(struct migration *m, uint32_t bucket)
{
	uint32_t i = m->lock_count;

	while (i != 0 && m->locks[i - 1] > bucket)
		i--;
	if (i != 0 && m->locks[i - 1] == bucket)
		return;
	for (uint32_t n = m->lock_count++; n > i; n--)
		m->locks[n] = m->locks[n - 1];
	m->locks[i] = bucket;
}

/* Lists the buckets to lock. */
static void
list_locks(struct migration *m)
{
	m->lock_count = 0;
	add_lock(m, m->bucket);
	for (uint32_t primary = m->new_primaries[0]; primary <= m->new_primaries[1]; primary++)
		add_lock(m, primary);
	for (uint32_t i = 0; i < m->target_count; i++)
		if (m->targets[i].planned != 0)
			add_lock(m, m->targets[i].bucket);
}

/* Makes the best plan that is possible. False: it is not complete, and the slice has searched all
 * buckets that it may (until); with more work there may be a better plan. */
static bool
plan(struct index_core *ic, struct migration *m, uint32_t until)
{
	struct place crowded;

	plan_begin(m);
	for (uint32_t paths = 0; paths < MIGRATE_PATHS; paths++) {
		if (plan_once(ic, m, &crowded))
			return true;
		if ((int32_t)(ic->searched - until) >= 0)
			return false;
		/* Paths avoid the buckets of the plan, whose empty slots are needed. */
		list_locks(m);
		if (!path_free_slot(ic, &crowded, m->locks, m->lock_count))
			return true;
		look_again(ic, m);
	}
	return true;
}

static void
lock_all(const struct index_core *ic, struct migration *m)
{
	list_locks(m);
	for (uint32_t i = 0; i < m->lock_count; i++)
		bucket_lock(index_bucket(ic->ix, m->locks[i]));
}

static void
unlock_all(const struct index_core *ic, const struct migration *m)
{
	for (uint32_t i = 0; i < m->lock_count; i++)
		bucket_unlock(index_bucket(ic->ix, m->locks[i]));
}

/* True if the item in a slot has replaced one of the same key since the plan was made. Then the
 * plan is valid for it, too; otherwise a key that is written all the time would spoil every plan.
 * The old item is readable until this core turns. If the item is to stay in this bucket its tag
 * must be the same: during a resize both buckets of a key may be this one, and the key may have
 * been deleted, and stored again in its other role. */
static bool
is_replaced(const struct index_core *ic, struct migration *m, uint32_t slot)
{
	const struct bucket *b = index_bucket(ic->ix, m->bucket);
	const uint32_t ref = bucket_ref(b, slot);
	struct slot_plan *planned = &m->slots[slot];

	if (planned->ref == 0 || planned->to == NOWHERE ||
	    (planned->to == STAYS && planned->tag != bucket_tag(b, slot)) ||
	    !item_has_key(arena_at(ic->ix->arena, ref),
			  item_key(arena_at(ic->ix->arena, planned->ref))))
		return false;
	planned->ref = ref;
	return true;
}

/* True if the plan moves the item in a slot to its other bucket, and a walk is between the two.
 * Under the locks. */
static bool
crosses_walk(const struct index_core *ic, const struct migration *m, uint32_t slot)
{
	const struct bucket *b = index_bucket(ic->ix, m->bucket);
	const struct slot_plan *sp = &m->slots[slot];

	return sp->to < TARGETS_MAX && ((sp->tag ^ bucket_tag(b, slot)) & TAG_DISPLACED) != 0 &&
	       !walks_let_move(ic, bucket_ref(b, slot));
}

/* True if the bucket holds what the plan says, and the planned slots are still empty. Under the
 * locks. */
static bool
plan_holds(const struct index_core *ic, struct migration *m)
{
	const struct bucket *b = index_bucket(ic->ix, m->bucket);

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		const uint32_t ref = bucket_tag(b, i) != 0 ? bucket_ref(b, i) : 0;

		if (ref != 0 && ref != m->slots[i].ref && !is_replaced(ic, m, i))
			return false;
		if (ref != 0 && crosses_walk(ic, m, i))
			return false;
	}
	look_again(ic, m);
	for (uint32_t i = 0; i < m->target_count; i++)
		if (m->targets[i].planned > (uint32_t)__builtin_popcount(m->targets[i].empty))
			return false;
	return true;
}

/* Takes the item in a slot out of the plan: it gets no bucket. */
static void
unplan(struct migration *m, uint32_t slot)
{
	struct slot_plan *sp = &m->slots[slot];

	if (sp->to < TARGETS_MAX)
		m->targets[sp->to].planned--;
	sp->to = NOWHERE;
}

/* Takes all items out of the plan that are not as planned, since other writers spoil every plan.
 * Under the locks. */
static void
give_up(const struct index_core *ic, struct migration *m)
{
	const struct bucket *b = index_bucket(ic->ix, m->bucket);

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		if (bucket_ref(b, i) != m->slots[i].ref || crosses_walk(ic, m, i)) {
			unplan(m, i);
			m->slots[i].ref = bucket_ref(b, i);
		}
	look_again(ic, m);
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		const uint32_t to = m->slots[i].to;

		if (to < TARGETS_MAX &&
		    m->targets[to].planned > (uint32_t)__builtin_popcount(m->targets[to].empty))
			unplan(m, i);
	}
}

/* Drops flushed items, and evicts items without a slot, under the locks. */
static void
drop_unplaced(struct index_core *ic, struct migration *m)
{
	struct bucket *b = index_bucket(ic->ix, m->bucket);

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		const uint32_t ref = bucket_ref(b, i);

		if (ref == 0)
			continue;
		if (bucket_tag(b, i) == 0) { /* a tombstone */
			ic->owner->drop(ic, (struct spot){.bucket = b, .slot = i}, DROP_TOMBSTONE);
			continue;
		}

		if (m->slots[i].to == NOWHERE ||
		    item_flushed(arena_at(ic->ix->arena, ref), index_generation(ic)))
			ic->owner->drop(ic, (struct spot){.bucket = b, .slot = i}, DROP_UNPLACED);
	}
}

static bool
moves_out(const struct migration *m, const struct bucket *b, uint32_t slot)
{
	return bucket_ref(b, slot) != 0 && m->slots[slot].to != STAYS;
}

static void
copy_moved(const struct index_core *ic, struct migration *m, const struct bucket *b)
{
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		if (!moves_out(m, b, i))
			continue;

		struct target *t = &m->targets[m->slots[i].to];

		ensure(t->empty != 0);
		bucket_put(index_bucket(ic->ix, t->bucket), (uint32_t)__builtin_ctz(t->empty),
			   bucket_ref(b, i), m->slots[i].tag);
		t->empty &= t->empty - 1;
	}
}

/* Gives the new primary buckets the overflow bits of this bucket, and those of the items that this
 * migration displaces. Fresh bits are not set: after a resize the renewal starts with a first pass,
 * which sets them for all displaced items (relocate.c). Under the locks. */
static void
copy_overflows(const struct index_core *ic, const struct migration *m)
{
	const struct bucket *b = index_bucket(ic->ix, m->bucket);
	uint32_t overflows = bucket_overflows(b) & OVERFLOW_MASK;

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		if ((bucket_tag(b, i) & TAG_DISPLACED) == 0 &&
		    (m->slots[i].tag & TAG_DISPLACED) != 0)
			overflows |= overflow_bits(m->slots[i].tag) & OVERFLOW_MASK;
	for (uint32_t primary = m->new_primaries[0]; primary <= m->new_primaries[1]; primary++) {
		struct bucket *to = index_bucket(ic->ix, primary);

		bucket_set_overflows(to, bucket_overflows(to) | overflows);
	}
}

/* Clears the overflow bits if this bucket will be no key's primary bucket. */
static void
clear_overflows(const struct index_core *ic, const struct migration *m)
{
	if (m->bucket < m->new_primaries[0] || m->bucket > m->new_primaries[1])
		bucket_set_overflows(index_bucket(ic->ix, m->bucket), 0);
}

static void
clear_moved(const struct migration *m, struct bucket *b)
{
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		if (moves_out(m, b, i))
			bucket_clear(b, i);
}

/* Copies, changes the geometry, and clears the old slots. Under the locks. */
static void
execute_plan(struct index_core *ic, struct migration *m)
{
	struct bucket *b = index_bucket(ic->ix, m->bucket);

	drop_unplaced(ic, m);
	copy_moved(ic, m, b);
	copy_overflows(ic, m);
	protocol_gap();
	geometry_step(ic->ix);
	protocol_gap();
	clear_moved(m, b);
	clear_overflows(ic, m);
	counter_add(ic->migrated, 1);
}

/* True in a store that never evicts if an item has no slot: the bucket waits until deletes empty
 * some. */
static bool
must_wait(const struct index_core *ic, const struct migration *m)
{
	for (uint32_t i = 0; ic->keeps_all && i < BUCKET_SLOTS; i++)
		if (m->slots[i].ref != 0 && m->slots[i].to == NOWHERE)
			return true;
	return false;
}

/* Migrates a bucket. Returns how many items it had; DEFERRED: it still has them. */
static uint32_t
migrate_bucket(struct index_core *ic, uint32_t *deferred, uint32_t bucket, uint32_t until)
{
	struct migration m; /* plan_begin and list_locks set the other fields */

	m.bucket = bucket;
	m.after = geometry_after(ic->ix);
	geometry_new_primaries(ic->ix, bucket, &m.new_primaries[0], &m.new_primaries[1]);
	for (uint32_t tries = 1;; tries++) {
		/* The next turn continues; slots emptied so far stay empty. */
		if (!plan(ic, &m, until) && *deferred < MIGRATE_DEFER_MAX) {
			++*deferred;
			return DEFERRED;
		}
		protocol_gap();
		lock_all(ic, &m);
		if (plan_holds(ic, &m))
			break;
		if (tries == MIGRATE_TRIES) {
			give_up(ic, &m);
			break;
		}
		unlock_all(ic, &m);
	}
	/* A tombstone does not migrate; it is retired, which needs space on the retire list. */
	if (must_wait(ic, &m) || !ic->owner->may_drop(ic, BUCKET_SLOTS)) {
		unlock_all(ic, &m);
		return DEFERRED;
	}
	execute_plan(ic, &m);
	unlock_all(ic, &m);
	*deferred = 0;
	return items_of(&m);
}

static void
prefetch_items(const struct index_core *ic, uint32_t bucket)
{
	const struct bucket *b = index_bucket(ic->ix, bucket);

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		prefetch(arena_at(ic->ix->arena, bucket_ref(b, i)));
}

/* Prefetches the items of a bucket that follows soon: a lower one when the index grows, a higher
 * one when it shrinks. */
static void
prefetch_coming(const struct index_core *ic, uint32_t bucket)
{
	const uint32_t end = index_bucket_count(ic->ix);
	const uint32_t soon =
		index_grows(ic->ix) ? bucket - PREFETCH_AHEAD : bucket + PREFETCH_AHEAD;

	if (soon < end)
		prefetch_items(ic, soon);
}

bool
migrate(struct index_core *ic, uint32_t *deferred, uint32_t most)
{
	const uint32_t before = ic->searched;
	uint32_t work = 0;

	while (work + (ic->searched - before) < most) {
		const uint32_t bucket = geometry_next(ic->ix);

		if (bucket == UINT32_MAX)
			return false;
		/* Flushed items, in the bucket and along paths, need space on the retire list. */
		if (!ic->owner->may_drop(ic, MIGRATE_DROPS_MAX))
			return true;
		prefetch_coming(ic, bucket);

		const uint32_t items = migrate_bucket(ic, deferred, bucket, before + most - work);

		if (items == DEFERRED)
			return true;
		work += MIGRATE_BUCKET + MIGRATE_ITEM * items;
	}
	return true;
}
