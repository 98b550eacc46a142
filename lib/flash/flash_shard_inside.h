/*
 * flash_shard_inside.h - functions of a shard that the files of the shard share with the recovery.
 *
 * Thread: under the shard's lock.
 */
#ifndef CLOCKOO_FLASH_SHARD_INSIDE_H
#define CLOCKOO_FLASH_SHARD_INSIDE_H

#include "flash_shard.h"

#define FLASH_JOURNAL_BYTES 16u

/* Appends a TOMB, FLUSH or DROP to the log. If there is no room, notes that the next start must be
 * cold (U). */
void flash_shard_journal(struct flash_shard *s, enum flash_kind kind, uint64_t number);
/* Removes all dead entries. */
void flash_shard_sweep(struct flash_shard *s);
/* Makes all present records of the shard dead. */
void flash_shard_kill_all(struct flash_shard *s);
/* Makes all records before this position dead. */
void flash_shard_mark(struct flash_shard *s, uint64_t mark);
/* Journals a tombstone, and removes all entries that match. */
void flash_shard_forget(struct flash_shard *s, uint64_t hash);

static inline void
flash_shard_count(struct flash_shard *s, enum flash_counter what, uint64_t n)
{
	counter_add(&s->counters[what], n);
}

/* Reserves room for a record, in the next segment if necessary. False: there is none. */
bool flash_shard_make_place(struct flash_shard *s, const struct flash_record *record,
			    struct flash_reserved *reserved);

/* ---- flash_shard_columns.c ---- */

static inline bool
flash_has_columns(const struct flash_shard *s)
{
	return s->column.count != 0;
}

void flash_shard_columns_init(struct flash_shard *s, const struct flash_column_config *config);
/* Handles a flush: all columns become invalid, including the one that is being made. */
void flash_shard_columns_hide(struct flash_shard *s);
/* Lists the candidates of all visible columns, without the lock. Returns their number, or
 * FLASH_COLUMNS_TORN. */
uint32_t flash_shard_columns_look(const struct flash_shard *s, const struct filter_place *place,
				  struct flash_candidate *at);
/* Checks once a turn whether the next column is due. */
void flash_shard_columns_turn(struct flash_shard *s);

#endif
