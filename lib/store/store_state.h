/*
 * store_state.h - the state of the store and of its cores, for the store's own files.
 *
 * Shape:  all cores share struct store; its first fields are read by every get and hardly ever
 *         written. struct store_core has one core's magazines, retire list and counters.
 *
 * Thread: as store.h.
 *
 * Bounds: store_limits.h.
 */
#ifndef CLOCKOO_STORE_STATE_H
#define CLOCKOO_STORE_STATE_H

#include "introspect.h"
#include "conditional.h"
#include "store_limits.h"
#include "tier.h"
#include "base/hash.h"
#include "index/epoch.h"
#include "index/index.h"
#include "index/item_layout.h"
#include "index/relocate.h"
#include "index/walk.h"
#include "slab/ghost.h"
#include "slab/slab_pages.h"

struct retired_item {
	uint32_t ref;
	uint32_t epoch : 31;
	uint32_t plain : 1; /* the item has no chunks and no pins */
};

struct retire_list {
	uint32_t head, tail;   /* tail - head items are retired; both wrap */
	uint32_t chunks_freed; /* chunks of the first item that are freed */
	struct retired_item ring[RETIRE_LIST_MAX];
};

/* Retired items past their grace period that are still pinned (pinned.c). */
struct pinned {
	uint32_t first, last; /* references of the items; 0: none */
	uint32_t count;
	uint32_t added; /* items added since the last turn */
};

/* The sweep through all buckets that reclaims expired and flushed items. */
struct sweep {
	struct spin lock;
	uint32_t bucket;              /* the bucket to sweep next */
	uint32_t generation;          /* flush generation when the pass began */
	uint32_t now_s;               /* the second to which done belongs */
	uint32_t done;                /* buckets swept in that second */
	uint32_t slice;               /* buckets of a step; grows if there are few turns a second */
	_Atomic uint32_t rests_s;     /* the last second whose quota of buckets has been swept */
	struct relocation relocation; /* moves displaced items back as the sweep passes them */
};

/* A resize to more buckets claims and clears pages first; then buckets are migrated. */
enum resize_phase { RESIZE_NONE, RESIZE_CLAIM, RESIZE_MIGRATE };

struct resize {
	struct spin lock;
	uint32_t step;      /* the number of buckets is a multiple of step; 0: no resizes */
	uint32_t target;    /* number of buckets after the resize */
	uint32_t next_page; /* the first page after those that are buckets or cleared for them */
	uint32_t cleared_bytes; /* bytes of that page that are cleared */
	uint32_t waits_since_s; /* the second in which the last page arrived, or the resize began */
	uint32_t deferred;      /* turns that the next bucket has waited for slots */
	uint32_t samples;       /* samples of the number of items since the resize began */
	uint32_t last_samples;  /* samples of the previous resize: how long it took */
	uint64_t items;         /* number of items at the last sample */
	int64_t growth;         /* running mean of the items gained in GROWTH_SAMPLES samples */
	uint64_t evicted;       /* STORE_EVICTED when the index was last small enough */
};

/* Marks of keys that clients remove while a file is loaded (load_marks.h). */
struct marks {
	_Atomic uint64_t *words; /* NULL: the store loads nothing */
	uint32_t shift;          /* shift from a mixed hash to the number of its bit */
	uint32_t generation;     /* flush generation when the load began; a flush ends the load */
	_Atomic bool used;
};

struct store {
	/* A successor process keeps these fields, except pointers and core_count (image.h), and
	 * sets the others anew. */
	struct index ix;
	struct arena arena;
	uint64_t seed;
	_Atomic uint32_t generation; /* flush generation; an item of another one is dead */
	uint32_t core_count;
	_Atomic uint64_t due_flush; /* pending flush (store_due_flush); 0: none */

