/*
 * store_limits.h - the bounds of the store's own work, each with its reason.
 *
 * The size of the index and its resizes: resize_limits.h. Sizes of objects and pages: slab_sizes.h.
 */
#ifndef CLOCKOO_STORE_LIMITS_H
#define CLOCKOO_STORE_LIMITS_H

#include "index/bucket.h"

/* ---- retire list ---- */

/* Capacity of a core's retire list, in items; a power of two. At a million sets a second the list
 * is full 12 ms after another core has stopped turning. */
#define RETIRE_LIST_MAX (1u << 14)
/* Most retired items that one call frees, so that no turn takes long. A chunk counts as
 * RETIRE_LIST_CHUNK items, since it is freed under its class's lock. */
#define RETIRE_LIST_SLICE 256u
#define RETIRE_LIST_CHUNK 2u
/* Entries of the retire list that an eviction leaves free for other removals. */
#define RETIRE_LIST_LEFT_BY_EVICTION 256u
/* Entries that a delete leaves free for sets; a delete without an entry leaves a tombstone. */
#define RETIRE_LIST_LEFT_BY_DELETE (RETIRE_LIST_MAX / 8)
/* Entries that the sweep leaves free: it is not urgent, and a turn may consist of sets. */
#define RETIRE_LIST_LEFT_BY_SWEEP (RETIRE_LIST_MAX / 4)
/* Entries that store_begin leaves free, for the store_finish of earlier fills. */
#define RETIRE_LIST_LEFT_BY_BEGIN (RETIRE_LIST_MAX / 4)

/* ---- items ---- */

/* Most chunks of a value: the references to all of them must fit into a first object that also has
 * the longest key. */
#define CHUNKS_MAX 16000u
/* Epochs after which an append that waits for memory counts as given up. While it waits it asks
 * every turn, which lasts a few epochs. */
#define EXTENDED_EPOCHS 16u
/* Number of CAS floors; the tag chooses a key's floor. A key whose cas needs a long field (16
 * bytes) raises the floor of only a thousandth of the keys. */
#define FLOORS 1024u
/* Numbers above FLOOR_MAX were chosen by clients. Such a number raises the floor by at most
 * FLOOR_STEP, which is as much as the store itself might count. Otherwise one client could use up
 * the numbers of all keys that share its floor. */
#define FLOOR_MAX  (UINT64_MAX / 4)
#define FLOOR_STEP (1ull << 32)
#define FLOOR_END  (UINT64_MAX / 2) /* no floor reaches this */
/* Reference bits that a core collects and then sets together, once their cache lines are there. */
#define REFERENCED_PENDING_MAX 32u

/* ---- flush generations ---- */

/* Most flush generations in the index at once: an item has 4 bits for its generation. */
#define GENERATIONS_MAX 15u
/* The sweep is urgent while fewer generation numbers than this are free. */
#define GENERATIONS_FEW 8u

/* ---- sweep ---- */

/* Seconds for a pass through all buckets, unless SWEEP_PER_S makes it longer. */
#define SWEEP_PASS_S 60u
/* Buckets a second by all cores together: 4 % of one core at 300 ns a bucket. */
#define SWEEP_PER_S (1u << 17)
/* Buckets swept together; their prefetched items fit into the CPU's cache. A step sweeps at least
 * these. */
#define SWEEP_SLICE_MIN 16u
/* Most buckets of one step. A step is one store_housekeeping, or one turn of an urgent sweep. */
#define SWEEP_SLICE_MAX 256u
#define SWEEP_ITEMS_MAX (SWEEP_SLICE_MIN * BUCKET_SLOTS)
/* Work of an urgent sweep in one turn: each bucket and each item counts 1 and takes some 300 ns, so
 * 40 us. */
#define SWEEP_WORK_TURN 128u
/* Work of the sweep in one store_housekeeping, in the same unit. */
#define SWEEP_WORK_MAX 1536u

/* ---- expiry under pressure ---- */

/* Objects that the expiry hand passes for each object wanted. With 4 a round takes at most half of
 * the time in which the class's items are replaced. */
#define EXPIRY_PACE 4u
/* Additional objects that the hand passes for each expired item that it finds. */
#define EXPIRY_WORTH 32u
/* Bounds of one call: looks, each at 64 objects or a whole page, and objects passed. */
#define EXPIRY_LOOKS_MAX   64u
#define EXPIRY_OBJECTS_MAX 512u

/* Expired items evicted from an idle class, one that allocates nothing, for one step of
 * rebalance.c. */
#define EXPIRY_IDLE 128u
/* The part of EXPIRY_IDLE that one turn evicts. */
#define EXPIRY_IDLE_TURN 32u

/* ---- eviction and evacuation. The unit of work is one item evicted, some 100 ns. ---- */

/* Ghosts take 1/256 of the memory: a quarter of a byte for an item of 64 bytes. */
#define GHOST_PART 256u
/* Objects evicted ahead of need by one refill of a magazine. */
#define EVICT_SLICE 128u
/* After this many evictions in a turn a class that has half of the free objects it wants evicts no
 * more. */
#define EVICT_TURN 96u
/* After this many evictions in a turn no class evicts ahead. */
#define EVICT_TURN_MOST 144u
/* Work of evacuation by store_turn in one turn. */
#define EVACUATE_SLICE 112u
/* Work of store_turn in a turn while the index waits for pages and the pool has some. Sets evacuate
 * nothing then. */
#define EVACUATE_FOR_INDEX 192u
/* Work of evacuation by all sets of a turn, while the reserve is short. */
#define EVACUATE_FOR_SETS 64u
/* Work of evacuation in a turn in which large values wait for memory. */
#define EVACUATE_FOR_LARGE 256u
/* Additional work of moving an item: EVACUATE_RESCUE, and 1 for each EVACUATE_COPY_BYTES. */
#define EVACUATE_RESCUE     3u
#define EVACUATE_COPY_BYTES 1024u
/* Work of choosing a page, and of checking one candidate. */
#define EVACUATE_CHOICE 24u
#define EVACUATE_LOOK   2u
/* Objects of a page that are listed together. */
#define EVACUATE_BATCH 64u
/* Objects that a turn gives back at most from the core's magazines, after a page is recalled. */
#define RECALL_SLICE 64u
/* After this many turns within one epoch no more pages are evacuated: some core has stopped
 * turning. */
#define STALL_TURNS 4u
/* Pages of the pool that large values leave for others. */
#define POOL_KEEP 1u
/* Epochs after which a set that waits for the tier counts as given up. It asks every turn. */
#define LEAVING_NEEDED_EPOCHS 16u
/* Epochs for which pages stay set aside for a large value that does not ask again. */
#define HELD_EPOCHS 16u

#endif
