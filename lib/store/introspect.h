/*
 * introspect.h - walks over all items, figures of classes, the memory limit.
 *
 * Shape:  classes are numbered from 1, as memcached's are; 0 is all of them. An item counts for the
 *         class of its first object; objects, used and free count chunks, too.
 *
 * Units:  bytes, seconds on the store's clock.
 *
 * Owner:  items of a walk are valid until this core's next store_turn().
 *
 * Thread: functions that take a store_core: that core; those ending in _mt: any thread.
 *
 * Bounds: a step of a walk: walk_cursor.h.
 */
#ifndef CLOCKOO_INTROSPECT_H
#define CLOCKOO_INTROSPECT_H

#include "store.h"
#include "index/walk_cursor.h"

/* ---- walking ---- */

#define STORE_ALL_CLASSES 0u
/* Returns the next items, at most max; perhaps none before the end, which cursor.done shows. A key
 * that stays cached is shown once, independent of writes, if at most WALKS_MAX walks are under way
 * and this one never pauses for WALK_PAUSE_MAX_S (walks.h). Every walk ends. No reference bit is
 * set. */
uint32_t store_walk(struct store_core *sc, struct walk_cursor *cursor, uint32_t class,
		    const struct item **items, uint32_t max);
/* Ends a walk early. Until a walk ends, it keeps items from moving past it. */
void store_walk_end(struct store_core *sc, struct walk_cursor *cursor);

/* ---- classes ---- */

#define STORE_CLASS_COUNTERS(X)                                                                    \
	X(CLASS_LINKED, "items linked into the index")                                             \
	X(CLASS_UNLINKED, "items unlinked from the index, for any reason")                         \
	X(CLASS_BYTES_LINKED, "bytes requested by those linked, with headers and chunks")          \
	X(CLASS_BYTES_UNLINKED, "bytes requested by those unlinked")                               \
	X(CLASS_FLUSHED, "of those, flushed ones")                                                 \
	X(CLASS_BYTES_FLUSHED, "bytes requested by those")                                         \
	X(CLASS_EVICTED, "items evicted for space")                                                \
	X(CLASS_EVICTED_TIMED, "of those, with an expiry that was still to come")                  \
	X(CLASS_EVICTED_UNFETCHED, "of those, never fetched")                                      \
	X(CLASS_EVICTED_ACTIVE, "of those, referenced since the CLOCK hand passed")                \
	X(CLASS_EXPIRED, "expired items reclaimed for space")                                      \
	X(CLASS_SWEPT, "expired or flushed items reclaimed by the sweep")                          \
	X(CLASS_EXPIRED_UNFETCHED, "of both, expired and never fetched")                           \
	X(CLASS_OUT_OF_MEMORY, "stores refused")

enum store_class_counter { STORE_CLASS_COUNTERS(COUNTER_SYMBOL) STORE_CLASS_COUNTER_COUNT };

struct store_class_usage {
	uint32_t size;     /* of an object */
	uint32_t per_page; /* objects */
	uint32_t pages;
	/* Seconds since the hand passed the page that it reaches next: roughly the age at which
	 * items are evicted now. */
	uint32_t idle_s;
	uint64_t objects, used, free;
	uint64_t items;      /* without flushed ones */
	uint64_t item_bytes; /* the bytes that clients requested for them */
	uint64_t counted[STORE_CLASS_COUNTER_COUNT];
};

uint32_t store_class_count_mt(const struct store *store);
/* Returns the class of an item; 0: the item is not the store's. */
uint32_t store_class_of(const struct store_core *sc, const struct item *it);

/* Finds an item's class in a few instructions, for a caller that needs it with every get. */
struct store_class_map {
	const uint8_t *items; /* the beginning of the first page */
	/* Points to the first page's class; each next page's is stride bytes further. */
	const uint8_t *classes;
	uint32_t page_shift, stride;
	size_t bytes; /* bytes of all pages */
};

void store_class_map(const struct store *store, struct store_class_map *map);

/* True if the item is in the store's memory. An answer of the tier is not. */
static inline bool
store_has_item(const struct store_class_map *map, const struct item *it)
{
	return (size_t)((const uint8_t *)it - map->items) < map->bytes;
}

/* Returns the class of an item of the store. */
static inline uint32_t
store_class_lookup(const struct store_class_map *map, const struct item *it)
{
	const size_t offset = (size_t)((const uint8_t *)it - map->items);

	return map->classes[(offset >> map->page_shift) * map->stride] + 1u;
}

/* Returns the bytes of an item with header, key and chunks, not rounded up to classes. */
uint64_t item_bytes(const struct item *it);
/* Fills in a class's figures. now_s: the caller's clock. */
void store_class_usage_mt(const struct store *store, uint32_t class, uint32_t now_s,
			  struct store_class_usage *out);

/* ---- memory ---- */

/* Limits the store to this many bytes. Later turns evacuate pages beyond the limit, except those
 * that every store needs: the reserve, the index and a few. False: the limit is less than
 * STORE_LIMIT_MIN or more than memory_bytes. */
bool store_limit_mt(struct store *store, size_t bytes);

/* True if a value of this length is too large under the present limit. */
bool store_too_large(const struct store_core *sc, uint32_t value_len);
/* Returns the most memory that unfinished values should take together: a quarter of the present
 * limit, or one value of the largest size if that is more. */
uint64_t store_begun_max(const struct store_core *sc);

#define STORE_ANY_CLASS 0u /* the class with the most pages */

/* Moves a page between classes: class `to` gets a page of the pool at once if there is one, and
 * later turns evacuate a page of class `from`. NOT_YET: slab_moves_max pages are already on their
 * way. NO_MEMORY: `from` has fewer than two pages, or none that can be evacuated. */
enum store_result store_page_move_mt(struct store *store, uint32_t from, uint32_t to);

/* ---- watching ---- */

/* Calls fn on this core with every item that the core evicts, under locks and before the item
 * leaves. fn may read the item but must not call the store. NULL: none. */
typedef void store_evicted_fn(void *arg, const struct item *it);
void store_watch_evictions(struct store_core *sc, store_evicted_fn *fn, void *arg);

#endif
