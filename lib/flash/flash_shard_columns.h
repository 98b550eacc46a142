/*
 * flash_shard_columns.h - makes a column of a shard's log, and ends one (C, R, G of FLASH.md).
 *
 * Shape:  a column is made in these steps: it is begun, which ends the oldest if there is no
 *         place; its data are written; its buckets are put; from then on erasures include it;
 *         each of its items is checked; it is shown, and the segments that it was made from are
 *         dead. A flush ends a column that is being made, which changes `building`.
 * Units:  number: a column's, from 1. page: from the column's first one.
 * Thread: under the shard's lock; _offset and _sequence: any thread.
 * Bounds: a bucket, an item at a time.
 */
#ifndef CLOCKOO_FLASH_SHARD_COLUMNS_H
#define CLOCKOO_FLASH_SHARD_COLUMNS_H

#include "flash_shard.h"

#define FLASH_COLUMN_NUMBER_SHIFT 24u /* position in the sequence of its pages */
/* Four records of this size fit into two pages. */
#define FLASH_COLUMN_RECORD_MAX (FLASH_PAYLOAD_BYTES / FLASH_COLUMN_SLOTS - 4)

#define FLASH_COLUMN_FILL 960u /* fill of a column, per thousand slots */

uint64_t flash_column_sequence(const struct flash_shard *s, uint64_t number);
uint64_t flash_column_offset(const struct flash_shard *s, uint64_t number, uint32_t page);

/* flash_column_is_due: true if the log has enough for a column. flash_column_log_first: the
 * oldest segment of it. flash_column_next: the next column's number. Any thread. */
bool flash_column_is_due(const struct flash_shard *s);
uint64_t flash_column_log_first(const struct flash_shard *s);
uint64_t flash_column_next(const struct flash_shard *s);
/* True if lookups see the column. Any thread. */
bool flash_column_is_shown(const struct flash_shard *s, uint64_t number);

/* Begins a column. Returns its number, which `building` has until the column is shown or given
 * up. */
uint64_t flash_column_begin(struct flash_shard *s);
void flash_column_put(struct flash_shard *s, uint32_t bucket,
		      const uint32_t fingerprints[FLASH_COLUMN_SLOTS], bool ends_page);
void flash_column_is_put(struct flash_shard *s);
/* Erases an item from the new column if its copied record is not the index's entry any more. */
void flash_column_check(struct flash_shard *s, uint64_t hash, uint64_t sequence, uint32_t location);
/* Ends the column that is being made, if there is one: items that it has of a segment that the log
 * lost are in no lookup, so an erasure passes them over. */
void flash_column_end(struct flash_shard *s);
/* Shows the column. It has all that the log has up to this segment; other records there are
 * dead. */
void flash_column_show(struct flash_shard *s, uint32_t pages, uint64_t to);
/* Skips a column: its segments are not needed, or cannot be read. */
void flash_column_skip(struct flash_shard *s, uint64_t to);

/* Puts an item of a visible column into the log again, if its fingerprint is still there. */
bool flash_column_reinsert(struct flash_shard *s, uint64_t number, uint64_t hash,
			   const struct flash_record *record, const uint8_t *value);

#endif
