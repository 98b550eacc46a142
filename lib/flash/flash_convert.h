/*
 * flash_convert.h - a shard's log becomes a column: HashStore, and conversion, of FLASH.md 4 and 5.
 *
 * The tier's thread lists what is live in the oldest segments of a full log, gives each item one of
 * its two buckets, and writes the records in the order of the buckets, in passes over the segments.
 * It takes no lock, and changes no table: what is to be changed a core does, the shard's owner.
 *
 * Shape:  one conversion at a time, of all shards of a tier, in stages; each is the thread's or the
 *         owner's, and who ends it hands all of it to the other. A stage that finds its segments
 *         overwritten, or a transfer that failed, ends the conversion; the log is as it was.
 * Units:  at: bytes of a column's payload. stage: enum flash_convert_stage.
 * Owner:  the caller: shards, and memory for transfers, the device's. What is not of a device is of
 *         flash_convert_bytes of its region.
 * Thread: flash_convert_work, _heard: the tier's. flash_convert_turn: a shard's owner, one core,
 *         without a lock.
 * Errors: none that anybody hears of: what does not become a column's leaves with its segment.
 * Bounds: a call of flash_convert_work reads through one segment, or as much; one of _turn takes
 *         FLASH_CONVERT_SLICES slices, each under the lock. A conversion reads its segments once,
 *         and once for each output_pages of the column.
 */
#ifndef CLOCKOO_FLASH_CONVERT_H
#define CLOCKOO_FLASH_CONVERT_H

#include "flash_shard_columns.h"

#include "base/region.h"

#define FLASH_CONVERT_TAG       (1ull << 40) /* of its transfers */
#define FLASH_CONVERT_TRANSFERS 4u           /* reads or writes under way */
#define FLASH_CONVERT_SLICES    4u           /* a turn of the owner; each, under the lock, */
#define FLASH_CONVERT_SLICE     16u          /* of so many buckets or items */
#define FLASH_CONVERT_AGAIN     16u          /* items reinserted a turn */
#define FLASH_CONVERT_KICKS     500u

enum flash_convert_stage {
	FLASH_CONVERT_IDLE,     /* the thread's, */
	FLASH_CONVERT_LIST,     /* as are these: what is live; */
	FLASH_CONVERT_BUILD,    /* buckets; */
	FLASH_CONVERT_OLD,      /* what was used of the column that goes; */
	FLASH_CONVERT_DATA,     /* records */
	FLASH_CONVERT_REINSERT, /* the owner's: that is put into the log; */
	FLASH_CONVERT_BEGIN,    /* the oldest goes; */
	FLASH_CONVERT_PUT,      /* rows; */
	FLASH_CONVERT_CHECK,    /* what was erased meanwhile; and it is shown */
};

/* Name, and what happened. The thread's. */
#define FLASH_CONVERT_COUNTERS(X)                                                                  \
	X(FLASH_CONVERT_ITEMS, "items given a bucket")                                             \
	X(FLASH_CONVERT_LOST, "items for which there was none")                                    \
	X(FLASH_CONVERT_SEGMENTS, "segments read, once a pass")                                    \
	X(FLASH_CONVERT_UNREAD, "segments, or their ends, left out: they could not be read")       \
	X(FLASH_CONVERT_ENDED, "conversions that came to nothing")                                 \
	X(FLASH_CONVERT_PAGES, "pages written")

enum flash_convert_counter { FLASH_CONVERT_COUNTERS(COUNTER_SYMBOL) FLASH_CONVERT_COUNTERS_COUNT };
extern const struct counter_name flash_convert_counter_names[FLASH_CONVERT_COUNTERS_COUNT];

struct flash_convert_item {
	uint64_t hash;
	uint32_t location;
	uint32_t at; /* its bytes, until it has a bucket; FLASH_CONVERT_NOWHERE: it has none */
};
#define FLASH_CONVERT_NOWHERE UINT32_MAX

struct flash_convert_config {
	struct flash_shard *shards;
	uint32_t shard_count;        /* with columns, all of one size */
	struct flash_device *device; /* that has FLASH_CONVERT_TRANSFERS more than others need */
	/* FLASH_CONVERT_TRANSFERS segments, then output_pages, of the device's. */
	uint8_t *memory;
	uint32_t output_pages;
	uint32_t reinserted; /* of a column, one in so many bytes; 0: none */
	uint64_t (*hash)(void *arg, struct view key); /* the store's */
	void *arg;
};

struct flash_convert {
	struct flash_convert_config c;
	_Atomic uint32_t stage; /* and the shard's number above STAGE_BITS: one word */
	struct flash_shard *shard;
	uint32_t next_shard;
	uint64_t number;
	uint64_t from, to; /* segments */

	struct flash_convert_item *items;
	uint32_t count, items_max;
	uint32_t *slots; /* items by slot, and one more; 0: none */
	uint64_t *ends;  /* a bit a bucket: the next one begins in a later page */
	uint64_t random;
	uint32_t step;  /* of a stage: item or bucket */
	uint32_t bytes; /* of the column's payload */
	bool placed;    /* of BUILD: all have a bucket */

	/* A pass. */
	uint64_t begun, done; /* segments, or pages */
	bool ended[FLASH_CONVERT_TRANSFERS];
	int32_t error[FLASH_CONVERT_TRANSFERS];
	uint32_t under_way;
	bool did;             /* something, in this call */
	bool failed, stopped; /* it ends as soon as nothing is under way */
	uint32_t cursor;      /* items seen */
	uint32_t page;        /* the output's first */
	bool is_open, writes; /* the output has records; they are written */

	struct {
		uint64_t hash;
		uint8_t bytes[FLASH_COLUMN_RECORD_MAX];
	} again[FLASH_CONVERT_AGAIN];
	uint32_t again_count;
	uint64_t again_left; /* bytes */
	uint32_t old_page, old_at;
	struct counter counters[FLASH_CONVERT_COUNTERS_COUNT]; /* whoever's stage it is writes */
};

/* The stage, in a word. Any thread. */
const char *flash_convert_words(const struct flash_convert *convert);

/* Of columns of so many buckets. */
size_t flash_convert_bytes(uint32_t buckets);
void flash_convert_init(struct flash_convert *convert, struct region *region,
			const struct flash_convert_config *config);

/* False: there was nothing to do. */
bool flash_convert_work(struct flash_convert *convert);
/* The device has ended a transfer with FLASH_CONVERT_TAG. */
void flash_convert_heard(struct flash_convert *convert, uint64_t tag, int32_t error);

/* This shard's turn. */
void flash_convert_turn(struct flash_convert *convert, struct flash_shard *shard);

#endif
