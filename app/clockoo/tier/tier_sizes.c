/*
 * tier_sizes.c - computes the bytes of each part of the second tier.
 */
#include "tier_sizes.h"
#include "backend/backend.h"
#include "flash/flash_tier.h"
#include "tier_columns.h"

#define PARTS 12u /* parts of the tier's memory, each of them aligned */

struct flash_backend_config
tier_sizes_backend(const struct config *cfg)
{
	return (struct flash_backend_config){.reads_small = TIER_READS_SMALL,
					     .reads_large = TIER_READS_LARGE,
					     .item_max = cfg->flash.item_max_bytes};
}

size_t
tier_sizes_reads(const struct config *cfg)
{
	const struct flash_backend_config c = tier_sizes_backend(cfg);

	return (size_t)flash_backend_pages(&c) * FLASH_PAGE_BYTES;
}

void
tier_sizes_make(struct tier_sizes *z, const struct config *cfg, uint64_t device_bytes)
{
	*z = (struct tier_sizes){.device = device_bytes};
	if (device_bytes == 0)
		return;
	flash_plan_make(&z->plan, device_bytes, &cfg->flash);
	z->index = flash_plan_index_bytes(&z->plan);
	z->buffers = flash_plan_buffer_bytes(&z->plan);
	z->rows = flash_plan_rows_bytes(&z->plan);
	z->convert = tier_columns_bytes(&z->plan);
	z->asks = cfg->cores * (flash_backend_bytes() + backend_bytes());
	z->reads = cfg->cores * tier_sizes_reads(cfg);
	z->packers = cfg->flash.compress ? cfg->cores * sizeof(struct flash_packer) : 0;
	z->ghosts = cfg->flash.admit == FLASH_ADMIT_ALL ? 0 : flash_ghosts_count(z->plan.items);
	z->tables = sizeof(struct flash_tier) + z->plan.shards * sizeof(struct flash_shard);
}

size_t
tier_sizes_bytes(const struct tier_sizes *z)
{
	if (z->device == 0)
		return 0;
	return z->index + z->asks + z->reads + z->tables + z->convert + z->packers + z->ghosts +
	       (PARTS + CORES_MAX) * FLASH_PAGE_BYTES;
}
