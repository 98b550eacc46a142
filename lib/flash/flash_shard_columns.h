/*
 * flash_shard_columns.h - what makes a column of a shard's log, and ends one (C, R, G of FLASH.md).
 *
 * Shape:  a column is begun, which ends the oldest if there is no place for it; its data are
 *         written; its buckets are put; then it is erased from as the others are; then each of its
 *         items is checked; then it is shown, and the segments that it was made of are dead. A
 *         flush ends a column that is made: `building` is another then.
 * Units:  number: of a column, from 1. page: from the column's first.
 * Thread: under the shard's lock; _offset and _sequence: any.
 * Bounds: a bucket, an item at a time.
 */
#ifndef CLOCKOO_FLASH_SHARD_COLUMNS_H
#define CLOCKOO_FLASH_SHARD_COLUMNS_H

#include "flash_shard.h"

#define FLASH_COLUMN_NUMBER_SHIFT 24u /* in the sequence of its pages */
/* Four of them lie in two pages. */
#define FLASH_COLUMN_RECORD_MAX (FLASH_PAYLOAD_BYTES / FLASH_COLUMN_SLOTS - 4)

#define FLASH_COLUMN_FILL 960u /* of 1000 slots */

uint64_t flash_column_sequence(const struct flash_shard *s, uint64_t number);
uint64_t flash_column_offset(const struct flash_shard *s, uint64_t number, uint32_t page);

/* Is there enough in the log for a column? The oldest segment of it; the next column. Any thread.
 */
bool flash_column_is_due(const struct flash_shard *s);
uint64_t flash_column_log_first(const struct flash_shard *s);
uint64_t flash_column_next(const struct flash_shard *s);
/* Do looks see it? Any thread. */
bool flash_column_is_shown(const struct flash_shard *s, uint64_t number);

/* Returns its number, which is `building` until it is shown, or not wanted any more. */
uint64_t flash_column_begin(struct flash_shard *s);
void flash_column_put(struct flash_shard *s, uint32_t bucket,
		      const uint32_t fingerprints[FLASH_COLUMN_SLOTS], bool ends_page);
void flash_column_is_put(struct flash_shard *s);
/* Is what was copied still the entry? If not, it goes. */
void flash_column_check(struct flash_shard *s, uint64_t hash, uint64_t sequence, uint32_t location);
/* What the log has up to this segment is in the column, or nowhere. */
void flash_column_show(struct flash_shard *s, uint32_t pages, uint64_t to);
/* Nothing of it is needed, or can be read. */
void flash_column_skip(struct flash_shard *s, uint64_t to);

/* An item of a visible column into the log, if its fingerprint is there. */
bool flash_column_reinsert(struct flash_shard *s, uint64_t number, uint64_t hash,
			   const struct flash_record *record, const uint8_t *value);

#endif
