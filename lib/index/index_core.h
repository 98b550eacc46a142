/*
 * index_core.h - a core that moves items between buckets, and what it asks of their owner.
 *
 * Shape:  struct index_core is one core's. Items belong to the store above this room: it takes out
 *         an item that must not move, or that finds no slot, and retires its memory.
 *
 * Thread: the core that owns the struct index_core.
 */
#ifndef CLOCKOO_INDEX_CORE_H
#define CLOCKOO_INDEX_CORE_H

#include "index.h"
#include "walks.h"
#include "base/counter.h"

enum index_drop {
	DROP_FLUSHED,   /* flushed, on a cuckoo path: the sweep may have passed its new bucket */
	DROP_UNPLACED,  /* found in a resize: no slot is left for it, or it is flushed */
	DROP_TOMBSTONE, /* its retire list had no space when it was removed */
};

struct index_core;

struct index_owner {
	/* Under the bucket's lock: the item in the slot leaves the index. */
	void (*drop)(struct index_core *ic, struct spot spot, enum index_drop why);
	/* True if this many items may be dropped now. */
	bool (*may_drop)(struct index_core *ic, uint32_t items);
};

struct index_core {
	struct index *ix;
	struct walks *walks;
	const struct index_owner *owner;
	/* Flush generations. An item of any generation but *generation is flushed. The index holds
	 * no item of a generation before *oldest_generation. */
	const _Atomic uint32_t *generation, *oldest_generation;
	struct counter *moves, *migrated; /* items; buckets */
	bool keeps_all;                   /* the store never evicts: an item without a slot waits */
	uint32_t searched;                /* buckets searched for a cuckoo path; it wraps */
};

static inline uint32_t
index_generation(const struct index_core *ic)
{
	/* Sequentially consistent: read after the bucket lock's bit is visible (sweep.c). */
	return atomic_load_explicit(ic->generation, memory_order_seq_cst);
}

/* True, under the lock, if the item in a slot is flushed. The item is read only if some may be. */
static inline bool
index_slot_is_flushed(const struct index_core *ic, const struct bucket *b, uint32_t slot)
{
	const uint32_t generation = index_generation(ic);
	/* Acquire: pairs with the release in sweep_end. */
	const uint32_t oldest = atomic_load_explicit(ic->oldest_generation, memory_order_acquire);

	return unlikely(oldest != generation) &&
	       item_flushed(arena_at(ic->ix->arena, bucket_ref(b, slot)), generation);
}

#endif
