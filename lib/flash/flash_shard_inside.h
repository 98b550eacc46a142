/*
 * flash_shard_inside.h - what a restart does to a shard, too.
 *
 * Thread: under the shard's lock.
 */
#ifndef CLOCKOO_FLASH_SHARD_INSIDE_H
#define CLOCKOO_FLASH_SHARD_INSIDE_H

#include "flash_shard.h"

#define FLASH_JOURNAL_BYTES 16u

/* A tombstone, flush or drop, or U. */
void flash_shard_journal(struct flash_shard *s, enum flash_kind kind, uint64_t number);
/* Takes all entries out that are dead. */
void flash_shard_sweep(struct flash_shard *s);
/* Everything that is there is dead. */
void flash_shard_kill_all(struct flash_shard *s);
/* What lies before this position is dead. */
void flash_shard_mark(struct flash_shard *s, uint64_t mark);
/* All that match, journaled first. */
void flash_shard_forget(struct flash_shard *s, uint64_t hash);

static inline void
flash_shard_count(struct flash_shard *s, enum flash_counter what, uint64_t n)
{
	counter_add(&s->counters[what], n);
}

/* Room for a record, in another segment if need be; may it be an entry? */
bool flash_shard_make_place(struct flash_shard *s, const struct flash_record *record,
			    struct flash_reserved *reserved);

/* ---- flash_shard_columns.c ---- */

static inline bool
flash_has_columns(const struct flash_shard *s)
{
	return s->column.count != 0;
}

void flash_shard_columns_init(struct flash_shard *s, const struct flash_column_config *config);
/* A flush: they are nobody's, the one that is made included. */
void flash_shard_columns_hide(struct flash_shard *s);
/* Those that match, as flash_columns_look; not under the lock. */
uint32_t flash_shard_columns_look(const struct flash_shard *s, const struct filter_place *place,
				  struct flash_candidate *at);
/* In a turn: is the next one due? */
void flash_shard_columns_turn(struct flash_shard *s);

#endif
