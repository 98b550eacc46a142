/*
 * index_core.h - a core's state for moving items between buckets, and the functions by which the
 * index calls the items' owner.
 *
 * Shape:  each core has a struct index_core. Items belong to the store, a room above this one: its
 *         functions take out an item that must not move or that finds no slot, and retire its
 *         memory.
 *
 * Thread: the core that owns the struct index_core.
 */
#ifndef CLOCKOO_INDEX_CORE_H
#define CLOCKOO_INDEX_CORE_H

#include "index.h"
#include "walks.h"
#include "base/counter.h"

enum index_drop {
	/* Flushed, and on a cuckoo path: must not move, since the sweep may have passed its new
	 * bucket. */
	DROP_FLUSHED,
	DROP_UNPLACED,  /* during a resize: the item is flushed, or there is no slot for it */
	DROP_TOMBSTONE, /* a tombstone: a removed item for which the retire list had no space */
};

struct index_core;

struct index_owner {
	/* Takes the item in the slot out of the index. Called under the bucket's lock. */
	void (*drop)(struct index_core *ic, struct spot spot, enum index_drop why);
	/* True if this many items may be dropped now. */
	bool (*may_drop)(struct index_core *ic, uint32_t items);
};

struct index_core {
	struct index *ix;
	struct walks *walks;
	const struct index_owner *owner;
	/* Flush generations. An item is flushed if its generation is not *generation. The index
	 * holds no item of a generation before *oldest_generation. */
	const _Atomic uint32_t *generation, *oldest_generation;
	struct counter *moves, *migrated; /* count items moved, and buckets migrated */
	bool keeps_all;                   /* the store never evicts: an item without a slot waits */
	uint32_t searched;                /* buckets searched for cuckoo paths; the count wraps */
};

static inline uint32_t
index_generation(const struct index_core *ic)
{
	/* Sequentially consistent: must be read after the bucket's lock bit is visible
	 * (sweep.c). */
	return atomic_load_explicit(ic->generation, memory_order_seq_cst);
}

/* True if the item in a slot is flushed. The item is read only if the index may hold flushed ones.
 * Called under the lock. */
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