	_Atomic uint32_t value_max; /* longest value that the present limit allows */
	uint32_t value_most;        /* longest value without a limit */
	bool never_evict;
	/* A large item whose new version waits for memory: its hash, so that no hand evicts it,
	 * and the epoch in which the memory was last asked for. The wait is void EXTENDED_EPOCHS
	 * later. */
	_Atomic uint64_t extended_hash, extended_epoch;
	size_t memory_bytes;
	_Atomic size_t limit_bytes;
	struct store_core *cores;
	struct ghosts ghosts;
	_Atomic uint64_t *floors; /* FLOORS cas floors, by tag (floors.h) */
	struct slab slab;
	struct epoch epoch;
	/* Every turn reads these fields, and few turns write one. held: the lower half is how many
	 * pages are set aside for a large value, the upper half the epoch in which that value last
	 * asked. */
	_Atomic uint64_t held;
	_Atomic uint64_t tombstones;        /* tombstones in the index */
	_Atomic uint64_t pinned_bytes;      /* bytes of retired items that are pinned */
	_Atomic uint32_t leaving;           /* items of all cores that wait for the tier */
	_Atomic uint64_t leaving_needed;    /* epoch in which a set last waited for them */
	uint64_t linked_at_flush;           /* items ever linked when the generation last changed */
	_Atomic uint32_t oldest_generation; /* oldest one that may be in the index */
	_Atomic uint32_t resize_phase;      /* enum resize_phase */
	struct spin flush_lock;

	_Alignas(CACHE_LINE_BYTES) struct sweep sweep;
	_Alignas(CACHE_LINE_BYTES) struct resize resize;
	struct marks marks;
	_Alignas(CACHE_LINE_BYTES) struct walks walks;
};

#define STORE_KEPT_BYTES 88u
static_assert(offsetof(struct index, seq) == 24 && offsetof(struct index, first_seq) == 36 &&
		      offsetof(struct store, seed) == 64 &&
		      offsetof(struct store, generation) == 72 &&
		      offsetof(struct store, due_flush) == 80 &&
		      offsetof(struct store, value_max) == STORE_KEPT_BYTES,
	      "a successor finds what it keeps; else it takes a new STORE_IMAGE_LAYOUT");

/* A core's balance before its first change in a generation: items that it had put into the index,
 * less unflushed items that it had taken out. A core may take out what another has put in, so a
 * balance may be negative; it wraps. */
struct flush_base {
	struct counter items, bytes;
};

/* Reasons to evacuate pages. Each has its own limit of work in a turn (store_limits.h). */
enum evacuation_for {
	EVACUATION_FOR_TURN,  /* the reserve is incomplete, or a page's evacuation has begun */
	EVACUATION_FOR_INDEX, /* the index waits for pages too, and the pool has some */
	EVACUATION_FOR_SETS,  /* sets find no object while the reserve is incomplete */
	EVACUATION_FOR_LARGE, /* large values wait */
	EVACUATIONS
};

/* The simple item that this core inserted last. The ghosts of its key are searched later, when
 * their cache line has arrived. */
struct newcomer {
	struct ghost_group *ghosts; /* NULL: none */
	uint64_t hash;
	uint32_t ref;
};

/* An item that the tier postponed when a hand or an evacuation offered it. */
struct leaving_item {
	uint64_t hash;  /* the key's hash, by which the item is found again */
	uint64_t offer; /* an open offer, for which the item is pinned; 0: none */
	uint32_t ref;
	uint16_t class, objects; /* item_class(), and how many objects of that class it has */
	uint8_t ghost;           /* enum ghost: what the item leaves behind */
	bool left;               /* the item no longer waits; leave_ring() will free its place */
};

/* A core's items that wait for the tier, in the order in which they were offered first
 * (leaving.h). */
struct leaving {
	uint32_t first, count;
	struct leaving_item ring[STORE_LEAVING_MAX];
};

