/*
 * flash_columns.h - up to 16 cuckoo filters side by side, which show in which columns of a shard a
 * key may be.
 *
 * Shape:  a column is a filter (lib/filter) with four slots of 13 bits in a bucket. The
 *         fingerprints of a bucket are sorted by their upper digits, so that these four digits can
 *         be stored as one code (lib/filter). All columns have the same number of buckets. A
 *         column's items lie on flash in the order of its buckets. A lookup reads one cache line
 *         for a bucket of all columns, with the lower bytes of the fingerprints. The digits are
 *         elsewhere, and are read only for columns with a matching byte. Each slot has a used bit,
 *         and each bucket a border bit; both are stored apart.
 * Units:  hash: as in lib/filter. Masks: bit n is column n. A page's number counts from the
 *         column's first page.
 * Owner:  the caller, who provides flash_columns_bytes of memory. The memory may outlive the
 *         process: a successor that attaches it finds the columns as they were.
 * Thread: lookups, flash_columns_use, _used and _pages: any, without a lock. Changes: one at a
 *         time. Rows are put into a column while neither lookups nor erasures see it.
 * Errors: FLASH_COLUMNS_TORN: changes interrupted a lookup FLASH_COLUMNS_TRIES times; the caller
 *         looks up again, or keeps changes out.
 * Bounds: a lookup reads two lines, and in 16 full columns the digits of 0.45 buckets on average.
 *         It finds an absent key in 0.0070 of the cases. An item takes 1.87 bytes when 0.955 of the
 *         slots are full.
 *
 * Invariants (tests/unit/flash/test_flash_columns):
 * - A lookup finds every fingerprint that its columns' filters would find at one instant within
 *   it.
 * - An erasure removes all matching fingerprints in the given columns, visible to lookups or not.
 * - A used bit stays with its fingerprint. It is a hint: a bit that is set during an erasure may be
 *   lost.
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
	/* For each column the lower 16 bits of a bucket's code. */
	_Atomic uint16_t low[FLASH_COLUMNS];
	_Atomic uint64_t high; /* for each column the upper 4 bits of that code */
	/* For each column a used bit for each of the 4 slots. */
	_Atomic uint64_t used;
};
static_assert(sizeof(struct flash_column_lows) + sizeof(struct flash_column_digits) == 112,
	      "what FLASH.md counts of a bucket");

struct flash_column_borders {
	_Alignas(64) uint64_t before; /* pages in the column before this line */
	uint64_t bits[FLASH_BORDERS_A_LINE / 64];
};

/* The fields before the rows. Like the rows, they outlive the process. */
struct flash_columns_kept {
	_Alignas(64) _Atomic uint32_t sequence; /* odd during a change to what lookups see */
	_Atomic uint32_t visible;               /* columns that lookups see */
	/* Number of the bucket being written, plus 1; 0: none is. */
	_Atomic uint32_t torn;
	_Atomic uint32_t torn_column;  /* the column of that bucket */
	uint32_t pages[FLASH_COLUMNS]; /* pages of each column on flash; the caller sets them */
	/* Number of each column; none is used twice. The caller sets them. */
	uint64_t number[FLASH_COLUMNS];
	uint64_t last; /* the last number given to a column; set by the caller */
	/* A random number drawn at the last cold start; a part of the sequences of the columns'
	 * pages. */
	uint64_t salt;
	/* Number of fingerprints in each column. After a kill it may be wrong by those of one
	 * bucket. */
	_Atomic uint32_t items[FLASH_COLUMNS];
};

struct flash_columns {
	struct filter_shape shape;
	struct flash_columns_kept *kept;
	struct flash_column_lows *lows;
	struct flash_column_digits *digits;
	struct flash_column_borders *borders; /* the borders of one column are contiguous */
};

/* A bucket of a column, and a mask of those of its slots that have the fingerprint of a hash. */
struct flash_column_match {
	uint32_t bucket;
	uint8_t column, slots;
};

/* Returns the shape of a column's filter with this many buckets, for filter_init. */
struct filter_shape flash_column_shape(uint32_t buckets);

