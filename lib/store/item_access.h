/*
 * item_access.h - an item's objects, its value in chunks and its reference bits.
 *
 * Thread: an item not yet published by its owner; a published one as item.h says.
 */
#ifndef CLOCKOO_ITEM_ACCESS_H
#define CLOCKOO_ITEM_ACCESS_H

#include "store_state.h"

/* Marks the old version as replaced, and returns those of its status bits that the new version
 * inherits. If ITEM_WON is among `inherit`, no reader can win the old version afterwards. */
uint32_t item_hand_over(struct item *old, uint32_t inherit);
/* Marks a published item with a long cas as stale and not won, and gives it this cas. Called under
 * its bucket's lock. */
void item_mark_stale(struct item *it, uint64_t cas);
/* Writes bytes of the value at an offset. */
void item_write(const struct store *st, struct item *it, uint32_t offset, struct view bytes);
/* Writes the whole value of `from` into that of `to`, at an offset. */
void item_write_value(const struct store *st, struct item *to, uint32_t offset,
		      const struct item *from);
struct view item_value_at(const struct store *st, const struct item *it, uint32_t offset);
/* Gives an unpublished item another form and value length; its key stays. False: its object is too
 * small, or the item is chunked before or after. */
bool item_reshape(const struct store *st, struct item *it, uint32_t form, uint32_t value_len);

/* ---- all objects of an item: the item and its chunks ---- */

/* Returns the number of chunks of an existing item. */
static inline uint32_t
item_chunks(const struct item *it)
{
	return item_form(it) & ITEM_IS_CHUNKED ? item_chunk_count(item_value_len(it)) : 0;
}

/* Returns the bytes of all objects of the item, by the sizes of their classes. */
uint64_t item_memory(const struct store *st, const struct item *it);
void item_set_live(struct store *st, struct item *it, enum object_state state);
/* Notes an item's new expiry on its page. For an item that is already in the index. */
void item_note_due(struct store *st, const struct item *it);
void item_clear_live(struct store *st, struct item *it);
/* Adds `by`, 1 or -1, to the counts of the classes of a chunked item's first and last object. */
void item_count_parts(struct store *st, const struct item *it, uint32_t chunks, int32_t by);
/* Frees an item that was never published, or whose grace period has passed. */
void item_free(struct store_core *sc, struct item *it);
/* Frees the item and its first `chunks` chunks. */
void item_free_objects(struct store_core *sc, struct item *it, uint32_t chunks);

/* Returns the class in which an eviction frees the item: that of its chunks, if it has any. */
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
/* Stamps the item and prefetches the cache line of its state. The reference bit itself is set in
 * the next turn, when that line has arrived. */
void item_set_reference_stamp(struct store_core *sc, struct item *it, uint32_t ref, uint32_t stamp);
/* Sets the reference bits of the items stamped since the last call. Called once a turn, and before
 * this core moves a hand. */
void item_apply_referenced(struct store_core *sc);

/* Removes the ghost of a new item's key, if there is one, and counts for the class that the key has
 * returned. */
enum ghost item_take_ghost(struct store_core *sc, uint32_t class, struct ghost_group *ghosts,
			   uint64_t hash);
/* Ends the probation of the item that this core inserted last, if its key's ghost demands that.
 * Called before the next insertion, and by item_apply_referenced. */
void item_judge_newcomer(struct store_core *sc);

/* Sets the reference bit of the item, but not those of its chunks. */
static inline void
item_set_referenced(struct store_core *sc, const struct item *it, uint32_t ref)
{
	const uint32_t stamp = slab_reference_stamp(&sc->store->slab);

	if ((item_head(it) & ITEM_REFERENCE_STAMP) != stamp)
		item_set_reference_stamp(sc, (struct item *)it, ref, stamp);
}

/* Records a get or a touch of the item. */
static inline void
item_bump(struct store_core *sc, const struct item *it, uint32_t ref)
{
	item_set_referenced(sc, it, ref);
	if (unlikely((item_form(it) & ITEM_IS_CHUNKED) != 0))
		item_set_chunks_referenced(sc->store, it);
}

/* Returns the reference of the item that a live object belongs to. */
static inline uint32_t
item_of_object(const struct store *st, uint32_t ref)
{
	const struct item_chunk *c = arena_at(&st->arena, ref);
	/* An object's first word is either a chunk's marker or an item's head. In a head a reader
	 * may set a status bit at the same time. */
	const uint32_t marker = atomic_load_explicit(&c->marker, memory_order_relaxed);

	return likely((marker & 0xff) != 0) ? ref : c->owner;
}

#endif
