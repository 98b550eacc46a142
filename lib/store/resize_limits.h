/*
 * resize_limits.h - how large the index is and how fast it changes: one place, with the reason of
 * each.
 */
#ifndef CLOCKOO_RESIZE_LIMITS_H
#define CLOCKOO_RESIZE_LIMITS_H

/* ---- how large: shares of the slots, in 64ths ---- */

/* Growth begins here while there are free pages: early, since that memory is unused. */
#define EARLY_64THS 48u
/* Growth begins here once a page of index costs a page of items: searches for a slot bear 97 %. */
#define FULL_64THS 62u
/* Growth begins here in a store that never evicts: what comes meanwhile must find a slot. */
#define NEVER_64THS 56u
/* Share of what pages hold that is ever in use: every class evicts ahead of need. */
#define ALL_64THS 63u
/* At most so much earlier where items come fast. */
#define FEW_64THS 2u
/* A new size is chosen for this fill. */
#define AIM_64THS 60u
/* Below this fill the index is too large. */
#define SPARSE_64THS 57u

/* ---- how much at a time ---- */

/* Old and new number of buckets differ by this factor at most, rounded up: it bounds the buckets
 * that one old bucket's keys go to, and so the locks of a migration. */
#define RESIZE_FACTOR_MAX 16u
/* When memory is full the index grows by a 32nd at least: few resizes instead of many small ones;
 */
#define LATE_PART 32u
/* and to four times at most: a resize under way cannot change its aim. */
#define LATE_FACTOR 4u
/* An index of less than a twelfth of the pages may run ahead of the items; a larger one would be a
 * page or more too large once memory is full (0.3 to 0.7 bytes an item). */
#define SMALL_PART 12u
/* The index shrinks by an eighth at a time, since items may come back; */
#define SHRINK_PART 8u
/* or at once to twice what the items need. */
#define SHRINK_SPARE 2u
/* Shrinking begins once a 16th of the items were evicted: then the memory is wanted. */
#define SPARSE_PART 16u
/* Mean of the rise of items over so many looks. */
#define RISE_CHECKS 64u
/* Bytes of index an item takes at the fill aimed at, rounded up. */
#define INDEX_BYTES_PER_ITEM 7u

/* ---- how fast ---- */

/* Pages that items leave for the index at one time. */
#define CLAIM_PAGES 4u
/* Seconds that one of them is waited for; then the index makes do without it. */
#define CLAIM_WAIT_S 3u
/* Bytes of a claimed page cleared in a slice: a page of 2 MiB takes 32. */
#define CLEAR_BYTES (64u << 10)
/* A turn does a slice, and one more for every 16 items it stored, and 16 at most: a turn that
 * stores much is long anyway, and one slice a turn comes too late for it. */
#define RESIZE_SLICE_ITEMS 16u
#define RESIZE_SLICES_MAX  16u
/* Work of a slice of migration: 1 a bucket searched, 4 a bucket emptied, 2 an item.
 * A turn with a slice takes 20 to 25 us (961edc0). */
#define MIGRATE_WORK   400u
#define MIGRATE_BUCKET 4u
#define MIGRATE_ITEM   2u

/* ---- one bucket ---- */

/* Plans for one bucket that others' writes may spoil; then what is not as planned is evicted. */
#define MIGRATE_TRIES 8u
/* Turns that a bucket waits for slots; then what finds none is evicted. */
#define MIGRATE_DEFER_MAX 8u
/* Cuckoo paths run for one plan. */
#define MIGRATE_PATHS 16u

/* ---- searches for a cuckoo path: buckets looked into ---- */

/* 99.4 % of the slots fill before the first such search fails. */
#define PATH_NODES_MAX 1024u
/* While the index is resized each bucket looked into is ten items read. */
#define PATH_NODES_RESIZING 256u
/* So much only for a set in a store that never evicts while its index is resized: the slots within
 * reach are left to the resize, which must end without a loss. */
#define PATH_NODES_FEW 32u

#endif
