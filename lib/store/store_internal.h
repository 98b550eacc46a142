/*
 * store_internal.h - what each file of the store does for the others.
 *
 * Shape:  a section a file.
 * Thread: as store.h.
 * Bounds: store_state.h. A store that finds no room on the retire list refuses with
 *         STORE_NO_MEMORY; a delete always succeeds (index.h, tombstone).
 */
#ifndef CLOCKOO_STORE_INTERNAL_H
#define CLOCKOO_STORE_INTERNAL_H

#include "account.h"
#include "store_state.h"

/* ---- store.c ---- */

/* What the budget is cut into. */
struct store_plan {
	uint32_t page_shift, page_count; /* all pages, those of the index too */
	uint32_t bucket_count;           /* at the start */
	uint32_t bucket_step;            /* it grows and shrinks by so many; 0: it does not */
	uint32_t reserve;                /* pages */
};

struct store_plan store_plan_of(const struct store_config *cfg);
/* With a plan of one's own: tests make the index so small that everything collides. */
struct store *store_create_planned(struct region *region, const struct store_config *cfg,
				   const struct store_plan *plan);

/* Of all cores. */
uint64_t store_sum(const struct store *st, enum store_counter what);
/* What came in less what went out; other cores go on meanwhile, so never below 0. */
uint64_t store_balance(const struct store *st, enum store_counter in, enum store_counter out);

/* ---- memory.c: objects, and which items to evict for them ---- */

/* An item with its header, key and chunks, its value unwritten; NULL: no memory. */
struct item *item_new(struct store_core *sc, struct view key, uint32_t value_len, uint32_t form);
/* The same of one without optional fields, if this core has an object for it at hand; else NULL. */
static inline struct item *
item_new_fast(struct store_core *sc, struct view key, uint32_t value_len)
{
	const uint32_t bytes = (uint32_t)sizeof(struct item) + key.len + value_len;

	if (unlikely(value_len > ITEM_LEN_MAX))
		return NULL;

	struct magazine *m = &sc->magazines[slab_class_for(&sc->store->slab, bytes)];

	if (unlikely(m->count == 0))
		return NULL;

	struct item *it = item_at(sc->store, m->ref[--m->count]);

	item_set_head(it, 0, value_len, key.len);
	it->cas_form = 0;
	bytes_copy(it->body, key.data, key.len);
	return it;
}

/* Give back an item that was never published, or whose grace period has passed. */
void item_free(struct store_core *sc, struct item *it);
/* Class sizes of all its objects. */
uint64_t item_memory(const struct store *st, const struct item *it);
/* Every object of the item, for the hand. */
void item_set_live(struct store *st, struct item *it);
void item_set_live_referenced(struct store *st, struct item *it);
void item_clear_live(struct store *st, struct item *it);
/* Evict some of what a class holds, by its hand; EVICT_SLICE at most. Returns how many. */
uint32_t memory_evict(struct store_core *sc, uint32_t class, uint32_t max);
/* After item_new failed: will there be more in some turns? */
bool memory_is_coming(const struct store_core *sc, uint32_t bytes);
/* Bytes of the item's first object, as item_new asks for it. */
uint32_t item_first_bytes(uint32_t form, uint32_t key_len, uint32_t value_len);

/* ---- rebalance.c: pages on their way between classes ---- */

/* Every turn: emptied pages to the pool; if the reserve is not whole, empty a slice of others. */
void rebalance_turn(struct store_core *sc);
/* Empty pages until pages of them are in the pool or coming, for a cost of slice at most. In a
 * hurry what is in use is evicted, too, if there is no other place for it at once. */
void rebalance_evacuate(struct store_core *sc, uint32_t slice, uint32_t pages, bool hurry);
/* Some turns: a page from where items live longest to where they live shortest. */
void rebalance_step(struct store_core *sc);
/* Pages that stay in the pool: the reserve, and what a large value waits for. */
uint32_t rebalance_pool_keep(const struct store *st);
/* Is every page given out that may be? */
bool rebalance_pool_is_low(const struct store *st);

/* ---- evacuate.c: pages being evacuated ---- */

