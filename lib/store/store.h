/*
 * store.h - the shared cache: arena, slab classes, optimistic cuckoo index, CLOCK.
 *
 * One store serves all cores. Gets take no lock. A get returns a miss or the last value written.
 *
 * Shape:  struct store is shared; struct store_core is one core's handle of it, with its magazines,
 *         its retired items and its counters.
 *
 * Units:  seconds on the store's clock, which starts at STORE_CLOCK_START. An expiry of 0 means
 *         never; an item whose expiry is not after now is dead.
 *
 * Owner:  the store owns items. A const struct item * is valid until the same core's next
 *         store_turn(); a pinned one until store_unpin(). A struct fill belongs to its core until
 *         store_finish() or store_abandon(), over any number of turns.
 *
 * Thread: every function takes a store_core and is called by that core only; cores call
 *         concurrently. Functions ending in _mt: any thread.
 *
 * Errors: enum store_result. A full store evicts; STORE_NO_MEMORY only if nothing can be evicted.
 *
 * Bounds: keys 1..ITEM_KEY_MAX bytes; values 0..config.value_max; STORE_CORES_MAX cores.
 *
 * Writes that compare, and tokens: conditional.h. Dumps, classes, limits: introspect.h.
 */
#ifndef CLOCKOO_STORE_H
#define CLOCKOO_STORE_H

#include "base/bytes.h"
#include "base/counter.h"
#include "base/region.h"
#include "index/item.h"
#include "index/place.h"

#define STORE_CORES_MAX   64u        /* the cores that serve; config.loads adds one */
#define STORE_VALUE_MAX   (1u << 20) /* default for config.value_max */
#define STORE_MEMORY_MIN  (8u << 20)
#define STORE_LIMIT_MIN   (1u << 20)
#define STORE_MEMORY_MAX  (1ull << 40) /* the most that references can address (arena.h) */
#define STORE_CLOCK_START 2u           /* above 1, so an expiry in second 1 is always past */
/* The largest first cas number: three quarters of the short cas numbers, which take no memory in an
 * item, remain above it. */
#define STORE_CAS_START_MAX ((1u << 22) - 1)

struct store;
struct store_core;

struct eviction_policy; /* chooses what is evicted (eviction.h) */

struct store_config {
	size_t memory_bytes; /* budget for everything: items, index, states, tables */
	/* How much of memory_bytes may be used at first (store_limit_mt); 0: all. */
	size_t limit_bytes;
	uint32_t cores;
	uint32_t value_max; /* bytes */
	uint64_t seed;      /* of the hash */
	/* Cas numbers begin above this; at most STORE_CAS_START_MAX. */
	uint32_t cas_start;
	const struct eviction_policy *eviction; /* NULL: eviction_2q */
	bool never_evict;                       /* a full store refuses sets (memcached's -M) */
	bool loads;                             /* one of the cores loads a file (store_saved.h) */
};

enum store_result {
	STORE_OK,
	STORE_NOT_STORED,
	STORE_EXISTS,
	STORE_NOT_FOUND,
	STORE_TOO_LARGE,
	STORE_NO_MEMORY,
	STORE_NOT_A_NUMBER,
	/* From store_begin, store_flush and functions that say so: ask again next turn. */
	STORE_NOT_YET,
};

enum store_mode { STORE_SET, STORE_ADD, STORE_REPLACE, STORE_CAS, STORE_APPEND, STORE_PREPEND };

