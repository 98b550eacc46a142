/*
 * flash_plan.c - shards, segments and buckets from the bytes of a device.
 */
#include "flash_plan.h"

#define SPARE_PART       16u  /* of the segments: being emptied */
#define FULL_IN_THOUSAND 986u /* of the index's slots (flash_index.h) */

static uint32_t
shards_of(uint64_t device_bytes)
{
	uint32_t shards = 1;

	while (shards < FLASH_SHARDS_MAX && device_bytes / (2 * shards) >= FLASH_SHARD_BYTES)
		shards *= 2;
	return shards;
}

void
flash_plan_make(struct flash_plan *p, uint64_t device_bytes, uint32_t item_bytes)
{
	const uint64_t payload = (uint64_t)(FLASH_SEGMENT_PAGES - 1) * FLASH_PAYLOAD_BYTES;
	uint64_t buckets;

	ensure(device_bytes >= FLASH_PLAN_MIN && device_bytes <= FLASH_PLAN_MAX && item_bytes != 0);
	p->shards = shards_of(device_bytes);
	p->segments = (uint32_t)((device_bytes / FLASH_SEGMENT_BYTES - 1) / p->shards);
	p->live = p->segments - p->segments / SPARE_PART;
	buckets = p->live * payload / item_bytes * 1000 / (FULL_IN_THOUSAND * BUCKET_SLOTS);
	buckets = buckets < INDEX_BUCKETS_MIN ? INDEX_BUCKETS_MIN : buckets + buckets % 2;
	ensure(buckets <= UINT32_MAX);
	p->buckets = (uint32_t)buckets;
	p->items = p->shards * (p->live * payload / item_bytes);
}

uint64_t
flash_plan_offset(const struct flash_plan *p, uint32_t shard)
{
	return (1 + (uint64_t)shard * p->segments) * FLASH_SEGMENT_BYTES;
}

uint64_t
flash_plan_index_bytes(const struct flash_plan *p)
{
	return (uint64_t)p->shards * p->buckets * sizeof(struct bucket);
}

uint64_t
flash_plan_buffer_bytes(const struct flash_plan *p)
{
	return (uint64_t)p->shards * FLASH_BUFFERS * FLASH_SEGMENT_BYTES;
}
