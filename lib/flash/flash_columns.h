/*
 * flash_columns.h - states which columns of a shard may have a key: up to 16 cuckoo filters side
 * by side.
 *
 * Shape:  a column is a filter (lib/filter) of four semi-sorted slots of 13 bits a bucket, with
 *         the same number of buckets in all columns; its items lie on flash in the order of its
 *         buckets. A lookup reads one cache line for a bucket of all columns, with the lower
 *         bytes of the fingerprints. The digits lie elsewhere, and are read only for columns with
 *         a matching byte. Each slot has a used bit and each bucket a border bit, stored apart.
 * Units:  hash: as in lib/filter. Masks: bit n is column n. Pages count from the column's first
 *         one.
 * Owner:  the caller, who provides flash_columns_bytes of memory. It may outlive the process: a
 *         successor that attaches it has the columns as they were.
 * Thread: lookups, flash_columns_use, _used and _pages: any, without a lock. Changes: one at a
 *         time. A column is put while it is invisible to lookups and erasures.
 * Errors: FLASH_COLUMNS_TORN: FLASH_COLUMNS_TRIES lookups were interrupted by changes; look up
 *         again while there are none.
 * Bounds: a lookup reads two lines, and with 16 full columns the digits of 0.45 buckets. An
 *         absent key is found by 0.0070 of those lookups. 1.87 bytes an item at 0.955 full.
 *
 * Invariants (tests/unit/flash/test_flash_columns):
 * - A lookup finds every fingerprint that its columns' filters would find at one instant within
 *   it.
 * - An erasure removes all matching fingerprints in the given columns, visible to lookups or not.
 * - A used bit stays with its fingerprint. It is a hint: one set during an erasure may be lost.
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
	_Atomic uint16_t low[FLASH_COLUMNS]; /* lower bits of the code of four digits */
	_Atomic uint64_t high;               /* upper four bits of the code of each column */
	_Atomic uint64_t used;               /* four bits for each column */
};
static_assert(sizeof(struct flash_column_lows) + sizeof(struct flash_column_digits) == 112,
	      "what FLASH.md counts of a bucket");

struct flash_column_borders {
	_Alignas(64) uint64_t before; /* pages in the column before this line */
	uint64_t bits[FLASH_BORDERS_A_LINE / 64];
};

/* Fields before the rows, which outlive the process with them. */
struct flash_columns_kept {
	_Alignas(64) _Atomic uint32_t sequence; /* odd during a change to what lookups see */
	_Atomic uint32_t visible;               /* columns that lookups see */
	_Atomic uint32_t torn;                  /* bucket being written, plus 1; 0: none */
	_Atomic uint32_t torn_column;           /* column of that bucket */
	uint32_t pages[FLASH_COLUMNS];          /* pages on flash; set by the caller */
	uint64_t number[FLASH_COLUMNS]; /* number of each column, never reused; set by the caller */
	uint64_t last;                  /* the last number; set by the caller */
	uint64_t salt;                  /* part of their pages' sequences, from a cold start */
	_Atomic uint32_t items[FLASH_COLUMNS]; /* fingerprints; a kill may miscount one bucket */
};

struct flash_columns {
	struct filter_shape shape;
	struct flash_columns_kept *kept;
	struct flash_column_lows *lows;
	struct flash_column_digits *digits;
	struct flash_column_borders *borders; /* a column's borders lie together */
};

/* A bucket of a column whose slots have the fingerprint of a hash. */
struct flash_column_match {
	uint32_t bucket;
	uint8_t column, slots;
};

/* Returns the shape of a column's filter with this many buckets, for filter_init. */
struct filter_shape flash_column_shape(uint32_t buckets);

size_t flash_columns_bytes(uint32_t buckets);
void flash_columns_init(struct flash_columns *columns, struct region *region, uint32_t buckets);
/* Initialises as flash_columns_init does, over memory that a process has left, at a multiple of
 * CACHE_LINE_BYTES. A bucket that it was writing becomes empty. An erasure may be half done; no
 * client received an answer that it is. */
void flash_columns_attach(struct flash_columns *columns, uint8_t *memory, uint32_t buckets);

/* ---- lookups ---- */

/* Returns the place of a hash, and prefetches what a lookup reads first. */
struct filter_place flash_columns_fetch(const struct flash_columns *columns, uint64_t hash);

/* The bytes of a hash's two rows that matched its fingerprint at a sequence. They are valid as
 * long as the sequence is unchanged. */
struct flash_columns_seen {
	uint32_t sequence;
	uint64_t same[2];
};
/* Reads the rows that flash_columns_fetch prefetched, and prefetches what a lookup reads next. */
void flash_columns_fetch_digits(const struct flash_columns *columns,
				const struct filter_place *place, struct flash_columns_seen *seen);

/* True if a lookup would find nothing now; the rows may have been read before. False: unknown. */
bool flash_columns_lack(const struct flash_columns *columns, const struct filter_place *place,
			const struct flash_columns_seen *seen);

/* Finds all buckets that match, at most FLASH_COLUMN_MATCHES. Returns their number, or
 * FLASH_COLUMNS_TORN. */
uint32_t flash_columns_look(const struct flash_columns *columns, const struct filter_place *place,
			    struct flash_column_match *found);

/* Returns the sequence, which changes when a lookup's finding may have been removed. */
static inline uint32_t
flash_columns_sequence(const struct flash_columns *c)
{
	/* Acquire: pairs with the release of changes. */
	return atomic_load_explicit(&c->kept->sequence, memory_order_acquire);
}

/* Returns the fingerprints of the visible columns. Any thread. */
uint64_t flash_columns_items(const struct flash_columns *columns);

/* Finds the pages of a bucket's records. Returns their number, one or two. */
uint32_t flash_columns_pages(const struct flash_columns *columns, uint32_t column, uint32_t bucket,
			     uint32_t *first);

/* Sets used bits. Returns whether all of them were set before. */
bool flash_columns_use(struct flash_columns *columns, const struct flash_column_match *match);
/* Returns a bucket's used bits, by slot. */
uint32_t flash_columns_used(const struct flash_columns *columns, uint32_t column, uint32_t bucket);
/* flash_columns_is_used: true if a matching slot of a column was used; during changes a hint.
 * flash_columns_use_hash: marks all matching slots. */
bool flash_columns_is_used(const struct flash_columns *columns, uint64_t hash, uint32_t column);
void flash_columns_use_hash(struct flash_columns *columns, uint64_t hash, uint32_t column);

/* ---- changes ---- */

/* Puts a bucket of a new column: fingerprints in ascending order, 0 is none; ends_page: the next
 * bucket begins in a later page. All buckets are put, from bucket 0 on. */
void flash_columns_put(struct flash_columns *columns, uint32_t column, uint32_t bucket,
		       const uint32_t fingerprints[FLASH_COLUMN_SLOTS], bool ends_page);

/* Makes these columns the ones that lookups see. */
void flash_columns_show(struct flash_columns *columns, uint32_t visible);

/* Erases all that matches in these columns, which are put. Returns the columns that had some. */
uint32_t flash_columns_erase(struct flash_columns *columns, uint64_t hash, uint32_t of);

/* Returns which of these columns have the fingerprint, under the caller's lock. */
uint32_t flash_columns_having(const struct flash_columns *columns, uint64_t hash, uint32_t of);

#endif
