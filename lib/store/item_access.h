/*
 * item_access.h - the objects of an item, its value in chunks, its reference bit.
 *
 * Thread: an item not yet published by its owner; a published one as item.h says.
 */
#ifndef CLOCKOO_ITEM_ACCESS_H
#define CLOCKOO_ITEM_ACCESS_H

#include "store_state.h"

/* Returns the status bits of old that a new version inherits. If ITEM_WON is one of them, no reader
 * wins the old version from now on. */
uint32_t item_hand_over(struct item *old, uint32_t inherit);
/* Marks a published item with a long cas as stale and not won, with this cas. Under its bucket's
 * lock. */
void item_mark_stale(struct item *it, uint64_t cas);
/* Write value bytes at an offset. */
void item_write(const struct store *st, struct item *it, uint32_t offset, struct view bytes);
/* Write all of from's value at an offset of to's. */
void item_write_value(const struct store *st, struct item *to, uint32_t offset,
		      const struct item *from);
struct view item_value_at(const struct store *st, const struct item *it, uint32_t offset);
/* Give an unpublished item another form and value length, its key unchanged. False: its object is
 * too small, or the item is chunked, before or after. */
bool item_reshape(const struct store *st, struct item *it, uint32_t form, uint32_t value_len);

/* ---- all objects of an item: the item and its chunks ---- */

/* Chunks of an item that exists. */
static inline uint32_t
item_chunks(const struct item *it)
{
	return item_form(it) & ITEM_IS_CHUNKED ? item_chunk_count(item_value_len(it)) : 0;
}

/* Sum of their class sizes. */
uint64_t item_memory(const struct store *st, const struct item *it);
void item_set_live(struct store *st, struct item *it, enum object_state state);
/* Notes the expiry of an item whose expiry was written after it was in the index. */
void item_note_due(struct store *st, const struct item *it);
void item_clear_live(struct store *st, struct item *it);
/* Adds by (1 or -1) to the class counts of the first and the last object of a value in chunks. */
void item_count_parts(struct store *st, const struct item *it, uint32_t chunks, int32_t by);
/* Free an item that was never published, or whose grace period has passed. */
void item_free(struct store_core *sc, struct item *it);
/* Frees the item, and only its first chunks. */
void item_free_objects(struct store_core *sc, struct item *it, uint32_t chunks);

/* The class whose evictions decide on an item: of its chunks, if it has any. */
static inline uint32_t
item_class(const struct store *st, const struct item *it)
{
	return item_form(it) & ITEM_IS_CHUNKED ? slab_class_for(&st->slab, ITEM_CHUNK_BYTES)
					       : slab_class_of_ref(&st->slab, item_ref(st, it));
}

/* Returns the group of ghosts for the item's key; NULL if no ghosts are kept. */
static inline struct ghost_group *
item_ghosts(const struct store *st, const struct item *it, uint64_t hash)
{
	const uint32_t class = item_class(st, it);
	const struct slab_class *c = &st->slab.classes[class];

	return ghost_group(&st->ghosts,
			   ghosts_of_class(&st->ghosts, class, c->per_page * slab_class_pages(c)),
			   hash);
}

/* ---- reference bits ---- */

void item_set_chunks_referenced(const struct store *st, const struct item *it);
/* Stamp the item. Its reference bit is set in the next turn, when the cache line of its state,
 * which is prefetched here, has arrived. */
void item_set_reference_stamp(struct store_core *sc, struct item *it, uint32_t ref, uint32_t stamp);
/* Set the reference bits of items stamped since: once a turn, and before this core moves a hand. */
void item_apply_referenced(struct store_core *sc);

/* Take out the ghost of a new item's key, and count its return to the class. */
enum ghost item_take_ghost(struct store_core *sc, uint32_t class, struct ghost_group *ghosts,
			   uint64_t hash);
/* The newcomer's ghost: before the next newcomer, and with item_apply_referenced. */
void item_judge_newcomer(struct store_core *sc);

/* The item's own reference bit, not those of its chunks. */
static inline void
item_set_referenced(struct store_core *sc, const struct item *it, uint32_t ref)
{
	const uint32_t stamp = slab_reference_stamp(&sc->store->slab);

	if ((item_head(it) & ITEM_REFERENCE_STAMP) != stamp)
		item_set_reference_stamp(sc, (struct item *)it, ref, stamp);
}

/* A get or a touch. */
static inline void
item_bump(struct store_core *sc, const struct item *it, uint32_t ref)
{
	item_set_referenced(sc, it, ref);
	if (unlikely((item_form(it) & ITEM_IS_CHUNKED) != 0))
		item_set_chunks_referenced(sc->store, it);
}

/* The item that a live object belongs to. */
static inline uint32_t
item_of_object(const struct store *st, uint32_t ref)
{
	const struct item_chunk *c = arena_at(&st->arena, ref);
	/* A chunk's marker, or the first word of an item, in which a reader may set a status
	 * bit. */
	const uint32_t marker = atomic_load_explicit(&c->marker, memory_order_relaxed);

	return likely((marker & 0xff) != 0) ? ref : c->owner;
}

#endif
