/*
 * resize_limits.h - limits for the size of the index and the speed of resizes, each with its
 * reason.
 */
#ifndef CLOCKOO_RESIZE_LIMITS_H
#define CLOCKOO_RESIZE_LIMITS_H

/* ---- size: items as a share of the slots, in 64ths ---- */

/* While there are free pages the index grows above this fill: early, since the pages are unused. */
#define EARLY_64THS 40u
/* Once a page of index takes a page from items, the index grows above this fill. If it were higher
 * by 1/32, sets of new keys would cost a third more, and 0.2 % more items would fit. */
#define FULL_64THS 60u
/* A store that never evicts grows its index above this fill: items that arrive during the resize
 * must find a slot. */
#define NEVER_64THS 56u
/* Items as a share of the objects of all pages in a full store. It is below 64, since classes evict
 * ahead of need. */
#define ALL_64THS 63u
/* Growth begins earlier, by at most this much, where items arrive fast. */
#define FEW_64THS 2u
/* A new size is chosen for this fill. */
#define AIM_64THS 58u
/* Below this fill the index counts as too large. */
#define SPARSE_64THS 55u

/* ---- the size of one change ---- */

/* The old and the new number of buckets differ at most by this factor, rounded up. It bounds the
 * buckets to which one old bucket's keys go, and with that the locks of a migration. */
#define RESIZE_FACTOR_MAX 16u
/* When memory is full the index grows by at least 1/32: few resizes instead of many. */
#define LATE_PART 32u
/* Most growth in one resize: four times the size, since the target cannot change during a
 * resize. */
#define LATE_FACTOR 4u
/* An index of less than 1/12 of the pages is also sized for items that will arrive meanwhile. A
 * larger index sized so would be a page or more too large once memory is full (0.3 to 0.7 bytes an
 * item). */
#define SMALL_PART 12u
/* The index shrinks by 1/8 at a time, since items may return. */
#define SHRINK_PART 8u
/* An index more than twice as large as its items need shrinks to twice that size at once. */
#define SHRINK_SPARE 2u
/* A shrink is to at least a fourth of the size. That bounds how much items that return meanwhile
 * can fill. */
#define SHRINK_FACTOR_MAX 4u
/* A shrunk index has room for this many more items in each bucket. To migrate a bucket of seven
 * items is 18 units of work, so 1.5 items may arrive meanwhile. The half item above the 1 still
 * finds a slot, at a fill of 0.97. */
#define SHRINK_ITEMS_BUCKET 1u
/* Shrinking begins once evictions exceed 1/16 of the items: that shows that items need the
 * memory. */
#define SPARSE_PART 16u
/* Samples over which the growth of the number of items is averaged (resize_consider). */
#define GROWTH_SAMPLES 64u
/* Bytes of index for an item at the fill aimed at, rounded up. */
#define INDEX_BYTES_PER_ITEM 7u

/* ---- speed ---- */

/* Most claimed pages that the index waits for at one time. */
#define CLAIM_PAGES 4u
/* Seconds to wait for the next page. After that the index grows by the pages before it. */
#define CLAIM_WAIT_S 3u
/* Bytes of a claimed page cleared in one slice: a page of 2 MiB takes 32 slices. */
#define CLEAR_BYTES (64u << 10)
/* A turn clears CLEAR_BYTES, and as much again for each CLEAR_ITEMS items gained since. */
#define CLEAR_ITEMS 256u
/* Work of migration, in units of some 45 ns: 1 for a bucket searched, 4 for a bucket emptied, 2 for
 * an item. A turn does at least MIGRATE_WORK, or MIGRATE_WORK_BESIDE if it has also evacuated. */
#define MIGRATE_WORK        200u
#define MIGRATE_WORK_BESIDE 100u
#define MIGRATE_BUCKET      4u
#define MIGRATE_ITEM        2u
#define MIGRATE_BUCKET_MOST (MIGRATE_BUCKET + MIGRATE_ITEM * BUCKET_SLOTS)
/* The work for each new item is such that the resize ends before the smaller of the old and the new
 * index is this full. Begun at EARLY_64THS that is 11 units an item. In a fuller index sets would
 * have to search for slots. */
#define END_64THS 54u
/* Most work for one new item. Also most work of a turn while the index shrinks and few items
 * arrive. */
#define MIGRATE_WORK_ITEM 12u
#define MIGRATE_WORK_MOST 600u
/* Removals count against new items in gained(). Since evictions come in batches, each turn forgives
 * 1/LOSS_PART of such a deficit. */
#define LOSS_PART 16
/* Factor for the work in a store that never evicts, where a set without a slot is refused. */
#define RESIZE_NEVER_TIMES 3u

/* ---- one bucket ---- */

/* Most plans for one bucket, if other cores' writes spoil them. After that, items that are not as
 * planned are evicted. */
#define MIGRATE_TRIES 8u
/* Flushed items that a migration may drop, along paths too, before it asks again if it may drop
 * more. */
#define MIGRATE_DROPS_MAX 256u
/* Most turns that a bucket waits for slots. After that, items without a slot are evicted. */
#define MIGRATE_DEFER_MAX 16u
/* Most cuckoo paths run for one plan. */
#define MIGRATE_PATHS 16u

/* ---- searches for a cuckoo path, in buckets searched ---- */

/* With this limit 99.4 % of the slots are full before the first search fails. */
#define PATH_NODES_MAX 1024u
/* The limit during a resize, when searching a bucket means reading its ten items. */
#define PATH_NODES_RESIZING 256u
/* Limit for the searches, and slices of a resize, of all sets of a turn that find no slot. Beyond
 * it such a set evicts a neighbour at once. */
#define CROWDED_WORK_TURN 512u
/* Limit for a set's search in a store that never evicts, during a resize. Slots further away are
 * left to the resize, which must not lose an item. */
#define PATH_NODES_FEW 32u

#endif