/* Events, per core. */
#define STORE_COUNTERS(X)                                                                          \
	X(STORE_ITEMS_LINKED, "items linked into the index")                                       \
	X(STORE_ITEMS_UNLINKED, "items unlinked from the index, for any reason")                   \
	X(STORE_ITEMS_RENEWED, "of those linked, updated in place in memcached (touch, incr)")     \
	X(STORE_BYTES_LINKED, "bytes of the items linked, with header and class rounding")         \
	X(STORE_BYTES_UNLINKED, "bytes of the items unlinked")                                     \
	X(STORE_EVICTED, "items evicted for space")                                                \
	X(STORE_EVICTED_INDEX_FULL, "of those, because both buckets and their paths were full")    \
	X(STORE_EVICTED_UNFETCHED, "of those evicted, never fetched")                              \
	X(STORE_EVICTED_NEW, "of those evicted, items on probation")                               \
	X(STORE_GHOSTS_RETURNED, "new items whose ghost took them past probation")                 \
	X(STORE_EVICTED_ACTIVE, "of those evicted, referenced since the CLOCK hand passed")        \
	X(STORE_RESCUED, "items copied to other pages while their page was evacuated")             \
	X(STORE_EXPIRED, "expired items reclaimed")                                                \
	X(STORE_EXPIRED_UNFETCHED, "of those, never fetched, and not replaced or deleted")         \
	X(STORE_FLUSHED, "flushed items reclaimed")                                                \
	X(STORE_BYTES_FLUSHED, "bytes of those flushed, with header and class rounding")           \
	X(STORE_EXPIRED_RECLAIMED, "of the expired, those reclaimed for space")                    \
	X(STORE_DEAD_SWEPT, "of the expired and the flushed, those reclaimed by the sweep")        \
	X(STORE_SWEEP_WORK, "buckets that the sweep looked at, and items in them")                 \
	X(STORE_GOT_EXPIRED, "gets, touches and counts that found an item past its expiry")        \
	X(STORE_GOT_FLUSHED, "gets, touches and counts that found a flushed item")                 \
	X(STORE_MOVES, "items moved between primary and alternate bucket")                         \
	X(STORE_RETRIES, "lookups repeated because of a concurrent move")                          \
	X(STORE_RETRIES_EXHAUSTED, "lookups counted as misses after the last retry")               \
	X(STORE_OUT_OF_MEMORY, "stores refused because nothing could be evicted")                  \
	X(STORE_GRACE_WAITS, "allocations that found only memory within its grace period")         \
	X(STORE_INDEX_GROWN, "times the index has grown")                                          \
	X(STORE_INDEX_SHRUNK, "times the index has shrunk")                                        \
	X(STORE_INDEX_MIGRATED, "buckets migrated by index resizes")                               \
	X(STORE_INDEX_EVICTED, "items evicted because a resize found no slot for them")

enum store_counter { STORE_COUNTERS(COUNTER_SYMBOL) STORE_COUNTER_COUNT };

/* A value that is being written and not yet visible. Its fields are the store's. */
struct fill {
	struct item *item;
	uint64_t hash;
	uint32_t value_len;
	uint32_t filled; /* bytes written so far */
};

/* ---- start ---- */

struct store_core *store_core_of(struct store *store, uint32_t core);

/* ---- once a turn ---- */

/* Reports a quiescent state: this core no longer holds any item, except pinned ones. now_s is the
 * core's clock until the next call. */
void store_turn(struct store_core *sc, uint32_t now_s);

/* Does bounded slices of rebalancing, resizing and the sweep. Called in some turns. */
void store_housekeeping(struct store_core *sc);

/* Takes the core offline, for a time in which it will not turn; otherwise no grace period would
 * end. Its retired items stay on its list. While store_has_retired is true the core should turn
 * rather than go offline, since other cores wait for the pages of these items. */
bool store_has_retired(const struct store_core *sc);
void store_offline(struct store_core *sc);
void store_online(struct store_core *sc);

/* True if a set may soon answer STORE_NOT_YET, because a core has not turned for long or the
 * reserve is in use. */
bool store_is_low_on_memory(const struct store_core *sc);

/* Returns whether replies pin too much memory. 0: no. n: pins of retired items hold at least an
 * n-th of the memory (n is at most STORE_PINS_PART), or keep a page from being evacuated. The
 * caller should then end some pins: the smaller n, the sooner. */
#define STORE_PINS_PART 16u
uint32_t store_pins_memory_pressure(const struct store_core *sc);

/* ---- reading ---- */

uint64_t store_hash(const struct store_core *sc, struct view key);

/* A lookup in steps. A batch takes each step for all its keys before the next step, so it waits for
 * memory three times in all, not three times a key. Between the steps the core may do anything but
 * turn. First step: returns the key's hash, and prefetches its primary bucket. */
uint64_t store_probe(const struct store_core *sc, struct probe *p, struct view key);
/* Second step: searches the primary bucket, and prefetches the item or the alternate bucket. True:
 * the third step is needed. */
bool store_probe_primary(const struct store_core *sc, struct probe *p);
/* The second step for a write: prefetches the alternate bucket also if the primary one is full. */
bool store_probe_primary_to_write(const struct store_core *sc, struct probe *p);
/* Third step: searches the alternate bucket if necessary, and prefetches the item. */
void store_probe_alternate(const struct store_core *sc, struct probe *p);
/* True if the steps taken so far show that the key is absent. */
static inline bool
store_probe_missed(const struct probe *p)
{
	return p->state == PROBE_MISS;
}
/* Last step: returns the present item, with its reference bit set; NULL: a miss (absent, expired,
 * flushed). */
