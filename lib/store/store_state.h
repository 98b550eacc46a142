/*
 * store_state.h - the state of the store and of its cores, as the store's own files see it.
 *
 * Shape:  struct store is what all cores share; what every get reads stands first and is hardly
 *         ever written. struct store_core is one core's magazines, retire list and counters.
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
	uint32_t plain : 1; /* no chunks, and no pins */
};

struct retire_list {
	uint32_t head, tail;   /* they wrap; tail - head items are retired */
	uint32_t chunks_freed; /* of the first one */
	struct retired_item ring[RETIRE_LIST_MAX];
};

/* List of retired items past their grace period that are still pinned (pinned.c). */
struct pinned {
	uint32_t first, last; /* references; 0: none */
	uint32_t count;
	uint32_t added; /* since the last turn */
};

/* The sweep through all buckets that reclaims expired and flushed items. */
struct sweep {
	struct spin lock;
	uint32_t bucket;              /* the next one */
	uint32_t generation;          /* current when the sweep began */
	uint32_t now_s;               /* the second that done counts in */
	uint32_t done;                /* buckets swept in that second */
	uint32_t slice;               /* buckets of a step: more where turns a second are few */
	_Atomic uint32_t rests_s;     /* the last second whose quota of buckets is swept */
	struct relocation relocation; /* of displaced items, which the sweep passes */
};

/* A resize to more buckets claims and clears pages first; then buckets are migrated. */
enum resize_phase { RESIZE_NONE, RESIZE_CLAIM, RESIZE_MIGRATE };

struct resize {
	struct spin lock;
	uint32_t step;          /* the number of buckets is a multiple of it; 0: it never changes */
	uint32_t target;        /* number of buckets in the end */
	uint32_t next_page;     /* the first page that has not become buckets */
	uint32_t cleared_bytes; /* of that page */
	uint32_t waits_since_s; /* when the page before came, or the resize began */
	uint32_t deferred;      /* turns that the next bucket has waited for slots */
	uint32_t samples;       /* of the number of items, since the resize began */
	uint32_t last_samples;  /* in the resize before: how long it took */
	uint64_t items;         /* at the last sample */
	int64_t growth;         /* of items in GROWTH_SAMPLES samples, a running mean */
	uint64_t evicted;       /* items ever evicted, when the index last was not too large */
};

/* Marks of the keys that clients remove while a file is loaded (load_marks.h). */
struct marks {
	_Atomic uint64_t *words; /* NULL: nothing is ever loaded */
	uint32_t shift;          /* of a hash, to the number of its bit */
	uint32_t generation;     /* of flush, when the load began: another one ends it */
	_Atomic bool used;
};

struct store {
	/* A successor process keeps these fields, without pointers and core_count (image.h), and
	 * makes the rest anew. */
	struct index ix;
	struct arena arena;
	uint64_t seed;
	_Atomic uint32_t generation; /* of flush; an item of another one is dead */
	uint32_t core_count;
	_Atomic uint64_t due_flush; /* pending (store_due_flush); 0 is none */

