/*
 * homing.c - items back into their home buckets, and homes that forget who came back.
 *
 * What is away costs a get of it another bucket, and its bit in its home costs one for the misses
 * that share it. The sweep brings home what finds room there, and makes the overflow bits anew by
 * two walks. In the first, whoever is away has its fresh bit set in its home; in the second, a
 * home's fresh bits become its overflow bits, and fresh bits begin anew. Whoever goes away sets
 * both at any time. So all that is away when its home is renewed has its fresh bit: it was there
 * when the first walk came by, or went away since. If the index was resized meanwhile, homes are
 * others than the first walk marked: it is walked again.
 */
#include "inside.h"

/* Are buckets still those that the walk began with? */
static bool
walk_is_current(const struct store *st)
{
	const uint32_t seq = index_seq(&st->ix);

	return seq == st->sweep.seq && (seq & GEOMETRY_MOVING) == 0;
}

void
homing_begin(struct store *st)
{
	struct sweep *sw = &st->sweep;

	sw->renews = sw->marked && walk_is_current(st);
	sw->marked = false;
	sw->seq = index_seq(&st->ix);
}

void
homing_end(struct store *st)
{
	st->sweep.marked = !st->sweep.renews && walk_is_current(st);
}

void
homing_prefetch(const struct store *st, uint32_t bucket)
{
	const struct bucket *b = index_bucket(&st->ix, bucket);
	const uint32_t bucket_count = index_bucket_count(&st->ix);

	if (!walk_is_current(st))
		return;
	for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++) {
		const uint16_t tag = bucket_tag(b, slot);

		if ((tag & TAG_AWAY) != 0)
			prefetch(index_bucket(&st->ix, bucket_other(bucket_count, bucket, tag)));
	}
}

/* The tag says whose home that is, whatever came into the slot meanwhile. */
static void
bring_home(struct store_core *sc, struct spot away, struct bucket *home)
{
	struct store *st = sc->store;

	bucket_lock_both(away.bucket, home);

	const uint32_t empty = bucket_empty_slot(home);

	/* A flushed item must not move: the walk may be past the new place already. */
	if (empty < BUCKET_SLOTS && walk_is_current(st) &&
	    bucket_tag(away.bucket, away.slot) == away.tag &&
	    !item_flushed(item_at(st, bucket_ref(away.bucket, away.slot)), store_generation(st))) {
		bucket_move(away.bucket, away.slot, home, empty);
		count(sc, STORE_MOVES, 1);
	}
	bucket_unlock_both(away.bucket, home);
}

static void
mark_home(struct bucket *home, uint16_t tag)
{
	if ((version_open(home) & overflow_bits(tag)) == overflow_bits(tag))
		return;
	bucket_lock(home);
	bucket_overflow(home, tag);
	bucket_unlock(home);
}

/* Under the lock nobody can go away from here, nor a resize hand this home over to another. */
static void
renew_home(const struct store *st, struct bucket *home)
{
	if ((version_open(home) & (OVERFLOW_MASK | FRESH_MASK)) == 0)
		return;
	bucket_lock(home);
	if (walk_is_current(st))
		bucket_renew(home);
	bucket_unlock(home);
}

void
homing_bucket(struct store_core *sc, uint32_t bucket)
{
	struct store *st = sc->store;
	struct bucket *b = index_bucket(&st->ix, bucket);
	const uint32_t bucket_count = index_bucket_count(&st->ix);

	/* After this look at the geometry the number is the walk's; if both change now, the buckets
	 * of the walk stay ours until this core turns. */
	if (!walk_is_current(st) || bucket >= bucket_count)
		return;
	for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++) {
		const uint16_t tag = bucket_tag(b, slot);

		if ((tag & TAG_AWAY) == 0)
			continue;

		struct bucket *home =
			index_bucket(&st->ix, bucket_other(bucket_count, bucket, tag));

		if (bucket_empty_slot(home) < BUCKET_SLOTS)
			bring_home(sc, (struct spot){.bucket = b, .slot = slot, .tag = tag}, home);
		if (!st->sweep.renews && bucket_tag(b, slot) == tag)
			mark_home(home, tag);
	}
	if (st->sweep.renews)
		renew_home(st, b);
}
