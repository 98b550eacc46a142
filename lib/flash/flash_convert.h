/*
 * flash_convert.h - converts a shard's log into a column (FLASH.md, "The life of an item").
 *
 * The tier's thread lists the live items in the oldest segments of a full log, assigns each of them
 * to one of its two buckets, and writes the records in the order of the buckets. For that it passes
 * over the segments several times. The thread takes no lock and changes no table: the shard's
 * owner, a core, makes the changes.
 *
 * Shape:  one conversion at a time, for all shards of a tier. It has stages, each of which belongs
 *         to the thread or to the owner; whoever has the stage has all of the conversion's state.
 *         If a segment is overwritten before a stage has read it, or a transfer fails, the
 *         conversion ends and the log stays unchanged.
 * Units:  at: an offset in a column's payload. stage: enum flash_convert_stage.
 * Owner:  the caller owns the shards, and the memory for transfers, which the device uses. All
 *         other memory is flash_convert_bytes of the caller's region.
 * Thread: flash_convert_work, flash_convert_ended: the tier's thread. flash_convert_turn: the core
 *         that owns the shard, without the shard's lock.
 * Errors: none are reported. An item that gets no place in the column is dropped together with its
 *         segment.
 * Bounds: one call of flash_convert_work processes one segment, or a comparable amount. One call of
 *         flash_convert_turn makes FLASH_CONVERT_SLICES slices, each under the lock. A conversion
 *         reads its segments once, and once more for each output_pages pages of the column.
 */
#ifndef CLOCKOO_FLASH_CONVERT_H
#define CLOCKOO_FLASH_CONVERT_H

#include "flash_shard_columns.h"

#include "base/region.h"

#define FLASH_CONVERT_TAG       (1ull << 40) /* tag of the conversion's transfers */
#define FLASH_CONVERT_TRANSFERS 4u           /* reads or writes in progress */
#define FLASH_CONVERT_CHECKS    8u           /* checks of a column before it is given up */
#define FLASH_CONVERT_SLICES    4u  /* slices in a turn of the owner; each takes the lock */
#define FLASH_CONVERT_SLICE     16u /* buckets or items in a slice */
#define FLASH_CONVERT_AGAIN     16u /* items reinserted in a turn */
#define FLASH_CONVERT_KICKS     500u

enum flash_convert_stage {
	FLASH_CONVERT_IDLE,     /* idle; the thread's: no conversion */
	FLASH_CONVERT_LIST,     /* the thread's: lists live items */
	FLASH_CONVERT_BUILD,    /* the thread's: assigns buckets */
	FLASH_CONVERT_OLD,      /* the thread's: lists the used items of the oldest column */
	FLASH_CONVERT_DATA,     /* the thread's: writes records */
	FLASH_CONVERT_REINSERT, /* the owner's: puts those used items into the log */
	FLASH_CONVERT_BEGIN,    /* the owner's: ends the oldest column */
	FLASH_CONVERT_PUT,      /* the owner's: puts rows */
	FLASH_CONVERT_CHECK, /* the owner's: removes items erased meanwhile, and shows the column */
};

/* Counters of the tier's thread: name, description. */
#define FLASH_CONVERT_COUNTERS(X)                                                                  \
	X(FLASH_CONVERT_ITEMS, "items given a bucket")                                             \
	X(FLASH_CONVERT_LOST, "items without a bucket")                                            \
	X(FLASH_CONVERT_SEGMENTS, "segments read, once a pass")                                    \
	X(FLASH_CONVERT_UNREAD, "segments left out: unreadable")                                   \
	X(FLASH_CONVERT_ENDED, "conversions without a result")                                     \
	X(FLASH_CONVERT_PAGES, "pages written")

enum flash_convert_counter { FLASH_CONVERT_COUNTERS(COUNTER_SYMBOL) FLASH_CONVERT_COUNTERS_COUNT };
extern const struct counter_name flash_convert_counter_names[FLASH_CONVERT_COUNTERS_COUNT];

