/*
 * flash_plan.c - computes shards, segments, columns and buckets from the size of a device.
 */
#include "flash_plan.h"

#include "flash_rows.h"

#define SPARE_PART       16u  /* in 1/SPARE_PART of the segments, entries are being removed */
#define SPARE_MIN        2u   /* least number of those segments, with columns */
#define FULL_IN_THOUSAND 986u /* slots of the index in use, of 1,000 (flash_index.h) */
#define COLUMN_FULL      955u /* slots of a column in use, of 1,000 */
/* Live segments in addition to those of a column: for buffers, and for one that does not fit into
 * the column. */
#define MORE_SEGMENTS 4u
#define LARGE_MIN     8u /* least number of segments for large items */

static_assert(CONFIG_FLASH_HASHED == FLASH_COLUMN_RECORD_MAX,
	      "what the options say of layout hash");

static const uint64_t segment_payload = (uint64_t)(FLASH_SEGMENT_PAGES - 1) * FLASH_PAYLOAD_BYTES;

/* ---- layout log ---- */

static uint32_t
doublings(uint64_t device_bytes, uint32_t most)
{
	uint32_t shards = 1;

	while (shards < most && device_bytes / (2 * shards) >= FLASH_SHARD_BYTES)
		shards *= 2;
	return shards;
}

static void
index_of(struct flash_plan_log *log, uint64_t item_bytes)
{
	uint64_t buckets;

	log->items = log->live * segment_payload / item_bytes;
	buckets = log->items * 1000 / (FULL_IN_THOUSAND * BUCKET_SLOTS);
	buckets = buckets < INDEX_BUCKETS_MIN ? INDEX_BUCKETS_MIN : buckets + buckets % 2;
	ensure(buckets <= UINT32_MAX);
	log->buckets = (uint32_t)buckets;
}

static void
make_log(struct flash_plan *p, uint64_t device_bytes, uint32_t item_bytes)
{
	struct flash_plan_log *log = &p->log[0];

	p->streams = 1;
	p->shards = doublings(device_bytes, FLASH_SHARDS_MAX);
	log->segments = (uint32_t)((device_bytes / FLASH_SEGMENT_BYTES - 1) / p->shards);
	log->live = log->segments - log->segments / SPARE_PART;
	index_of(log, item_bytes);
	p->items = p->shards * log->items;
}

/* ---- layout hash ---- */

/* Returns how many segments are needed for this many live ones. */
static uint32_t
with_spare(uint32_t live)
{
	const uint32_t spare = (live + SPARE_PART - 2) / (SPARE_PART - 1);

	return live + (spare < SPARE_MIN ? SPARE_MIN : spare);
}

static void
size_column(struct flash_plan_column *c, uint32_t pages, uint32_t item_bytes)
{
	const uint64_t items = (uint64_t)pages * FLASH_PAYLOAD_BYTES / item_bytes;
	const uint64_t buckets = items * 1000 / (COLUMN_FULL * FLASH_COLUMN_SLOTS) + 1;

	c->count = FLASH_COLUMNS;
	c->pages = pages;
	c->items = items;
	c->buckets = buckets < FILTER_BUCKETS_MIN ? FILTER_BUCKETS_MIN : (uint32_t)buckets;
	c->rows_pages = (uint32_t)(flash_rows_bytes(c->buckets) / FLASH_PAGE_BYTES);
}

/* Computes columns of this many pages, and their log: the segments of one column, a quarter more
 * that fills during a conversion, and a reserve. Returns the pages of log, columns and rows. */
static uint64_t
size_small(struct flash_plan *p, uint32_t pages, uint32_t item_bytes)
{
	const uint32_t in_log = (pages + FLASH_SEGMENT_PAGES - 2) / (FLASH_SEGMENT_PAGES - 1);
	struct flash_plan_log *log = &p->log[0];

	size_column(&p->column, pages, item_bytes);
	log->live = in_log + (in_log + 3) / 4 + MORE_SEGMENTS;
	log->segments = with_spare(log->live);
	return (uint64_t)log->segments * FLASH_SEGMENT_PAGES + (uint64_t)p->column.count * pages +
	       p->column.rows_pages;
}

/* Finds the largest columns for which there is room. */
static void
fit_small(struct flash_plan *p, uint64_t room, uint32_t item_bytes)
{
	uint32_t least = 1, most = (uint32_t)(room / FLASH_COLUMNS);

	while (least < most) {
		const uint32_t middle = least + (most - least + 1) / 2;

		if (size_small(p, middle, item_bytes) <= room)
			least = middle;
		else
			most = middle - 1;
	}
	ensure(size_small(p, least, item_bytes) <= room);
}