/* Forget or move away some of what lives on one page. What that cost: 1 an object, and 1 for
 * every EVACUATE_COPY_BYTES that moved; 0: nothing could be done. */
uint32_t evacuate_batch(struct store_core *sc, bool hurry);

/* ---- retire_list.c: retired items waiting for their grace period ---- */

bool retire_list_has_room(struct store_core *sc, uint32_t items);
void retire_list_add(struct store_core *sc, struct item *it);
/* The same of one that is not chunked. */
void retire_list_add_unchunked(struct store_core *sc, uint32_t ref);
/* Give back what every core has let go of, at most RETIRE_LIST_SLICE items. */
void retire_list_reclaim(struct store_core *sc);
/* Classes are told what waits: before somebody asks them, and once a turn. */
void retire_list_publish(struct store_core *sc);

/* Objects of a class that wait, for this core. */
static inline uint32_t
retire_list_waiting(const struct store_core *sc, uint32_t class)
{
	const uint32_t published = atomic_load_explicit(
		&sc->store->slab.classes[class].retired_count, memory_order_relaxed);

	return published + (class == sc->unpublished_class ? sc->unpublished : 0);
}

/* ---- unlink.c: out of the index ---- */

/* Under the bucket's lock: take out what lies in the slot, and retire it; or hide it, if the
 * retire list is full. */
void unlink_spot(struct store_core *sc, struct spot spot, enum unlink_reason why);

/* Is anything hidden? */
static inline bool
store_has_tombstones(const struct store *st)
{
	return atomic_load_explicit(&st->tombstones, memory_order_relaxed) != 0;
}

/* May there be memory that nobody but the sweep gives back? In a store that never evicts that is
 * what was flushed, too: no hand takes it. */
static inline bool
store_awaits_sweep(const struct store *st)
{
	const uint32_t oldest = atomic_load_explicit(&st->oldest_generation, memory_order_relaxed);

	return store_has_tombstones(st) || (st->never_evict && oldest != store_generation(st));
}

/* Under the bucket's lock: retire the tombstone in the slot; the retire list has room for it. */
void unlink_tombstone(struct store_core *sc, struct bucket *b, uint32_t slot);

/* Before a number goes, so that whoever puts the key back, under the same lock, starts above. */
void floor_raise(struct store *st, uint16_t tag, uint64_t cas);

enum unlinked {
	UNLINKED_NOT,       /* it was not in the index any more, or the retire list has no room */
	UNLINKED_RETIRED,   /* it waits on the retire list */
	UNLINKED_WITH_PAGE, /* it waits with its page: the caller tells slab_evacuate_retired */
};

/* Ask memory for what it takes to unlink the objects after number i of n; for each in order. */
void unlink_prefetch(const struct store *st, const uint32_t *refs, uint32_t n, uint32_t i);
/* Evict the item an object belongs to, if it is still in the index. with_page: its page is being
 * evacuated. */
enum unlinked unlink_object(struct store_core *sc, uint32_t ref, bool with_page);

/* ---- path.c ---- */

/* Move items until one of the two buckets has an empty slot; none of them into a bucket to
 * be avoided. False: none within reach. */
bool path_make_room(struct store_core *sc, const struct place *p, const uint32_t *avoid,
		    uint32_t avoid_count);

/* Under both locks: what lies in a slot goes to an empty slot of its alternate bucket. */
void bucket_move(struct bucket *from, uint32_t slot, struct bucket *to, uint32_t empty);

/* ---- migrate.c: the index from one geometry to the next ---- */

#define MIGRATE_WORK   400u /* in one slice: buckets looked into in search of room, */
#define MIGRATE_BUCKET 4u   /* as much for each that is emptied, */
#define MIGRATE_ITEM   2u   /* and for each item in it */

/* By the core that holds the resize's lock. False: all is done. */
bool migrate_slice(struct store_core *sc);

/* ---- resize.c: how large the index is ---- */

void resize_init(struct store *st, const struct store_plan *plan);
#define RESIZE_FACTOR_MAX 16u /* the larger number by the smaller, rounded up */

