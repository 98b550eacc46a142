/*
 * store_limits.h - the bounds of the store's own work, each with its reason.
 *
 * The size of the index and its resizes: resize_limits.h. Sizes of objects and pages: slab_sizes.h.
 */
#ifndef CLOCKOO_STORE_LIMITS_H
#define CLOCKOO_STORE_LIMITS_H

#include "index/bucket.h"

/* ---- retire list ---- */

/* Entries of a core's retire list, one an item; a power of two. At a million sets a second the list
 * is full 12 ms after another core has stopped turning. */
#define RETIRE_LIST_MAX (1u << 14)
/* Retired items freed in one call, so that no turn takes long. A chunk counts for
 * RETIRE_LIST_CHUNK, since it is freed under its class's lock. */
#define RETIRE_LIST_SLICE 256u
#define RETIRE_LIST_CHUNK 2u
/* Entries that an eviction leaves for all else. */
#define RETIRE_LIST_LEFT_BY_EVICTION 256u
/* Entries that a delete leaves for sets, since it can leave a tombstone instead. */
#define RETIRE_LIST_LEFT_BY_DELETE (RETIRE_LIST_MAX / 8)
/* Entries that the sweep leaves, since it is not urgent and a turn may consist of sets. */
#define RETIRE_LIST_LEFT_BY_SWEEP (RETIRE_LIST_MAX / 4)
/* Entries that store_begin leaves for the store_finish of earlier fills. */
#define RETIRE_LIST_LEFT_BY_BEGIN (RETIRE_LIST_MAX / 4)

/* ---- items ---- */

/* Chunks of a value: their references must fit into a first object with the longest key. */
#define CHUNKS_MAX 16000u
/* An append that waits for memory asks each turn. A few epochs pass in a turn. */
#define EXTENDED_EPOCHS 16u
/* CAS floors, by tag: a key whose cas needs 16 bytes more burdens only a thousandth of the keys. */
#define FLOORS 1024u
/* Larger numbers are those that clients chose. A floor follows them only by FLOOR_STEP, which the
 * store itself might count. Otherwise one client could use up the numbers of all keys with its
 * floor. */
#define FLOOR_MAX  (UINT64_MAX / 4)
#define FLOOR_STEP (1ull << 32)
#define FLOOR_END  (UINT64_MAX / 2) /* no floor gets as high */
/* Reference bits that a core sets together, once the cache lines of the bitmap have arrived. */
#define REFERENCED_PENDING_MAX 32u

/* ---- flush generations ---- */

/* Generations that may be in the index at once: an item's 4 bits distinguish 16. */
#define GENERATIONS_MAX 15u
/* With fewer free numbers the sweep is urgent. */
#define GENERATIONS_FEW 8u

/* ---- sweep ---- */

/* Seconds for a pass through all buckets, unless SWEEP_PER_S makes it longer. */
#define SWEEP_PASS_S 60u
/* Buckets a second by all cores together: 4 % of one core at 300 ns a bucket. */
#define SWEEP_PER_S (1u << 17)
/* Buckets swept together, whose prefetched items stay in the cache. A step has no fewer. */
#define SWEEP_SLICE_MIN 16u
/* Most buckets of a step: of one store_housekeeping where turns are few, or of a turn of an urgent
 * sweep. */
#define SWEEP_SLICE_MAX 256u
#define SWEEP_ITEMS_MAX (SWEEP_SLICE_MIN * BUCKET_SLOTS)
/* Work of an urgent sweep in a turn: 1 a bucket and 1 an item, some 300 ns each, so 40 us. */
#define SWEEP_WORK_TURN 128u
/* Work of the sweep in one store_housekeeping. */
#define SWEEP_WORK_MAX 1536u

/* ---- expiry under pressure ---- */

/* Objects that the expiry hand passes for each object wanted, so that a round takes at most half of
 * the time in which the class's items are replaced. */
#define EXPIRY_PACE 4u
/* Additional objects that it passes for each expired one that it finds. */
#define EXPIRY_WORTH 32u
/* Looks of one call, each at 64 objects or at a whole page, and objects passed by one call. */
#define EXPIRY_LOOKS_MAX   64u
#define EXPIRY_OBJECTS_MAX 512u

/* Expired items of a class that allocates nothing, evicted for one step of rebalance.c. */
#define EXPIRY_IDLE 128u
/* The part of EXPIRY_IDLE that one turn evicts. */
#define EXPIRY_IDLE_TURN 32u

/* ---- eviction and evacuation ---- */

/* Ghosts take this part of the memory: a quarter of a byte for an item of 64 bytes. */
#define GHOST_PART 256u
/* Objects evicted ahead of need by one refill of a magazine. */
#define EVICT_SLICE 128u
/* After this many evictions in a turn, a class that has half of the objects wanted ahead waits. */
#define EVICT_TURN 96u
/* After this many, every class waits. */
#define EVICT_TURN_MOST 144u
/* Work of evacuation by store_turn in one turn, in items evicted, some 100 ns each. */
#define EVACUATE_SLICE 112u
/* Work of store_turn while the index waits for pages and the pool has some. Sets evacuate nothing
 * then. */
#define EVACUATE_FOR_INDEX 192u
/* Work of all sets of a turn that take memory while the reserve is short. */
#define EVACUATE_FOR_SETS 64u
/* Work of a turn for large values that wait. */
#define EVACUATE_FOR_LARGE 256u
/* Additional work of an item that moves: EVACUATE_RESCUE, and 1 for each EVACUATE_COPY_BYTES. */
#define EVACUATE_RESCUE     3u
#define EVACUATE_COPY_BYTES 1024u
/* Work of choosing a page, and of looking at a candidate. */
#define EVACUATE_CHOICE 24u
#define EVACUATE_LOOK   2u
/* Objects of a page listed together. */
#define EVACUATE_BATCH 64u
/* After a page is recalled, a turn empties magazines until this many objects are given back. */
#define RECALL_SLICE 64u
/* After this many turns in one epoch no more pages are evacuated, since a core has stopped
 * turning. */
#define STALL_TURNS 4u
/* Pages of the reserve that large values leave for others. */
#define POOL_KEEP 1u
/* A set that waits for the tier asks each turn. A few epochs pass in a turn. */
#define LEAVING_NEEDED_EPOCHS 16u
/* Epochs for which pages stay set aside for a large value that does not ask again. */
#define HELD_EPOCHS 16u

#endif
