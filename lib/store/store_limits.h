/*
 * store_limits.h - the bounds of the store's own work: one place, with the reason of each.
 *
 * How large the index is, and how it gets there: resize_limits.h. Sizes of objects and pages:
 * slab_sizes.h.
 */
#ifndef CLOCKOO_STORE_LIMITS_H
#define CLOCKOO_STORE_LIMITS_H

#include "index/bucket.h"

/* ---- retire list ---- */

/* Entries of a core's retire list, an item each; a power of two. While another core does not turn
 * the list is full after 12 ms of a million sets a second. */
#define RETIRE_LIST_MAX (1u << 14)
/* Retired items freed in one go, so that no turn takes long; a chunk counts for RETIRE_LIST_CHUNK,
 * since it is freed under its class's lock. */
#define RETIRE_LIST_SLICE 256u
#define RETIRE_LIST_CHUNK 2u
/* Entries that an eviction leaves to all else. */
#define RETIRE_LIST_LEFT_BY_EVICTION 256u
/* Entries that a delete leaves to sets, since it can leave a tombstone instead. */
#define RETIRE_LIST_LEFT_BY_DELETE (RETIRE_LIST_MAX / 8)
/* Entries that the sweep leaves: it is not urgent, and a turn may be all sets. */
#define RETIRE_LIST_LEFT_BY_SWEEP (RETIRE_LIST_MAX / 4)
/* Entries that store_begin leaves to the store_finish of fills begun before. */
#define RETIRE_LIST_LEFT_BY_BEGIN (RETIRE_LIST_MAX / 4)

/* ---- items ---- */

/* Chunks of one value: their references fit into a head object with the longest key. */
#define CHUNKS_MAX 16000u
/* An append that waits for memory asks each turn, and a few epochs pass in one. */
#define EXTENDED_EPOCHS 16u
/* CAS floors, by tag: a key whose cas needs 16 bytes more burdens only a thousandth of the keys. */
#define FLOORS 1024u
/* Larger numbers are chosen by clients. A floor follows them only as far as the store itself might
 * count from there: otherwise one client would use up the numbers of all keys of its floor. */
#define FLOOR_MAX  (UINT64_MAX / 4)
#define FLOOR_STEP (1ull << 32)
#define FLOOR_END  (UINT64_MAX / 2) /* no floor of a store gets there */
/* Reference bits that a core sets together, once the lines of the bitmap have arrived. */
#define REFERENCED_PENDING_MAX 32u

/* ---- flush generations ---- */

/* Generations that may be in the index at once: the 4 bits of an item separate 16. */
#define GENERATIONS_MAX 15u
/* With fewer numbers left the sweep is urgent. */
#define GENERATIONS_FEW 8u

/* ---- sweep ---- */

/* Seconds for one pass through all buckets, unless SWEEP_PER_S is less. */
#define SWEEP_PASS_S 60u
/* Buckets a second, all cores together: 4 % of a core at 300 ns a bucket. */
#define SWEEP_PER_S (1u << 17)
/* Buckets of one step: as many as the prefetches of one step keep in the cache. */
#define SWEEP_SLICE_MIN 16u
/* Buckets of one store_housekeeping where turns are few, or of one turn of an urgent sweep. */
#define SWEEP_SLICE_MAX 256u
#define SWEEP_ITEMS_MAX (SWEEP_SLICE_MIN * BUCKET_SLOTS)
/* Work of an urgent sweep in one turn: 1 a bucket and 1 an item, some 300 ns each; so 40 us. */
#define SWEEP_WORK_TURN 128u
/* Work of the sweep in one store_housekeeping. */
#define SWEEP_WORK_MAX 1536u

/* ---- expiry under pressure ---- */

/* Objects that the hand of expiry passes for each object wanted, so that a round takes no longer
 * than half of the class's turnover. */
#define EXPIRY_PACE 4u
/* Objects that it passes besides for each that it finds expired. */
#define EXPIRY_WORTH 32u
/* Looks in one go, at 64 objects each or at all of a page; objects passed in one go. */
#define EXPIRY_LOOKS_MAX   64u
#define EXPIRY_OBJECTS_MAX 512u

/* Expired items of a class that allocates nothing, evicted for one step of rebalance.c. */
#define EXPIRY_IDLE 128u
/* The part of EXPIRY_IDLE that one turn evicts. */
#define EXPIRY_IDLE_TURN 32u

/* ---- eviction and evacuation ---- */

/* Ghosts take this part of the memory: a quarter byte for an item of 64 bytes. */
#define GHOST_PART 256u
/* Objects evicted ahead of need by one refill of a magazine. */
#define EVICT_SLICE 128u
/* After this many evictions in a turn a class that has half of what it holds back waits. */
#define EVICT_TURN 96u
/* After this many every class waits. */
#define EVICT_TURN_MOST 144u
/* Work of evacuation by store_turn in one turn, in items evicted, some 100 ns each. */
#define EVACUATE_SLICE 112u
/* Work of store_turn while the index waits for pages and some are free: then sets evacuate none. */
#define EVACUATE_FOR_INDEX 192u
/* Work of all sets of a turn that take memory while the reserve is short. */
#define EVACUATE_FOR_SETS 64u
/* Work of a turn for large values that wait. */
#define EVACUATE_FOR_LARGE 256u
/* Additional work of an item that moves: a constant, and one for each EVACUATE_COPY_BYTES. */
#define EVACUATE_RESCUE     3u
#define EVACUATE_COPY_BYTES 1024u
/* Work of the choice of a page; of a look at one. */
#define EVACUATE_CHOICE 24u
#define EVACUATE_LOOK   2u
/* Objects of a page listed together. */
#define EVACUATE_BATCH 64u
/* Objects that magazines give back in one turn once a page is recalled, and a magazine more. */
#define RECALL_SLICE 64u
/* Turns in one epoch after which no more pages are evacuated: a core has stopped turning. */
#define STALL_TURNS 4u
/* Pages of the reserve that large values leave to others. */
#define POOL_KEEP 1u
/* A set that waits for the tier asks each turn, and a few epochs pass in one. */
#define LEAVING_NEEDED_EPOCHS 16u
/* Epochs for which pages stay set aside for a large value that does not ask again. */
#define HELD_EPOCHS 16u

#endif
