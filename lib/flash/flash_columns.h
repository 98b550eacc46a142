/*
 * flash_columns.h - which columns of a shard may have a key: up to 16 cuckoo filters side by side.
 *
 * Shape:  a column is a filter (lib/filter) of four semi-sorted slots of 13 bits a bucket, all
 *         columns with as many buckets; its items lie on flash in the order of its buckets. What a
 *         look reads of one bucket of all columns is one cache line, the lower bytes of the
 *         fingerprints; their digits lie elsewhere, and are read of columns with such a byte. A
 *         used bit a slot and a border bit a bucket are in neither.
 * Units:  hash: as lib/filter has it. Masks: bit n is column n. Pages: from the column's first one.
 * Owner:  the caller: flash_columns_bytes of its memory, which may outlive the process: whoever
 *         attaches it again has the columns as they were.
 * Thread: looks, flash_columns_use, _used and _pages: any, without a lock. Changes: one at a time.
 *         A column is put while no look and no erasure sees it.
 * Errors: FLASH_COLUMNS_TORN: changes came in FLASH_COLUMNS_TRIES times; look where none come.
 * Bounds: a look reads two lines, and of 16 full columns the digits of 0.45 buckets. An absent key
 *         is found in 0.0070 of looks at them. 1.87 bytes an item at 0.955 full.
 *
 * Invariants (tests/unit/flash/test_flash_columns):
 * - A look finds every fingerprint that its columns' filters would, at one instant within it.
 * - An erasure takes all fingerprints that match in the columns named, seen by looks or not.
 * - A used bit stays with its fingerprint. It is a hint: one set beside an erasure may be lost.
 */
#ifndef CLOCKOO_FLASH_COLUMNS_H
#define CLOCKOO_FLASH_COLUMNS_H

#include "base/region.h"
#include "filter/filter.h"

#include <stdatomic.h>

#define FLASH_COLUMNS        16u
#define FLASH_COLUMN_SLOTS   4u
#define FLASH_COLUMN_BITS    13u
#define FLASH_COLUMN_MATCHES (2 * FLASH_COLUMNS)
#define FLASH_COLUMNS_TRIES  8u
#define FLASH_COLUMNS_TORN   UINT32_MAX
#define FLASH_BORDERS_A_LINE 448u

struct flash_column_lows {
	_Alignas(64) _Atomic uint32_t of[FLASH_COLUMNS];
};

struct flash_column_digits {
	_Atomic uint16_t low[FLASH_COLUMNS]; /* of the code of four digits; */
	_Atomic uint64_t high;               /* its upper four bits, of each column */
	_Atomic uint64_t used;               /* four bits of each column */
};
static_assert(sizeof(struct flash_column_lows) + sizeof(struct flash_column_digits) == 112,
	      "what FLASH.md counts of a bucket");

struct flash_column_borders {
	_Alignas(64) uint64_t before; /* in the column, before this line */
	uint64_t bits[FLASH_BORDERS_A_LINE / 64];
};

/* In front of the rows, and kept as they are. */
struct flash_columns_kept {
	_Alignas(64) _Atomic uint32_t sequence; /* odd while what a look sees is changed */
	_Atomic uint32_t visible;               /* columns that looks see */
	_Atomic uint32_t torn;                  /* bucket that is written, plus 1; 0: none */
	_Atomic uint32_t torn_column;           /* of this column */
	uint32_t pages[FLASH_COLUMNS];          /* on flash; the caller's, as are */
	uint64_t number[FLASH_COLUMNS];         /* of a column, never twice, and */
	uint64_t last;                          /* the last one's */
	uint64_t salt;                          /* of their pages' sequences, of a cold start */
	_Atomic uint32_t items[FLASH_COLUMNS];  /* fingerprints, but for one bucket after a kill */
};

struct flash_columns {
	struct filter_shape shape;
	struct flash_columns_kept *kept;
	struct flash_column_lows *lows;
	struct flash_column_digits *digits;
	struct flash_column_borders *borders; /* a column's lie together */
};

