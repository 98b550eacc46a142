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
/* All entries that match, journaled first. */
void flash_shard_forget(struct flash_shard *s, uint64_t hash);

#endif