	_Atomic uint32_t value_max; /* longest value under the present limit */
	uint32_t value_most;        /* longest value without one */
	bool never_evict;
	/* The large item whose new version waits for memory: no hand evicts it. The epoch is that
	 * of the last request for it; the wait ends a few epochs later. */
	_Atomic uint64_t extended_hash, extended_epoch;
	size_t memory_bytes;
	_Atomic size_t limit_bytes;
	struct store_core *cores;
	struct ghosts ghosts;
	_Atomic uint64_t *floors; /* FLOORS, by tag: no removed item had a higher cas */
	struct slab slab;
	struct epoch epoch;
	/* Every turn reads these, and few write one of them. */
	_Atomic uint64_t
		held; /* pages set aside for a large value | epoch it last asked in << 32 */
	_Atomic uint64_t tombstones;        /* in the index */
	_Atomic uint64_t pinned_bytes;      /* of retired items that are pinned */
	_Atomic uint32_t leaving;           /* items that wait for the tier, of all cores */
	_Atomic uint64_t leaving_needed;    /* epoch in which a set last waited for one of them */
	uint64_t linked_at_flush;           /* items ever linked when the generation last changed */
	_Atomic uint32_t oldest_generation; /* that may be in the index */
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

/* A core's counters before its first change in a generation: the items it had put into the index,
 * less those not flushed that it had taken out. Below 0 they wrap: a core may take out what another
 * has put in. */
struct flush_base {
	struct counter items, bytes;
};

/* Each kind of evacuation has its own bound of work a turn (store_limits.h). */
enum evacuation_for {
	EVACUATION_FOR_TURN,  /* the reserve is not whole, or a page's evacuation has begun */
	EVACUATION_FOR_INDEX, /* as for a turn, and the index waits for pages, some of them free */
	EVACUATION_FOR_SETS,  /* sets find no object while the reserve is short */
	EVACUATION_FOR_LARGE, /* large values wait */
	EVACUATIONS
};

/* A simple item that this core has put into the index last, while its ghost has not been looked
 * for: until the group has arrived. */
struct newcomer {
	struct ghost_group *ghosts; /* NULL: none */
	uint64_t hash;
	uint32_t ref;
};

/* An item that a hand or an evacuation named, and that the tier put off. */
struct leaving_item {
	uint64_t hash;  /* of its key, by which it is found again */
	uint64_t offer; /* open, and the item is pinned; 0: none is */
	uint32_t ref;
	uint16_t class, objects; /* item_class, and its objects there */
	uint8_t ghost;           /* enum ghost that it leaves */
	bool left; /* the tier, or the index, has it no more; its place is free soon */
};

/* A core's items that wait for the tier, in the order in which they were named (leaving.h). */
struct leaving {
	uint32_t first, count;
	struct leaving_item ring[STORE_LEAVING_MAX];
};

struct store_core {
	struct store *store;
	uint32_t id;
	uint32_t now_s;
	_Atomic uint32_t counted_generation; /* generation that flush_base is of (account.h) */
	uint32_t recall;                     /* the last slab.recall that this core has answered */
	uint32_t recall_begun;               /* the last one that it has begun to answer */
	uint32_t recall_class, recall_classes; /* magazine emptied last; number left to empty */
	struct index_core ic;                  /* moves items between buckets */
	uint32_t evicted_ahead;                /* items evicted ahead of need, in this turn */
	uint32_t crowded;                      /* work of this turn for sets without a slot */
	uint64_t grown_for;  /* items for which a resize has done its work (resize.c); it wraps */
	uint64_t considered; /* done_so_far (resize.c) at its last check of the size; it wraps */
	uint32_t unpublished, unpublished_class; /* objects of that class retired less those freed,
						    not yet added to its retired_count */
	uint32_t evacuated[EVACUATIONS];         /* work of this turn (store_limits.h) */
	uint32_t stalled_turns; /* turns with pages to evacuate in the same epoch */
	uint32_t stalled_epoch; /* that epoch */
	uint32_t idle_class,
		idle_expiry; /* expired items wanted of a class that allocates nothing */
	struct newcomer newcomer;
	uint32_t referenced_pending_count;
	uint32_t referenced_pending[REFERENCED_PENDING_MAX];
	bool online;
	bool makes_version;        /* the object asked for is a new version's (memory.c) */
	bool marks;                /* removals leave marks (load_marks.h) */
	bool evicts_slowly;        /* an eviction must be marked, watched, or offered to the tier */
	store_evicted_fn *evicted; /* NULL: none */
	void *evicted_arg;
	const struct store_tier *tier; /* NULL: none */
	uint64_t offer;                /* to it, of the item that is evicted now; 0: none */
	uint64_t spared;               /* hash of the key that this core does not evict; 0: none */
	struct leaving leaving;        /* of a core with a tier */
	struct magazine magazines[SLAB_CLASSES_MAX];
	uint32_t class_recall[SLAB_CLASSES_MAX]; /* the last recall answered, of each class */
	struct retire_list retire_list;
	struct pinned pinned;
	struct walk_step walk_step; /* of this turn */
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
	/* Sequentially consistent: read after the bucket lock's bit is visible (sweep.c). */
	return atomic_load_explicit(&st->generation, memory_order_seq_cst);
}

/* A flush that comes due at a second. It is void in another generation than the one that it was
 * asked for in: so the step of the generation does it, or replaces it, in one store. */
static inline uint64_t
store_due_flush(uint32_t at_s, uint32_t generation)
{
	return (uint64_t)generation << 32 | at_s;
}

/* Generation numbers that are free. */
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