size_t flash_columns_bytes(uint32_t buckets);
void flash_columns_init(struct flash_columns *columns, struct region *region, uint32_t buckets);
/* Initialises as flash_columns_init does, over memory that another process has left, aligned to
 * CACHE_LINE_BYTES. A bucket that was being written becomes empty. An interrupted erasure may be
 * half done, which is harmless: no client has received its answer. */
void flash_columns_attach(struct flash_columns *columns, uint8_t *memory, uint32_t buckets);

/* ---- lookups ---- */

/* Returns the place of a hash, and prefetches what a lookup reads first. */
struct filter_place flash_columns_fetch(const struct flash_columns *columns, uint64_t hash);

/* The result of flash_columns_fetch_digits: which bytes of the hash's two rows match its
 * fingerprint, and the sequence at that time. The result is valid while the sequence stays the
 * same. */
struct flash_columns_seen {
	uint32_t sequence;
	uint64_t same[2];
};
/* Reads the rows that flash_columns_fetch has prefetched, and prefetches what a lookup reads
 * next. */
void flash_columns_fetch_digits(const struct flash_columns *columns,
				const struct filter_place *place, struct flash_columns_seen *seen);

/* True if a lookup would find nothing now. The rows may have been compared earlier. False: not
 * known. */
bool flash_columns_lack(const struct flash_columns *columns, const struct filter_place *place,
			const struct flash_columns_seen *seen);

/* Finds all buckets that match, at most FLASH_COLUMN_MATCHES. Returns their number, or
 * FLASH_COLUMNS_TORN. */
uint32_t flash_columns_look(const struct flash_columns *columns, const struct filter_place *place,
			    struct flash_column_match *found);

/* Returns the sequence. It changes before anything is removed that a lookup may have found. */
static inline uint32_t
flash_columns_sequence(const struct flash_columns *c)
{
	/* Acquire: pairs with the release in change_begin. */
	return atomic_load_explicit(&c->kept->sequence, memory_order_acquire);
}

/* Returns the number of fingerprints in the visible columns. Any thread. */
uint64_t flash_columns_items(const struct flash_columns *columns);

/* Finds the pages of a bucket's records. Returns their number, one or two. */
uint32_t flash_columns_pages(const struct flash_columns *columns, uint32_t column, uint32_t bucket,
			     uint32_t *first);

/* Sets the used bits of the matching slots. True if all of them were set before. */
bool flash_columns_use(struct flash_columns *columns, const struct flash_column_match *match);
/* Returns a mask of the slots of a bucket whose used bit is set. */
uint32_t flash_columns_used(const struct flash_columns *columns, uint32_t column, uint32_t bucket);
/* flash_columns_is_used: true if the used bit of a matching slot is set; a hint while the column
 * changes. flash_columns_use_hash: sets the used bits of all matching slots. */
bool flash_columns_is_used(const struct flash_columns *columns, uint64_t hash, uint32_t column);
void flash_columns_use_hash(struct flash_columns *columns, uint64_t hash, uint32_t column);

/* ---- changes ---- */

/* Puts a bucket into a new column. The fingerprints are in ascending order; 0: an empty slot.
 * ends_page: the records of the next bucket begin on a later page. The buckets of a column must be
 * put in order, from 0 to the last. */
void flash_columns_put(struct flash_columns *columns, uint32_t column, uint32_t bucket,
		       const uint32_t fingerprints[FLASH_COLUMN_SLOTS], bool ends_page);

/* Makes the columns of this mask the ones that lookups see. */
void flash_columns_show(struct flash_columns *columns, uint32_t visible);

/* Erases all matching fingerprints from the columns of this mask, all of whose rows are put.
 * Returns a mask of the columns that had some. */
uint32_t flash_columns_erase(struct flash_columns *columns, uint64_t hash, uint32_t of);

/* Returns which of the columns in `of` have the fingerprint, as a mask. Under the caller's lock. */
uint32_t flash_columns_having(const struct flash_columns *columns, uint64_t hash, uint32_t of);

#endif