/* Begin to make it another size. False: it is at it already, or there is no memory for it. */
bool resize_begin(struct store_core *sc, uint32_t bucket_count);
/* Every turn: a slice of a resize that is under way. False: there was none, or others are at it. */
bool resize_turn(struct store_core *sc);
/* Some turns: is it too small or too large for what is in it? */
void resize_consider(struct store_core *sc);

/* ---- link.c: into the index ---- */

enum link_verdict {
	LINK_DONE,    /* published; the item is the store's */
	LINK_REFUSED, /* result says why; the item is still the caller's */
	LINK_CHANGED, /* another version came first; likewise */
};

struct rmw;

struct link {
	struct item *item;
	uint64_t hash;
	struct store_conditions conditions;
	struct rmw *rmw; /* NULL, or the item is a new version of one that was there: */
	uint32_t expect; /* of this very one; 0: of whichever it is, built under lock */
	bool fast;       /* nothing in the terms but to store it */
	uint32_t status; /* of the new version, enum item_status; and which the old one's say */
	uint32_t inherit;
	uint32_t lacks; /* optional fields it must have and has not */
	enum store_result result;
	uint32_t generation; /* of flush, as the old version was judged by */
};

enum link_verdict link_item(struct store_core *sc, struct link *l);

/* ---- rmw.c: read, modify, write ---- */

enum rmw_op {
	RMW_APPEND,
	RMW_PREPEND,
	RMW_INCR,
	RMW_DECR,
	RMW_COPY,  /* the same value: for an expiry, or to be stale */
	RMW_EMPTY, /* no value, no flags */
};

struct rmw {
	enum rmw_op op;
	struct view key;
	uint64_t hash;
	struct store_conditions conditions; /* of these, compare and set_cas with their numbers */
	const struct item *more;            /* append, prepend: the bytes to add are its value */
	uint64_t delta;
	uint64_t value; /* incr, decr: the new number */
	bool keep_cas;  /* no byte that a client sees changes */
	bool renews;    /* nothing is stored anew: memcached writes it in place */
	bool new_expiry;
	uint32_t expiry_s;
	uint32_t status; /* as in struct link */
	uint32_t inherit;
	const struct item *made; /* the version that was published */
};

enum store_result rmw_run(struct store_core *sc, struct rmw *rm);
/* Write the new version of old into it. False: it has not the right shape for that. */
bool rmw_build(struct store_core *sc, struct rmw *rm, const struct item *old, struct item *it);

/* ---- item.c ---- */

void item_set_expiry(struct item *it, uint32_t expiry_s);
/* The old version's marks that the new one is to have. From then on nobody wins the old one. */
uint32_t item_hand_over(struct item *old, uint32_t inherit);
/* False: the number needs the long part. */
bool item_set_cas(struct item *it, uint64_t cas);
/* Write value bytes at an offset. */
void item_write(const struct store *st, struct item *it, uint32_t offset, struct view bytes);
/* Write all of from's value at an offset of to's. */
void item_write_value(const struct store *st, struct item *to, uint32_t offset,
		      const struct item *from);
struct view item_value_at(const struct store *st, const struct item *it, uint32_t offset);
/* Make key and lengths of a plain item anew, as long as its object holds them. */
bool item_reshape(const struct store *st, struct item *it, uint32_t form, uint32_t value_len);

/* ---- sweep.c ---- */

/* The next buckets of the sweep: a tidy's share; a turn's, in a hurry; for who wants what is dead.
 */
void sweep_slice(struct store_core *sc);
void sweep_turn(struct store_core *sc);
void sweep_on_demand(struct store_core *sc);
/* Buckets the sweep looks at in a second. */
uint32_t sweep_quota(const struct store *st);
void flush_due(struct store_core *sc);

/* ---- relocate.c: part of the sweep, under its lock ---- */

/* A sweep begins; one has come to its end. */
void relocate_begin(struct store *st);
void relocate_end(struct store *st);
/* Ask for the primary buckets of what is displaced in a bucket. */
void relocate_prefetch(const struct store *st, uint32_t bucket);
/* Relocate what has room in its primary bucket; mark or renew. */
void relocate_bucket(struct store_core *sc, uint32_t bucket);

#endif
