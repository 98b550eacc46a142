/*
 * flash_stats.h - makes rows of `stats` and of `stats extstore` from the tier's counters, summed
 * over cores and shards. A row that means the same as a row of extstore has the same name.
 *
 * Shape:  counters count since the start or the last reset; a reset does not change present
 *         amounts. What extstore calls a page is a segment here.
 * Units:  as in the rows' names; amplification in thousandths.
 * Owner:  struct flash_tier owns it.
 * Thread: any core makes rows, with relaxed accesses; one core at a time resets.
 * Bounds: a row reads all cores, or all shards.
 */
#ifndef CLOCKOO_FLASH_STATS_H
#define CLOCKOO_FLASH_STATS_H

#include "flash_tier.h"

#include "serve/serve_rows.h"

extern const char *const flash_stat_names[], *const flash_extstore_names[];
extern const uint32_t flash_stat_count, flash_extstore_count;

bool flash_stats_row(const struct flash_tier *tier, uint32_t n, struct serve_row *row);
bool flash_stats_extstore_row(const struct flash_tier *tier, uint32_t n, struct serve_row *row);
void flash_stats_reset(struct flash_tier *tier);

#endif