/* A bucket of a column that has the fingerprint of a hash, in these of its slots. */
struct flash_column_match {
	uint32_t bucket;
	uint8_t column, slots;
};

/* Of a column's filter with this many buckets: what filter_init is to make. */
struct filter_shape flash_column_shape(uint32_t buckets);

size_t flash_columns_bytes(uint32_t buckets);
void flash_columns_init(struct flash_columns *columns, struct region *region, uint32_t buckets);
/* The same over memory that a process has left, at a multiple of CACHE_LINE_BYTES. A bucket that it
 * was writing is empty. An erasure may be half done: nobody was told of it. */
void flash_columns_attach(struct flash_columns *columns, uint8_t *memory, uint32_t buckets);

/* ---- looking ---- */

/* Where a hash is looked for; what a look reads first comes into the cache meanwhile. */
struct filter_place flash_columns_fetch(const struct flash_columns *columns, uint64_t hash);

/* Which bytes of a hash's two rows were its fingerprint's, at a sequence: as long as that stands,
 * they are. */
struct flash_columns_seen {
	uint32_t sequence;
	uint64_t same[2];
};
/* Once that is here: the rows are read, and what a look reads next comes meanwhile. */
void flash_columns_fetch_digits(const struct flash_columns *columns,
				const struct filter_place *place, struct flash_columns_seen *seen);

/* Does a look find nothing now, whenever the rows were seen? False: nothing is said. */
bool flash_columns_lack(const struct flash_columns *columns, const struct filter_place *place,
			const struct flash_columns_seen *seen);

/* All buckets that match, FLASH_COLUMN_MATCHES at most. Returns how many, or FLASH_COLUMNS_TORN. */
uint32_t flash_columns_look(const struct flash_columns *columns, const struct filter_place *place,
			    struct flash_column_match *found);

/* Steps when something that a look may have seen is gone. */
static inline uint32_t
flash_columns_sequence(const struct flash_columns *c)
{
	/* Acquire: pairs with the release of changes. */
	return atomic_load_explicit(&c->kept->sequence, memory_order_acquire);
}

/* Fingerprints of the columns that looks see. Any thread. */
uint64_t flash_columns_items(const struct flash_columns *columns);

/* The pages that a bucket's records lie in; returns how many, one or two. */
uint32_t flash_columns_pages(const struct flash_columns *columns, uint32_t column, uint32_t bucket,
			     uint32_t *first);

/* Sets used bits. Returns whether all of them were set before. */
bool flash_columns_use(struct flash_columns *columns, const struct flash_column_match *match);
/* A bucket's used bits, by slot. */
uint32_t flash_columns_used(const struct flash_columns *columns, uint32_t column, uint32_t bucket);
/* Was one of a column's used that match? Beside changes, a hint. And: all of them are. */
bool flash_columns_is_used(const struct flash_columns *columns, uint64_t hash, uint32_t column);
void flash_columns_use_hash(struct flash_columns *columns, uint64_t hash, uint32_t column);

/* ---- changing ---- */

/* A bucket of a column that is made: fingerprints in ascending order, 0 is none; ends_page: the
 * next bucket begins in a later page. Bucket 0 first, none left out. */
void flash_columns_put(struct flash_columns *columns, uint32_t column, uint32_t bucket,
		       const uint32_t fingerprints[FLASH_COLUMN_SLOTS], bool ends_page);

/* The columns that looks see from now on. */
void flash_columns_show(struct flash_columns *columns, uint32_t visible);

/* Takes away all that matches in these columns, which are put. Returns those that had some. */
uint32_t flash_columns_erase(struct flash_columns *columns, uint64_t hash, uint32_t of);

/* Under the caller's lock: has any of these columns the fingerprint? Returns which. */
uint32_t flash_columns_having(const struct flash_columns *columns, uint64_t hash, uint32_t of);

#endif
