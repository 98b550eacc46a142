/*
 * flash_convert.h - converts a shard's log into a column (FLASH.md, "The life of an item").
 *
 * The tier's thread lists the live items in the oldest segments of a full log, gives each item
 * one of its two buckets, and writes the records in the order of the buckets, in passes over the
 * segments. It takes no lock and changes no table: a core, the shard's owner, makes the changes.
 *
 * Shape:  one conversion at a time, of all shards of a tier, in stages; each belongs to the
 *         thread or to the owner, which hands all of it over at the end. If a stage finds its
 *         segments overwritten, or a transfer fails, the conversion ends and the log stays
 *         unchanged.
 * Units:  at: offset in a column's payload. stage: enum flash_convert_stage.
 * Owner:  the caller owns the shards, and the memory for transfers, which the device uses. All
 *         other memory comes from flash_convert_bytes of the caller's region.
 * Thread: flash_convert_work, _ended: the tier's thread. flash_convert_turn: a shard's owner, one
 *         core, without a lock.
 * Errors: none are reported: an item that does not enter a column leaves with its segment.
 * Bounds: a call of flash_convert_work processes one segment, or as much; one of _turn takes
 *         FLASH_CONVERT_SLICES slices, each under the lock. A conversion reads its segments once,
 *         and once more for each output_pages of the column.
 */
#ifndef CLOCKOO_FLASH_CONVERT_H
#define CLOCKOO_FLASH_CONVERT_H

#include "flash_shard_columns.h"

#include "base/region.h"

#define FLASH_CONVERT_TAG       (1ull << 40) /* tag of its transfers */
#define FLASH_CONVERT_TRANSFERS 4u           /* reads or writes in progress */
#define FLASH_CONVERT_CHECKS    8u           /* of a column; then it is given up */
#define FLASH_CONVERT_SLICES    4u           /* in a turn of the owner; each is under the lock */
#define FLASH_CONVERT_SLICE     16u          /* buckets or items in a slice */
#define FLASH_CONVERT_AGAIN     16u          /* items reinserted in a turn */
#define FLASH_CONVERT_KICKS     500u

enum flash_convert_stage {
	FLASH_CONVERT_IDLE,     /* the thread's: no conversion */
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

struct flash_convert_item {
	uint64_t hash;
	uint32_t location;
	uint32_t at; /* its bytes, until it has a bucket; FLASH_CONVERT_NOWHERE: it gets none */
};
#define FLASH_CONVERT_NOWHERE UINT32_MAX

struct flash_convert_config {
	struct flash_shard *shards;
	uint32_t shard_count;        /* shards with columns, all of one size */
	struct flash_device *device; /* its depth has FLASH_CONVERT_TRANSFERS to spare */
	/* FLASH_CONVERT_TRANSFERS segments, then output_pages, used by the device. */
	uint8_t *memory;
	uint32_t output_pages;
	uint32_t reinserted; /* one byte in this many of a column is reinserted; 0: none */
	uint64_t (*hash)(void *arg, struct view key); /* the store's hash */
	void *arg;
};

struct flash_convert {
	struct flash_convert_config c;
	_Atomic uint32_t stage; /* and above STAGE_BITS the shard's number: one word */
	struct flash_shard *shard;
	uint32_t next_shard;
	uint64_t number;
	uint64_t from, to; /* segments to convert */

	struct flash_convert_item *items;
	uint32_t count, items_max;
	uint32_t *slots; /* items by slot, plus 1; 0: none */
	uint64_t *ends;  /* a bit for each bucket: the next one begins in a later page */
	uint64_t random;
	uint32_t step;   /* of the stage: an item or bucket */
	uint32_t checks; /* made of the column */
	uint64_t first;  /* the log's first segment when the present check began */
	uint32_t bytes;  /* of the column's payload */
	bool placed;     /* in BUILD: all items have a bucket */

	/* The current pass. */
	uint64_t begun, done; /* segments, or pages */
	bool ended[FLASH_CONVERT_TRANSFERS];
	int32_t error[FLASH_CONVERT_TRANSFERS];
	uint32_t under_way;
	bool did;             /* this call has done something */
	bool failed, stopped; /* the pass ends as soon as no transfer is in progress */
	uint32_t cursor;      /* items visited */
	uint32_t page;        /* first page of the output */
	bool is_open, writes; /* the output has records; they are being written */

	struct {
		uint64_t hash;
		uint8_t bytes[FLASH_COLUMN_RECORD_MAX];
	} again[FLASH_CONVERT_AGAIN];
	uint32_t again_count;
	uint64_t again_left; /* in bytes */
	uint32_t old_page, old_at;
	struct counter counters[FLASH_CONVERT_COUNTERS_COUNT]; /* the stage's thread writes */
};

/* Returns the stage in a word. Any thread. */
const char *flash_convert_words(const struct flash_convert *convert);

/* Returns the bytes for columns with `buckets` buckets. */
size_t flash_convert_bytes(uint32_t buckets);
void flash_convert_init(struct flash_convert *convert, struct region *region,
			const struct flash_convert_config *config);

/* Does some work. False: there was none. */
bool flash_convert_work(struct flash_convert *convert);
/* Handles the end of a transfer with FLASH_CONVERT_TAG. */
void flash_convert_ended(struct flash_convert *convert, uint64_t tag, int32_t error);

/* Does this shard's part in a turn. */
void flash_convert_turn(struct flash_convert *convert, struct flash_shard *shard);

#endif
