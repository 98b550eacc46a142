/*
 * relocate.c - moves displaced items back to their primary buckets as the sweep passes, and renews
 * overflow bits.
 *
 * A get of a displaced item reads two buckets, and so does a miss whose tag shares the overflow
 * bit. The sweep moves an item to its primary bucket if that has an empty slot. Overflow bits are
 * renewed in two passes:
 *
 * 1. For every displaced item the fresh bit is set in its primary bucket.
 * 2. Each bucket's fresh bits become its overflow bits, and are then cleared.
 *
 * A core that displaces an item sets both bits. So when a bucket is renewed, the fresh bit of each
 * item displaced from it is set: by the first pass, or when the item was displaced later. After a
 * resize the first pass is repeated, since keys have other primary buckets.
 */
#include "relocate.h"
#include "walk.h"

/* True if the geometry is the one with which the pass began. */
static bool
pass_is_current(const struct relocation *r, const struct index *ix)
{
	const uint32_t seq = index_seq(ix);

	return seq == r->seq && (seq & GEOMETRY_RESIZING) == 0;
}

void
relocate_begin(struct relocation *r, const struct index *ix)
{
	r->second_pass = r->first_pass_done && pass_is_current(r, ix);
	r->first_pass_done = false;
	r->seq = index_seq(ix);
}

void
relocate_end(struct relocation *r, const struct index *ix)
{
	r->first_pass_done = !r->second_pass && pass_is_current(r, ix);
}

void
relocate_prefetch(const struct relocation *r, const struct index *ix, uint32_t bucket)
{
	const struct bucket *b = index_bucket(ix, bucket);
	const uint32_t bucket_count = index_bucket_count(ix);

	if (!pass_is_current(r, ix))
		return;
	for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++) {
		const uint16_t tag = bucket_tag(b, slot);

		if ((tag & TAG_DISPLACED) != 0)
			prefetch(index_bucket(ix, bucket_alternate(bucket_count, bucket, tag)));
	}
}

/* Returns an item to its primary bucket. If the slot still has the tag, that is the primary bucket
 * of its item, even if it is another item by now. */
static void
relocate_item(const struct relocation *r, struct index_core *ic, struct spot alternate,
	      struct bucket *primary)
{
	bucket_lock_both(alternate.bucket, primary);

	const uint32_t empty = bucket_empty_slot(primary);
	const uint32_t ref = bucket_ref(alternate.bucket, alternate.slot);

	/* A flushed item must not move, since the sweep may have passed the new bucket. */
	if (empty < BUCKET_SLOTS && pass_is_current(r, ic->ix) &&
	    bucket_tag(alternate.bucket, alternate.slot) == alternate.tag &&
	    !item_flushed(arena_at(ic->ix->arena, ref), index_generation(ic)) &&
	    walks_let_move(ic, ref)) {
		bucket_move(alternate.bucket, alternate.slot, primary, empty);
		counter_add(ic->moves, 1);
	}
	bucket_unlock_both(alternate.bucket, primary);
}

static void
set_overflow(struct bucket *primary, uint16_t tag)
{
	if ((version_open(primary) & overflow_bits(tag)) == overflow_bits(tag))
		return;
	bucket_lock(primary);
	bucket_overflow(primary, tag);
	bucket_unlock(primary);
}

/* Makes the fresh bits the overflow bits. Under the lock no item is displaced from this bucket, and
 * no resize replaces it. */
static void
age_overflow(const struct relocation *r, const struct index *ix, struct bucket *primary)
{
	if ((version_open(primary) & (OVERFLOW_MASK | FRESH_MASK)) == 0)
		return;
	bucket_lock(primary);
	if (pass_is_current(r, ix))
		bucket_age_overflow(primary);
	bucket_unlock(primary);
}

void
relocate_bucket(const struct relocation *r, struct index_core *ic, uint32_t bucket)
{
	const struct index *ix = ic->ix;
	struct bucket *b = index_bucket(ix, bucket);
	const uint32_t bucket_count = index_bucket_count(ix);

	/* If the pass is current, the number of buckets is the one with which it began. If that
	 * changes now, old buckets stay readable until this core turns. */
	if (!pass_is_current(r, ix) || bucket >= bucket_count)
		return;
	for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++) {
		const uint16_t tag = bucket_tag(b, slot);

		if ((tag & TAG_DISPLACED) == 0)
			continue;

		struct bucket *primary =
			index_bucket(ix, bucket_alternate(bucket_count, bucket, tag));

		if (bucket_empty_slot(primary) < BUCKET_SLOTS)
			relocate_item(r, ic, (struct spot){.bucket = b, .slot = slot, .tag = tag},
				      primary);
		if (!r->second_pass && bucket_tag(b, slot) == tag)
			set_overflow(primary, tag);
	}
	if (r->second_pass)
		age_overflow(r, ix, b);
}