/* An item to be converted. */
struct flash_convert_item {
	uint64_t hash;
	uint32_t location;
	/* Offset in the column; until that is known, the length of the record.
	 * FLASH_CONVERT_NOWHERE: the item has no bucket. */
	uint32_t at;
};
#define FLASH_CONVERT_NOWHERE UINT32_MAX

struct flash_convert_config {
	struct flash_shard *shards;
	uint32_t shard_count;        /* shards with columns, all of one size */
	struct flash_device *device; /* its depth leaves room for FLASH_CONVERT_TRANSFERS */
	/* Memory that the device was opened with: FLASH_CONVERT_TRANSFERS segments to read into,
	 * then output_pages to write from. */
	uint8_t *memory;
	uint32_t output_pages;
	/* 1/reinserted of an ended column's bytes is reinserted; 0: nothing is. */
	uint32_t reinserted;
	uint64_t (*hash)(void *arg, struct view key); /* the store's hash */
	void *arg;
};

struct flash_convert {
	struct flash_convert_config c;
	/* The stage, and above STAGE_BITS the number of the shard, in one word. */
	_Atomic uint32_t stage;
	struct flash_shard *shard;
	uint32_t next_shard; /* next shard to check for a column that is due */
	/* In stages OLD and REINSERT the number of the oldest column, then that of the new one. */
	uint64_t number;
	uint64_t from, to; /* the first and last segment to convert */

	struct flash_convert_item *items;
	uint32_t count, items_max;
	uint32_t *slots; /* for each slot of the column, the index of its item plus 1; 0: none */
	uint64_t *ends;  /* bit n: the records of bucket n + 1 begin on a later page */
	uint64_t random; /* state of draw() */
	uint32_t step;   /* next item or bucket of the stage */
	uint32_t checks; /* checks made of the new column */
	uint64_t first;  /* the log's oldest segment when the present check began */
	uint32_t bytes;  /* of the column's payload */
	bool placed;     /* in stage BUILD: every item has a bucket */

	/* Progress of the present pass over the segments, or of the writing of an output. */
	uint64_t begun, done;                   /* segments, or pages of the output */
	bool ended[FLASH_CONVERT_TRANSFERS];    /* by transfer: it has ended */
	int32_t error[FLASH_CONVERT_TRANSFERS]; /* by transfer: 0 or a negative errno */
	uint32_t under_way;                     /* transfers in progress */
	bool did;        /* this call of flash_convert_work has done something */
	bool failed;     /* a write has failed */
	bool stopped;    /* the pass ends once no transfer is in progress */
	uint32_t cursor; /* items of the list up to which the pass has come */
	uint32_t page;   /* page of the column with which the output begins */
	bool is_open;    /* the output's pages are being filled or written */
	bool writes;     /* the output's pages are being written */

	struct { /* used items of the oldest column, to be reinserted */
		uint64_t hash;
		uint8_t bytes[FLASH_COLUMN_RECORD_MAX];
	} again[FLASH_CONVERT_AGAIN];
	uint32_t again_count;
	uint64_t again_left; /* bytes that may still be reinserted from the oldest column */
	/* The pass over the oldest column continues on this page, at this `next` of its walk. */
	uint32_t old_page, old_at;
	/* Written by the thread that has the stage. */
	struct counter counters[FLASH_CONVERT_COUNTERS_COUNT];
};

/* Returns the name of the present stage. Any thread. */
const char *flash_convert_words(const struct flash_convert *convert);

/* Returns the bytes of memory for the conversion of shards with columns of this many buckets. */
size_t flash_convert_bytes(uint32_t buckets);
void flash_convert_init(struct flash_convert *convert, struct region *region,
			const struct flash_convert_config *config);

/* Continues the conversion. False: there was nothing to do. */
bool flash_convert_work(struct flash_convert *convert);
/* Handles the end of a transfer with FLASH_CONVERT_TAG. */
void flash_convert_ended(struct flash_convert *convert, uint64_t tag, int32_t error);

/* Does the owner's part of the conversion of this shard, for one turn. */
void flash_convert_turn(struct flash_convert *convert, struct flash_shard *shard);

#endif
