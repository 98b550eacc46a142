/*
 * store_state.h - what the store and each of its cores know; as its own files see it.
 *
 * Shape:  struct store is what all cores share; what every get reads stands first and is
 *         hardly ever written. struct store_core is one core's magazines, limbo and counters.
 * Thread: as store.h.
 * Bounds: LIMBO_MAX retired items a core; the others as they are named here.
 */
#ifndef CLOCKOO_STORE_STATE_H
#define CLOCKOO_STORE_STATE_H

#include "epoch.h"
#include "index.h"
#include "layout.h"
#include "slab_pages.h"
#include "survey.h"
#include "terms.h"
#include "base/hash.h"

#define LIMBO_MAX        (1u << 14)      /* power of two */
#define LIMBO_SLICE      256u            /* items given back in one turn */
#define LIMBO_KEEP       256u            /* evictions leave this much of it to the operations */
#define LIMBO_KEEP_ENDED (LIMBO_MAX / 8) /* and deletes, which can hide what they take out */
#define LIMBO_KEEP_SWEPT (LIMBO_MAX / 4) /* and the sweep so much: a turn may be all sets */
#define LIMBO_KEEP_BEGUN (LIMBO_MAX / 4) /* and who begins to store so much to those who end it */
#define CHUNKS_MAX       16000u          /* references fit a head object with the longest key */
#define SWEEP_WALK_S     60u             /* for a walk through all buckets, if SWEEP_PER_S allows */
#define SWEEP_PER_S      (1u << 17)      /* buckets a second at most, all cores together */
#define SWEEP_SLICE_MIN  16u  /* buckets looked at in one store_tidy, and if there are too */
#define SWEEP_SLICE_MAX  256u /* few of those a second; or in one turn of a walk in a hurry, */
#define SWEEP_ITEMS_MAX  (SWEEP_SLICE_MIN * BUCKET_SLOTS)
#define SWEEP_WORK_TURN                                                                            \
	256u /* but for so much work: 1 a bucket, 1 an item; a slice more at most                  \
	      */
#define SWEEP_WORK_MAX   1536u /* the same of one store_tidy */
#define DRAIN_SLICE      256u  /* objects evicted from draining pages in one store_turn */
#define DRAIN_TAKEN      192u  /* and by whoever takes memory meanwhile, or waits for some */
#define DRAIN_BATCH      64u
#define DRAIN_COPY_BYTES 512u /* copied at the cost of looking at an object */
#define STILL_TURNS      4u   /* in one epoch, until no more are emptied */
#define POOL_KEEP        1u   /* pages of the reserve that large values leave to others */
#define HELD_EPOCHS      16u  /* for how long, if it does not ask again */
#define EVICT_SLICE      128u /* objects evicted ahead by one refill of a magazine */
#define FLOORS           1024u
#define GENERATIONS_MAX  15u /* that may be in the index at once; 4 bits tell 16 apart */
#define GENERATIONS_FEW  8u  /* left: the walk hurries */

#define MARKS_MAX 32u /* objects whose CLOCK bits a core sets together */

struct retired {
	uint32_t ref;
	uint32_t epoch;
};

struct limbo {
	uint32_t head, tail; /* they wrap; tail - head retired items */
	struct retired ring[LIMBO_MAX];
};

/* Retired items that are past their grace period, and still pinned (pinned.c). */
struct pinned {
	uint32_t first, last; /* references; 0: none */
	uint32_t count;
	uint32_t fresh; /* since the last turn */
};

/* The walk through all buckets that reclaims what is expired or flushed. */
struct sweep {
	struct spin lock;
	uint32_t bucket;
	uint32_t generation; /* current when the walk began */
	uint32_t second;     /* this one; buckets looked at in it */
	uint32_t done;
	uint32_t slice; /* buckets at a time: more where there are few turns a second */
	uint32_t seq;   /* of the geometry when the walk began */
	bool marked;    /* the walk before this one marked all homes of what is away */
	bool renews;    /* this one makes overflow bits of the marks */
};

/* From one number of buckets to another: pages are claimed and cleared, then buckets are migrated.
 */
enum resize_phase { RESIZE_NONE, RESIZE_CLAIM, RESIZE_MIGRATE };

struct resize {
	struct spin lock;
	_Atomic uint32_t phase; /* enum resize_phase */
	uint32_t step;          /* buckets come and go in so many; 0: the index stays as it is */
	uint32_t want;          /* buckets */
	uint32_t next;          /* of its pages: the first that is not cleared yet */
	uint32_t cleared;       /* bytes of that */
	uint32_t second;        /* when a page came last */
	uint32_t put_off;       /* turns that the bucket to be emptied next has waited for room */
	uint32_t looks;         /* while it is resized; while it was resized last */
	uint32_t looks_before;
	uint64_t seen;    /* items, at the last look */
	int64_t rise;     /* items more from look to look, the last RISE_LOOKS of them, about */
	uint64_t evicted; /* items, when the index was not too large yet */
};

struct store {
	struct index ix;
	struct arena arena;
	uint64_t seed;
	_Atomic uint32_t generation; /* of flush; an item of another one is dead */
	uint32_t core_count;
	_Atomic uint32_t value_max; /* under the limit that holds now, */
	uint32_t value_most;        /* and under none */
	bool never_evict;
	size_t memory_bytes;
	_Atomic size_t limit_bytes;
	struct store_core *cores;
	_Atomic uint64_t *floors; /* FLOORS; by tag: no removed item had a higher cas */
	struct slab slab;
	struct epoch epoch;
	_Atomic uint64_t held; /* pages a large value waits for, and since which epoch (memory.c) */