static void
make_hash(struct flash_plan *p, uint64_t device_bytes, const struct config_flash *c)
{
	const uint64_t pages = device_bytes / FLASH_PAGE_BYTES - FLASH_SEGMENT_PAGES;
	const uint32_t half = doublings(device_bytes, FLASH_SHARDS_MAX / FLASH_STREAMS);
	const uint64_t of_one = pages / half;
	struct flash_plan_log *large = &p->log[1];
	uint64_t segments = of_one * c->large / 100 / FLASH_SEGMENT_PAGES;

	p->streams = FLASH_STREAMS;
	p->shards = half * FLASH_STREAMS;
	segments = segments < LARGE_MIN ? LARGE_MIN : segments;
	large->segments = segments < FLASH_SLOTS_MAX ? (uint32_t)segments : FLASH_SLOTS_MAX;
	large->live = large->segments - large->segments / SPARE_PART;
	if (large->segments - large->live < SPARE_MIN)
		large->live = large->segments - SPARE_MIN;
	/* The smallest large item is one byte longer than a column's longest record. */
	index_of(large, FLASH_COLUMN_RECORD_MAX + 1);
	fit_small(p, of_one - (uint64_t)large->segments * FLASH_SEGMENT_PAGES, c->item_size);
	index_of(&p->log[0], c->item_size);
	p->items = half * (p->log[0].items + p->column.count * p->column.items);
}

void
flash_plan_make(struct flash_plan *p, uint64_t device_bytes, const struct config_flash *c)
{
	const bool is_small = c->item_size <= FLASH_COLUMN_RECORD_MAX;

	ensure(device_bytes >= FLASH_PLAN_MIN && device_bytes <= FLASH_PLAN_MAX);
	ensure(c->item_size != 0 && (is_small || c->layout != FLASH_LAYOUT_HASH));
	*p = (struct flash_plan){0};
	if (c->layout == FLASH_LAYOUT_HASH ||
	    (c->layout == FLASH_LAYOUT_AUTO && is_small && device_bytes >= FLASH_HASH_FROM))
		make_hash(p, device_bytes, c);
	else
		make_log(p, device_bytes, c->item_size);
}

/* ---- derived figures ---- */

uint32_t
flash_plan_stream(const struct flash_plan *p, uint32_t shard)
{
	return shard / (p->shards / p->streams);
}

const struct flash_plan_log *
flash_plan_log(const struct flash_plan *p, uint32_t shard)
{
	return &p->log[flash_plan_stream(p, shard)];
}

static uint64_t
segments_before(const struct flash_plan *p, uint32_t shard)
{
	const uint32_t half = p->shards / p->streams;
	const uint32_t small = shard < half ? shard : half;

	return (uint64_t)small * p->log[0].segments +
	       (uint64_t)(shard - small) * p->log[1].segments;
}

uint64_t
flash_plan_offset(const struct flash_plan *p, uint32_t shard)
{
	return (1 + segments_before(p, shard)) * FLASH_SEGMENT_BYTES;
}

uint64_t
flash_plan_column_offset(const struct flash_plan *p, uint32_t shard)
{
	const struct flash_plan_column *c = &p->column;
	const uint64_t pages = (uint64_t)c->count * c->pages + c->rows_pages;

	return flash_plan_offset(p, p->shards) + shard * pages * FLASH_PAGE_BYTES;
}

uint64_t
flash_plan_index_bytes(const struct flash_plan *p)
{
	const uint64_t of_one = (uint64_t)p->log[0].buckets + p->log[1].buckets;

	return p->shards / p->streams * of_one * sizeof(struct bucket);
}

uint64_t
flash_plan_buffer_bytes(const struct flash_plan *p)
{
	return (uint64_t)p->shards * FLASH_BUFFERS * FLASH_SEGMENT_BYTES;
}

uint64_t
flash_plan_rows_bytes(const struct flash_plan *p)
{
	return (uint64_t)p->shards / p->streams * p->column.rows_pages * FLASH_PAGE_BYTES;
}

uint32_t
flash_plan_output_pages(const struct flash_plan *p)
{
	return (p->column.pages + FLASH_PASSES - 1) / FLASH_PASSES;
}

uint64_t
flash_plan_transfer_bytes(const struct flash_plan *p)
{
	return !flash_plan_has_columns(p)
		       ? 0
		       : (uint64_t)FLASH_CONVERT_TRANSFERS * FLASH_SEGMENT_BYTES +
				 (uint64_t)flash_plan_output_pages(p) * FLASH_PAGE_BYTES;
}

uint64_t
flash_plan_convert_bytes(const struct flash_plan *p)
{
	return flash_plan_has_columns(p) ? flash_convert_bytes(p->column.buckets) : 0;
}

uint32_t
flash_plan_writes(const struct flash_plan *p)
{
	const uint64_t log = 1000 * FLASH_SEGMENT_BYTES / segment_payload;
	const uint64_t column = 1000 * FLASH_PAGE_BYTES / FLASH_PAYLOAD_BYTES;

	if (!flash_plan_has_columns(p))
		return (uint32_t)log;
	return (uint32_t)((log + column) * FLASH_REINSERTED / (FLASH_REINSERTED - 1));
}
