/*
 * resize_limits.h - the size of the index and the speed of its changes, each limit with its reason.
 */
#ifndef CLOCKOO_RESIZE_LIMITS_H
#define CLOCKOO_RESIZE_LIMITS_H

/* ---- size: items as a share of the slots, in 64ths ---- */

/* The index grows from this fill on while there are free pages: early, since they are unused. */
#define EARLY_64THS 40u
/* The index grows from this fill on once a page of index costs a page of items. At a fill higher by
 * a 32nd, sets of new keys cost a third more, and 0.2 % more items fit. */
#define FULL_64THS 60u
/* Growth begins at this fill in a store that never evicts: items that arrive during the resize must
 * find a slot. */
#define NEVER_64THS 56u
/* Share of the objects of all pages that are items in a full store: classes evict ahead of need. */
#define ALL_64THS 63u
/* Growth begins earlier, by this much at most, where items arrive fast. */
#define FEW_64THS 2u
/* A new size is chosen for this fill. */
#define AIM_64THS 58u
/* Below this fill the index is too large. */
#define SPARSE_64THS 55u

/* ---- the size of one change ---- */

/* Old and new number of buckets differ by this factor at most, rounded up: it bounds the buckets
 * that one old bucket's keys go to, and so the locks of a migration. */
#define RESIZE_FACTOR_MAX 16u
/* When memory is full the index grows by a 32nd at least: few resizes instead of many. */
#define LATE_PART 32u
/* The index grows to at most four times its size, since a resize under way cannot change its
 * target. */
#define LATE_FACTOR 4u
/* An index of less than a twelfth of the pages is made for the items to come, too. A larger one
 * would be a page or more too large once memory is full (0.3 to 0.7 bytes an item). */
#define SMALL_PART 12u
/* The index shrinks by an eighth at a time, since items may return. */
#define SHRINK_PART 8u
/* An index of more than this many times what the items need shrinks to that size at once. */
#define SHRINK_SPARE 2u
/* A shrink is to a fourth at most: this bounds how much returning items fill before it ends. */
#define SHRINK_FACTOR_MAX 4u
/* A shrunk index has room for this many more items a bucket. A bucket of seven items is 18 units of
 * work, so 1.5 items may arrive for each, and the other half still finds slots: 0.97 of them are
 * taken then. */
#define SHRINK_ITEMS_BUCKET 1u
/* Shrinking begins once evictions are a 16th of the items: then the memory is wanted. */
#define SPARSE_PART 16u
/* The growth of the number of items is a mean over this many samples (resize_consider). */
#define GROWTH_SAMPLES 64u
/* Bytes of index an item takes at the fill aimed at, rounded up. */
#define INDEX_BYTES_PER_ITEM 7u

/* ---- speed ---- */

/* Pages claimed that the index waits for at one time. */
#define CLAIM_PAGES 4u
/* Seconds that the index waits for the next page; then it takes the pages before that one. */
#define CLAIM_WAIT_S 3u
/* Bytes of a claimed page cleared in a slice: a page of 2 MiB takes 32. */
#define CLEAR_BYTES (64u << 10)
/* A turn clears this many bytes, and as many again for every CLEAR_ITEMS more items than before. */
#define CLEAR_ITEMS 256u
/* Work of migration: 1 a bucket searched, 4 a bucket emptied, 2 an item, some 45 ns each. A turn
 * does MIGRATE_WORK at least; a turn that has evacuated, MIGRATE_WORK_BESIDE. */
#define MIGRATE_WORK        200u
#define MIGRATE_WORK_BESIDE 100u
#define MIGRATE_BUCKET      4u
#define MIGRATE_ITEM        2u
#define MIGRATE_BUCKET_MOST (MIGRATE_BUCKET + MIGRATE_ITEM * BUCKET_SLOTS)
/* The work for each additional item ends the resize before the smaller of both indexes is this
 * full: from EARLY_64THS on that is 11 an item. In a fuller index sets would search for slots. */
#define END_64THS 54u
/* The work is at most this much an item; or this much in all, while the index shrinks and few items
 * arrive. */
#define MIGRATE_WORK_ITEM 12u
#define MIGRATE_WORK_MOST 600u
/* Items that a core takes out are made up for by those that it puts in later, but for such a part
 * of them each turn: evictions come in batches. */
#define LOSS_PART 16
/* In a store that never evicts a set without a slot is refused: three times as much. */
#define RESIZE_NEVER_TIMES 3u

/* ---- one bucket ---- */

/* Plans made for one bucket if other cores' writes spoil them; then items that are not as planned
 * are evicted. */
#define MIGRATE_TRIES 8u
/* Flushed items that a migration may drop, here and along paths, before it checks again. */
#define MIGRATE_DROPS_MAX 256u
/* Turns that a bucket waits for slots; then items that find none are evicted. */
#define MIGRATE_DEFER_MAX 16u
/* Cuckoo paths run for one plan. */
#define MIGRATE_PATHS 16u

/* ---- searches for a cuckoo path: buckets looked into ---- */

/* 99.4 % of the slots fill before the first such search fails. */
#define PATH_NODES_MAX 1024u
/* During a resize: to look into a bucket is to read its ten items. */
#define PATH_NODES_RESIZING 256u
/* For all sets of a turn that have no slot, searches and slices of a resize: then they evict a
 * neighbour at once. */
#define CROWDED_WORK_TURN 512u
/* Nodes of a path searched by a set in a store that never evicts: other slots within reach are left
 * to the resize, which must end without a loss. */
#define PATH_NODES_FEW 32u

#endif
