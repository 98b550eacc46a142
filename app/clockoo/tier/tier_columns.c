/*
 * tier_columns.c - computes places and sizes of shards with columns, makes the converter, and
 * writes the rows at a stop.
 */
#include "tier_columns.h"

#include "base/time_units.h"

#include <stdio.h>
#include <time.h>

#define PAUSE_NS 50000u

size_t
tier_columns_bytes(const struct flash_plan *p)
{
	if (!flash_plan_has_columns(p))
		return 0;
	return sizeof(struct flash_convert) + flash_plan_convert_bytes(p) +
	       flash_plan_transfer_bytes(p);
}

void
tier_columns_shard(struct flash_shard_config *c, const struct flash_plan *p, uint32_t shard)
{
	const struct flash_plan_log *log = flash_plan_log(p, shard);
	const bool has = flash_plan_has_columns(p) && flash_plan_stream(p, shard) == 0;

	c->log.id.shard = shard % (p->shards / p->streams);
	c->log.id.stream = flash_plan_stream(p, shard);
	c->log.offset = flash_plan_offset(p, shard);
	c->log.segments = log->segments;
	c->log.live = log->live;
	c->bucket_count = log->buckets;
	c->column = (struct flash_column_config){0};
	if (has)
		c->column =
			(struct flash_column_config){.count = p->column.count,
						     .buckets = p->column.buckets,
						     .pages = p->column.pages,
						     .offset = flash_plan_column_offset(p, shard)};
}

struct flash_convert *
tier_columns_create(const struct flash_plan *p, struct region *region, struct flash_shard *shards,
		    struct flash_device *device, uint64_t (*hash)(void *arg, struct view key),
		    void *arg)
{
	struct flash_convert_config c = {.shards = shards,
					 .shard_count = p->shards / p->streams,
					 .device = device,
					 .output_pages = flash_plan_output_pages(p),
					 .reinserted = FLASH_REINSERTED,
					 .hash = hash,
					 .arg = arg};
	struct flash_convert *convert;

	if (!flash_plan_has_columns(p))
		return NULL;
	convert = region_take(region, sizeof *convert, CACHE_LINE_BYTES);
	c.memory = region_take(region, flash_plan_transfer_bytes(p), FLASH_PAGE_BYTES);
	flash_convert_init(convert, region, &c);
	return convert;
}

/* ---- a stop ---- */

static bool
wait_until(void *end_ns)
{
	const struct timespec t = {.tv_nsec = PAUSE_NS};

	nanosleep(&t, NULL);
	return clock_ns(CLOCK_MONOTONIC) < *(const uint64_t *)end_ns;
}

void
tier_columns_leave(struct flash_shard *shards, uint32_t count, struct flash_device *device,
		   struct flash_super *super)
{
	bool whole = true;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + TIER_COLUMNS_LEAVE_S * NS_PER_S;
		const struct flash_rows_io io = {device, wait_until, &end_ns};

		if (shards[i].column.count == 0)
			continue;
		super->shard[i].rows = flash_rows_write(&shards[i].column, &io);
		whole &= super->shard[i].rows != 0;
	}
	if (!whole)
		fputs("clockoo: flash.device: not all rows of columns could be written\n", stderr);
}