struct store_core {
	struct store *store;
	uint32_t id;
	uint32_t now_s;
	_Atomic uint32_t counted_generation; /* generation of flush_base (account.h) */
	uint32_t recall;       /* last slab.recall that this core has answered in full */
	uint32_t recall_begun; /* the last value of slab.recall that it has begun to answer */
	/* The class whose magazine was emptied last for this recall, and how many classes are
	 * left. */
	uint32_t recall_class, recall_classes;
	struct index_core ic;   /* this core's part of the index */
	uint32_t evicted_ahead; /* items evicted ahead of need in this turn */
	uint32_t crowded;       /* work done in this turn to find slots for sets in full buckets */
	uint64_t grown_for;     /* gained() up to which the resize has worked (resize.c) */
	uint64_t considered;    /* done_so_far() at the last check of the size (resize.c) */
	/* Objects of a class that this core retired, less those it freed, not yet added to the
	 * class's retired_count. */
	uint32_t unpublished, unpublished_class;
	uint32_t evacuated[EVACUATIONS]; /* work of each kind done in this turn (store_limits.h) */
	uint32_t stalled_turns;          /* turns in stalled_epoch with pages to evacuate */
	uint32_t stalled_epoch;          /* the epoch of stalled_turns */
	/* An idle class, which allocates nothing, and how many of its expired items are still to be
	 * evicted. */
	uint32_t idle_class, idle_expiry;
	struct newcomer newcomer;
	uint32_t referenced_pending_count;
	uint32_t referenced_pending[REFERENCED_PENDING_MAX];
	bool online;
	bool makes_version; /* the next object is for a new version (memory.c) */
	bool marks;         /* removals set marks (load_marks.h) */
	/* Evictions are marked, watched or offered to the tier, so they are done one by one. */
	bool evicts_slowly;
	store_evicted_fn *evicted; /* NULL: none */
	void *evicted_arg;
	const struct store_tier *tier; /* NULL: none */
	uint64_t offer;                /* the offer of the item that is being evicted; 0: none */
	uint64_t spared;               /* hash of the key that this core must not evict; 0: none */
	struct leaving leaving;        /* items that wait for the tier */
	struct magazine magazines[SLAB_CLASSES_MAX];
	uint32_t class_recall[SLAB_CLASSES_MAX]; /* last answered recall of each class */
	struct retire_list retire_list;
	struct pinned pinned;
	struct walk_step walk_step; /* the walk's work in this turn */
	_Alignas(CACHE_LINE_BYTES) struct counter counters[STORE_COUNTER_COUNT];
	struct counter class_counters[SLAB_CLASSES_MAX][STORE_CLASS_COUNTER_COUNT];
	struct flush_base flush_base, class_flush_base[SLAB_CLASSES_MAX];
};

static_assert(SLAB_STAMP_SHIFT == ITEM_REFERENCE_STAMP_SHIFT &&
		      SLAB_STAMP_MAX == ITEM_REFERENCE_STAMP_MAX,
	      "items have the stamp of the slab");

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
	/* Sequentially consistent: a writer reads the generation after its lock bit is visible
	 * (sweep.c). */
	return atomic_load_explicit(&st->generation, memory_order_seq_cst);
}

/* Packs the second of a delayed flush with the generation in which it was requested. A later
 * generation makes it void, so one store of the generation both executes it and cancels it. */
static inline uint64_t
store_due_flush(uint32_t at_s, uint32_t generation)
{
	return (uint64_t)generation << 32 | at_s;
}

/* Returns how many generation numbers are free. */
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

static inline bool
store_is_extending(const struct store *st)
{
	return epoch_now(&st->epoch) -
		       atomic_load_explicit(&st->extended_epoch, memory_order_relaxed) <=
	       EXTENDED_EPOCHS;
}

static inline bool
store_is_extended(const struct store *st, uint64_t hash)
{
	return hash == atomic_load_explicit(&st->extended_hash, memory_order_relaxed) &&
	       store_is_extending(st);
}

#endif