const struct item *store_get_probed(struct store_core *sc, const struct probe *p, struct view key);
/* A batch of gets. Between its gets the core makes no other call of the store, so the state that
 * every get needs is read once. Items that other cores store meanwhile may be found or missed. */
struct store_get_batch {
	struct store_core *core;
	const struct store *store;
	uint32_t generation, reference_stamp;
};
struct store_get_batch store_get_batch_begin(struct store_core *sc);
const struct item *store_get_in_batch(const struct store_get_batch *batch, const struct probe *p,
				      struct view key);

/* Returns the item of one key in a single call; NULL if it is absent. */
const struct item *store_get(struct store_core *sc, struct view key, uint64_t hash);

/* Returns the longest contiguous run of value bytes from offset on. offset: less than the value's
 * length. */
struct view store_value_at(const struct store_core *sc, const struct item *it, uint32_t offset);

/* Keeps an item's value beyond this turn; its other fields may change. For values of at least
 * ITEM_PIN_MIN_BYTES. A core may pin an item that it found in this turn, one that it is filling, or
 * one that it has pinned already. Any core may unpin it. */
void store_pin(const struct item *it);
void store_unpin(const struct item *it);

/* ---- writing ---- */

/* Allocates an item for a value of value_len bytes. OK, TOO_LARGE, NO_MEMORY or NOT_YET. */
enum store_result store_begin(struct store_core *sc, struct fill *f, struct view key, uint64_t hash,
			      uint32_t value_len, uint32_t flags, uint32_t expiry_s);
/* Appends len bytes. The value must not get longer than value_len. */
void store_fill(struct store_core *sc, struct fill *f, const void *bytes, uint32_t len);
/* Changes the expiry of a fill that store_begin gave an expiry. */
void store_fill_expiry(struct fill *f, uint32_t expiry_s);
/* Publishes a complete value according to mode. cas matters for STORE_CAS only. The fill ends in
 * every case. APPEND and PREPEND keep the old item's flags and expiry. */
enum store_result store_finish(struct store_core *sc, struct fill *f, enum store_mode mode,
			       uint64_t cas);
/* Stores a value without flags and expiry, unconditionally. Works only if this core has a free
 * object at hand and the key's old version, if any, is a simple item. Returns the class's number,
 * as store_class_lookup() does. 0: nothing was stored; use the calls above. */
uint32_t store_set_simple(struct store_core *sc, struct view key, uint64_t hash, struct view value);
/* Ends the fill without publishing it. If this core has pinned its value, the memory stays until
 * the last pin has ended. */
void store_abandon(struct store_core *sc, struct fill *f);

enum store_result store_delete(struct store_core *sc, struct view key, uint64_t hash);

/* Changes the expiry. *it is the item after the change (for gat). OK, NOT_FOUND, NOT_YET or
 * NO_MEMORY. The last two occur only where an item without a field for an expiry gets its first
 * one; the item is then unchanged. */
enum store_result store_touch(struct store_core *sc, struct view key, uint64_t hash,
			      uint32_t expiry_s, const struct item **it);

/* Invalidates everything stored before at_s, or before now if at_s is not in the future. A later
 * call replaces a pending one. NOT_YET: nothing was done, because the sweep has not yet reclaimed
 * what earlier flushes left. */
enum store_result store_flush(struct store_core *sc, uint32_t at_s);
/* Returns a number that changes with every flush. A caller whose flush was answered NOT_YET need
 * not ask again once the number has changed: one flush serves all that wait. */
uint32_t store_flushes(const struct store_core *sc);

/* ---- telemetry ---- */

struct store_usage {
	/* Items in the index, without flushed ones; expired ones count until they are reclaimed. */
	uint64_t items;
	uint64_t item_bytes; /* class sizes of these items */
	uint64_t flushed;    /* items flushed and not yet reclaimed, whose memory is still in use */
	uint64_t memory_bytes; /* the budget */
	uint64_t limit_bytes;  /* how much of memory_bytes may be used (store_limit_mt) */
	uint64_t index_slots;  /* slots of the index, which grows with the number of items */
	uint64_t index_bytes;
	uint64_t page_bytes;              /* size of a page */
	uint64_t pages_total, pages_used; /* including pages of the index */
	/* Pages evacuated since the start, for another class or for the index. */
	uint64_t pages_moved;
	uint64_t pages_moving; /* pages being evacuated now */
	bool index_resizing;
};
void store_usage_mt(const struct store *store, struct store_usage *out);
const struct counter *store_counters(const struct store_core *sc); /* STORE_COUNTER_COUNT */
extern const struct counter_name store_counter_names[STORE_COUNTER_COUNT];

#endif
