/*
 * flash_shard_inside.h - functions of a shard that a restart uses, too.
 *
 * Thread: under the shard's lock.
 */
#ifndef CLOCKOO_FLASH_SHARD_INSIDE_H
#define CLOCKOO_FLASH_SHARD_INSIDE_H

#include "flash_shard.h"

#define FLASH_JOURNAL_BYTES 16u

/* Appends a tombstone, flush, drop or U to the log. */
void flash_shard_journal(struct flash_shard *s, enum flash_kind kind, uint64_t number);
/* Removes all dead entries. */
void flash_shard_sweep(struct flash_shard *s);
/* Makes everything present dead. */
void flash_shard_kill_all(struct flash_shard *s);
/* Makes everything before this position dead. */
void flash_shard_mark(struct flash_shard *s, uint64_t mark);
/* Removes all entries that match, after journaling it. */
void flash_shard_forget(struct flash_shard *s, uint64_t hash);

static inline void
flash_shard_count(struct flash_shard *s, enum flash_counter what, uint64_t n)
{
	counter_add(&s->counters[what], n);
}

/* Reserves room for a record, in another segment if necessary. True if it may become an entry. */
bool flash_shard_make_place(struct flash_shard *s, const struct flash_record *record,
			    struct flash_reserved *reserved);

/* ---- flash_shard_columns.c ---- */

static inline bool
flash_has_columns(const struct flash_shard *s)
{
	return s->column.count != 0;
}

void flash_shard_columns_init(struct flash_shard *s, const struct flash_column_config *config);
/* Handles a flush: all columns become invalid, including one that is being made. */
void flash_shard_columns_hide(struct flash_shard *s);
/* Finds the candidates that match, as flash_columns_look; without the lock. */
uint32_t flash_shard_columns_look(const struct flash_shard *s, const struct filter_place *place,
				  struct flash_candidate *at);
/* Checks once a turn whether the next column is due. */
void flash_shard_columns_turn(struct flash_shard *s);

#endif
