/*
 * flash_shard_columns.h - makes a column from a shard's log, and ends the oldest one (C, R, G of
 * FLASH.md).
 *
 * Shape:  a column is made in steps. It is begun, which ends the oldest column if all places are
 *         taken. Its data are written. The rows of its buckets are put; from then on erasures
 *         include it. Each of its items is checked against the index. It is shown; then the
 *         segments from which it was made are dead. A flush ends a column that is being made, which
 *         shows in `building`.
 * Units:  number: of a column, from 1 on. page: counts from the column's first page.
 * Thread: under the shard's lock; _offset and _sequence: any thread.
 * Bounds: each call handles one bucket or one item.
 */
#ifndef CLOCKOO_FLASH_SHARD_COLUMNS_H
#define CLOCKOO_FLASH_SHARD_COLUMNS_H

#include "flash_shard.h"

/* Bit at which the column's number begins in the sequences of its pages. */
#define FLASH_COLUMN_NUMBER_SHIFT 24u
/* Four records of this size fit into two pages. */
#define FLASH_COLUMN_RECORD_MAX (FLASH_PAYLOAD_BYTES / FLASH_COLUMN_SLOTS - 4)

#define FLASH_COLUMN_FILL 960u /* slots that a full column uses, of 1,000 */

uint64_t flash_column_sequence(const struct flash_shard *s, uint64_t number);
uint64_t flash_column_offset(const struct flash_shard *s, uint64_t number, uint32_t page);

/* flash_column_is_due: true if the log has enough items or bytes for a column.
 * flash_column_log_first: returns the log's oldest segment. flash_column_next: returns the next
 * column's number. Any thread. */
bool flash_column_is_due(const struct flash_shard *s);
uint64_t flash_column_log_first(const struct flash_shard *s);
uint64_t flash_column_next(const struct flash_shard *s);
/* True if lookups see the column. Any thread. */
bool flash_column_is_shown(const struct flash_shard *s, uint64_t number);

/* Begins a column. Returns its number, which is in `building` until the column is shown or
 * ended. */
uint64_t flash_column_begin(struct flash_shard *s);
void flash_column_put(struct flash_shard *s, uint32_t bucket,
		      const uint32_t fingerprints[FLASH_COLUMN_SLOTS], bool ends_page);
void flash_column_is_put(struct flash_shard *s);
/* Checks an item of the new column: erases it there if its copied record is no longer the index's
 * entry. Otherwise copies the used bit of the entry. */
void flash_column_check(struct flash_shard *s, uint64_t hash, uint64_t sequence, uint32_t location);
/* Ends the column that is being made, if there is one. Must be called when the log loses a segment:
 * the column may have items of that segment, which no lookup finds any more, so that an erasure
 * would leave them in the column. */
void flash_column_end(struct flash_shard *s);
/* Shows the column. It has all live items of the log up to segment `to`; the records of these
 * segments are now dead. */
void flash_column_show(struct flash_shard *s, uint32_t pages, uint64_t to);
/* Makes the records up to segment `to` dead without making a column, since no live item is among
 * them. */
void flash_column_skip(struct flash_shard *s, uint64_t to);

/* Adds an item of a visible column to the log again. False: the column no longer has its
 * fingerprint, or there is no room. */
bool flash_column_reinsert(struct flash_shard *s, uint64_t number, uint64_t hash,
			   const struct flash_record *record, const uint8_t *value);

#endif