	_Alignas(CACHE_LINE_BYTES) struct spin flush_lock;
	_Atomic uint32_t flush_at_s;        /* pending; 0 is none */
	_Atomic uint32_t oldest_generation; /* that may still be in the index */
	_Atomic uint64_t hidden;            /* slots with a zombie (index.h) */
	_Atomic uint64_t pinned_bytes;      /* of retired items that stay pinned */
	uint64_t linked_at_flush;           /* stores ever done when the generation last changed */
	struct sweep sweep;
	struct resize resize;
};

/* Of one core, before its first change in a generation: what it had put in, less what it had taken
 * out that was not flushed. It wraps: others take out what this core put in. */
struct flush_base {
	struct counter items, bytes;
};

struct store_core {
	struct store *store;
	uint32_t id;
	uint32_t now_s;
	_Atomic uint32_t counted_generation; /* that flush_base is of (account.h) */
	uint32_t recall;                     /* the recall our magazines have answered */
	uint32_t searched;                   /* buckets looked into in search of room; it wraps */
	uint64_t grown_for; /* items linked that resize_turn has done its share for */
	uint32_t untold,
		untold_class; /* what the limbo took in of a class, less what it gave back */
	uint32_t still_turns; /* with pages to empty, in which the epoch was the same, */
	uint32_t still_epoch; /* and which */
	uint32_t mark_count;
	uint32_t marks[MARKS_MAX];
	bool online;
	store_evicted_fn *evicted; /* NULL: nobody watches */
	void *evicted_arg;
	struct magazine magazines[SLAB_CLASSES_MAX];
	struct limbo limbo;
	struct pinned pinned;
	_Alignas(CACHE_LINE_BYTES) struct counter counters[STORE_COUNTER_COUNT];
	struct counter class_counters[SLAB_CLASSES_MAX][STORE_CLASS_COUNTER_COUNT];
	struct flush_base flush_base, class_flush_base[SLAB_CLASSES_MAX];
};

/* Has some core not turned for so long that emptying pages is put off? */
static inline bool
mover_is_still(const struct store_core *sc)
{
	return sc->still_turns >= STILL_TURNS &&
	       sc->still_epoch == (uint32_t)epoch_now(&sc->store->epoch);
}

static inline uint32_t
store_value_max(const struct store *st)
{
	return atomic_load_explicit(&st->value_max, memory_order_relaxed);
}

static inline void
count(struct store_core *sc, enum store_counter what, uint64_t n)
{
	counter_add(&sc->counters[what], n);
}

static inline uint32_t
store_generation(const struct store *st)
{
	/* Sequentially consistent: read after a bucket lock's bit is out, see sweep.c. */
	return atomic_load_explicit(&st->generation, memory_order_seq_cst);
}

/* Flushes that the walk need not be through for. */
static inline uint32_t
store_generations_left(const struct store *st)
{
	/* Acquire: pairs with the release in sweep_end. */
	const uint32_t oldest = atomic_load_explicit(&st->oldest_generation, memory_order_acquire);

	return GENERATIONS_MAX - 1 - (store_generation(st) - oldest);
}

static inline bool
item_dead(const struct store_core *sc, const struct item *it)
{
	return item_flushed(it, store_generation(sc->store)) || item_expired(it, sc->now_s);
}

/* account.c: somebody asked for it, and it is dead. */
void account_missed(struct store_core *sc, const struct item *it, uint32_t generation);

static inline struct item *
item_at(const struct store *st, uint32_t ref)
{
	return arena_at(&st->arena, ref);
}

static inline uint32_t
item_ref(const struct store *st, const struct item *it)
{
	return arena_ref(&st->arena, it);
}

/* item.c: true if this call set the mark. */
bool item_mark_once(struct item *it, uint32_t mark);
/* memory.c */
void item_mark_chunks(const struct store *st, const struct item *it);

/* item.c: say so in the item, and for the hand by the next turn: its word is on its way. */
void item_stamp(struct store_core *sc, struct item *it, uint32_t ref, uint32_t stamp);
/* Now; before a hand of this core goes. */
void item_marks_set(struct store_core *sc);

/* Of an item that is not chunked. */
static inline void
item_mark_used(struct store_core *sc, const struct item *it, uint32_t ref)
{
	const uint32_t stamp = slab_stamp(&sc->store->slab);

	if ((item_head(it) & ITEM_STAMP) != stamp)
		item_stamp(sc, (struct item *)it, ref, stamp);
}

/* A get or a touch. */
static inline void
item_use(struct store_core *sc, const struct item *it, uint32_t ref)
{
	item_mark_used(sc, it, ref);
	if (unlikely((item_form(it) & ITEM_IS_CHUNKED) != 0))
		item_mark_chunks(sc->store, it);
}

static inline _Atomic uint64_t *
store_floor(const struct store *st, uint16_t tag)
{
	return &st->floors[tag % FLOORS];
}
static_assert(TAG_AWAY % FLOORS == 0, "a key's floor is the same wherever it lies");

#endif
