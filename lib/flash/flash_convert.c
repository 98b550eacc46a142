/*
 * flash_convert.c - the stages of a conversion: the tier's thread lists the items and assigns
 * buckets, and the owner puts them.
 */
#include "flash_convert.h"
#include "flash_convert_pass.h"

#include "base/prefetch.h"
#include "base/gap.h"

#include <string.h>

#define STEPS      4096u /* items or buckets in one call in stage BUILD */
#define STAGE_BITS 8u
#define STAGE_MASK ((1u << STAGE_BITS) - 1)

const struct counter_name flash_convert_counter_names[FLASH_CONVERT_COUNTERS_COUNT] = {
	FLASH_CONVERT_COUNTERS(COUNTER_NAME)};

size_t
flash_convert_bytes(uint32_t buckets)
{
	const size_t slots = (size_t)buckets * FLASH_COLUMN_SLOTS;

	return slots * (sizeof(struct flash_convert_item) + sizeof(uint32_t)) +
	       ((size_t)buckets / 64 + 1) * sizeof(uint64_t) + 3 * CACHE_LINE_BYTES;
}

void
flash_convert_init(struct flash_convert *c, struct region *region,
		   const struct flash_convert_config *config)
{
	const struct flash_column_config *column = &config->shards[0].column;
	const size_t slots = (size_t)column->buckets * FLASH_COLUMN_SLOTS;

	ensure(column->count != 0 && config->output_pages != 0);
	ensure((uint64_t)column->pages * FLASH_PAGE_BYTES < UINT32_MAX);
	*c = (struct flash_convert){.c = *config, .random = 1};
	c->items_max = (uint32_t)(slots * FLASH_COLUMN_FILL / 1000);
	c->items = region_take(region, slots * sizeof c->items[0], CACHE_LINE_BYTES);
	c->slots = region_take(region, slots * sizeof c->slots[0], CACHE_LINE_BYTES);
	c->ends = region_take(region, (column->buckets / 64 + 1) * sizeof c->ends[0],
			      CACHE_LINE_BYTES);
}

const char *
flash_convert_words(const struct flash_convert *c)
{
	static const char *const words[] = {[FLASH_CONVERT_IDLE] = "idle",
					    [FLASH_CONVERT_LIST] = "lists",
					    [FLASH_CONVERT_BUILD] = "builds",
					    [FLASH_CONVERT_OLD] = "looks for what was used",
					    [FLASH_CONVERT_DATA] = "writes",
					    [FLASH_CONVERT_REINSERT] = "reinserts",
					    [FLASH_CONVERT_BEGIN] = "makes room",
					    [FLASH_CONVERT_PUT] = "fills rows",
					    [FLASH_CONVERT_CHECK] = "checks"};

	/* Relaxed: the stage of a moment ago is good enough. */
	return words[atomic_load_explicit(&c->stage, memory_order_relaxed) & STAGE_MASK];
}

/* Begins a stage. All that was done before is visible to the thread that has it. */
static void
stage_publish(struct flash_convert *c, enum flash_convert_stage stage)
{
	const uint32_t shard = (uint32_t)(c->shard - c->c.shards);

	c->step = 0;
	protocol_gap();
	atomic_store_explicit(&c->stage, shard << STAGE_BITS | stage, memory_order_release);
}

static void
conversion_end(struct flash_convert *c)
{
	flash_convert_count(c, FLASH_CONVERT_ENDED, 1);
	stage_publish(c, FLASH_CONVERT_IDLE);
}

/* ---- choice of segments ---- */

/* Returns the newest segment that is on flash together with all older ones. */
static uint64_t
last_written(const struct flash_log *log)
{
	uint64_t last = atomic_load_explicit(&log->head, memory_order_acquire);

	for (uint32_t i = 0; i < FLASH_BUFFERS; i++) {
		const uint64_t sequence =
			atomic_load_explicit(&log->kept->sequence[i], memory_order_acquire);

		if (sequence != 0 && sequence <= last)
			last = sequence - 1;
	}
	return last;
}

static void
choose(struct flash_convert *c)
{
	struct flash_shard *s = &c->c.shards[c->next_shard];

	c->next_shard = c->next_shard + 1 < c->c.shard_count ? c->next_shard + 1 : 0;
	if (!flash_column_is_due(s))
		return;
	c->shard = s;
	c->from = flash_column_log_first(s);
	c->to = last_written(&s->log);
	if (c->to < c->from)
		return;
	c->count = 0;
	c->bytes = 0;
	flash_pass_begin(c, c->from);
	stage_publish(c, FLASH_CONVERT_LIST);
}

/* ---- LIST ---- */

static void
list(struct flash_convert *c)
{
	if (!flash_pass_work(c, flash_pass_list))
		return;
	if (c->count == 0) {
		stage_publish(c, FLASH_CONVERT_BEGIN);
		return;
	}
	memset(c->slots, 0,
	       (size_t)c->shard->column.buckets * FLASH_COLUMN_SLOTS * sizeof c->slots[0]);
	memset(c->ends, 0, (c->shard->column.buckets / 64 + 1) * sizeof c->ends[0]);
	c->placed = false;
	stage_publish(c, FLASH_CONVERT_BUILD);
}

/* ---- BUILD ---- */

static uint32_t
draw(struct flash_convert *c)
{
	c->random = c->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(c->random >> 33);
}

static struct filter_place
item_place(const struct flash_convert *c, uint32_t item)
{
	return filter_place(&c->shard->columns.shape, c->items[item].hash);
}

static bool
put_into(struct flash_convert *c, uint32_t item, uint32_t bucket)
{
	uint32_t *slots = &c->slots[(size_t)bucket * FLASH_COLUMN_SLOTS];

	for (uint32_t i = 0; i < FLASH_COLUMN_SLOTS; i++)
		if (slots[i] == 0) {
			slots[i] = item + 1;
			return true;
		}
	return false;
}

/* Assigns one of its two buckets to an item. If both are full, the item takes the place of another
 * one, which moves to its own other bucket in the same way. */
static void
place_item(struct flash_convert *c, uint32_t item)
{
	struct filter_place p = item_place(c, item);
	uint32_t bucket = p.buckets[draw(c) & 1];

	flash_convert_count(c, FLASH_CONVERT_ITEMS, 1);
	if (put_into(c, item, p.buckets[0]) || put_into(c, item, p.buckets[1]))
		return;
	for (uint32_t kicks = 0; kicks < FLASH_CONVERT_KICKS; kicks++) {
		uint32_t *slot = &c->slots[(size_t)bucket * FLASH_COLUMN_SLOTS +
					   draw(c) % FLASH_COLUMN_SLOTS];
		const uint32_t other = *slot - 1;

		*slot = item + 1;
		item = other;
		p = item_place(c, item);
		bucket = p.buckets[0] == bucket ? p.buckets[1] : p.buckets[0];
		if (put_into(c, item, bucket))
			return;
	}
	c->items[item].at = FLASH_CONVERT_NOWHERE;
	flash_convert_count(c, FLASH_CONVERT_LOST, 1);
}

/* Gives the items of a bucket their offsets in the column, from the end of the previous bucket's
 * items on. */
static void
place_bucket(struct flash_convert *c, uint32_t bucket)
{
	const uint32_t begin = c->bytes;

	for (uint32_t i = 0; i < FLASH_COLUMN_SLOTS; i++) {
		const uint32_t item = c->slots[(size_t)bucket * FLASH_COLUMN_SLOTS + i];

		if (item == 0)
			continue;

		const uint32_t len = c->items[item - 1].at;

		c->items[item - 1].at = c->bytes;
		c->bytes += len;
	}
	if (begin / FLASH_PAYLOAD_BYTES != c->bytes / FLASH_PAYLOAD_BYTES)
		c->ends[bucket / 64] |= 1ull << bucket % 64;
}

static void
build(struct flash_convert *c)
{
	const uint32_t end = c->placed ? c->shard->column.buckets : c->count;

	c->did = true;

	for (uint32_t i = 0; i < STEPS && c->step < end; i++, c->step++) {
		if (c->placed)
			place_bucket(c, c->step);
		else
			place_item(c, c->step);
	}
	if (c->step < end)
		return;
	c->step = 0;
	if (c->placed) {
		flash_old_begin(c);
		stage_publish(c, FLASH_CONVERT_OLD);
	} else {
		c->placed = true;
		c->bytes = 0;
	}
}

/* ---- DATA ---- */

static uint32_t
column_page_count(const struct flash_convert *c)
{
	return (c->bytes + FLASH_PAYLOAD_BYTES - 1) / FLASH_PAYLOAD_BYTES;
}

static void
data(struct flash_convert *c)
{
	if (!c->is_open)
		flash_pass_data_begin(c);
	c->is_open = true;
	if (!c->writes) {
		if (!flash_pass_work(c, flash_pass_place))
			return;
		if (c->failed || c->cursor != c->count) {
			conversion_end(c);
			return;
		}
		flash_pass_seal(c, column_page_count(c));
		c->writes = true;
	}
	if (!flash_pass_write(c, column_page_count(c)))
		return;
	if (c->failed) {
		conversion_end(c);
		return;
	}
	c->is_open = c->writes = false;
	c->page += c->c.output_pages;
	if (c->page >= column_page_count(c))
		stage_publish(c, FLASH_CONVERT_PUT);
}

bool
flash_convert_work(struct flash_convert *c)
{
	/* Acquire: pairs with the release in stage_publish. */
	const uint32_t now = atomic_load_explicit(&c->stage, memory_order_acquire);

	if ((now & STAGE_MASK) >= FLASH_CONVERT_REINSERT)
		return false;
	c->did = false;
	switch (now & STAGE_MASK) {
	case FLASH_CONVERT_IDLE:
		choose(c);
		break;
	case FLASH_CONVERT_LIST:
		list(c);
		break;
	case FLASH_CONVERT_BUILD:
		build(c);
		break;
	case FLASH_CONVERT_OLD:
		if (flash_old_work(c))
			stage_publish(c, c->again_count != 0 ? FLASH_CONVERT_REINSERT
							     : FLASH_CONVERT_BEGIN);
		break;
	case FLASH_CONVERT_DATA:
		data(c);
		break;
	default:
		break;
	}
	/* If the stage has changed, the conversion is the owner's, so nothing but the stage may be
	 * read here. */
	return atomic_load_explicit(&c->stage, memory_order_relaxed) != now || c->did;
}

/* ---- the owner ---- */

static void
begin(struct flash_convert *c)
{
	if (c->count == 0) {
		flash_column_skip(c->shard, c->to);
		stage_publish(c, FLASH_CONVERT_IDLE);
		return;
	}
	c->number = flash_column_begin(c->shard);
	c->page = 0;
	c->is_open = c->writes = false;
	stage_publish(c, FLASH_CONVERT_DATA);
}

static void
again(struct flash_convert *c)
{
	for (uint32_t i = 0; i < c->again_count; i++) {
		struct flash_record record;

		ensure(flash_record_read(c->again[i].bytes, sizeof c->again[i].bytes, &record) !=
		       0);
		flash_column_reinsert(c->shard, c->number, c->again[i].hash, &record,
				      c->again[i].bytes + record.head);
	}
	c->again_count = 0;
	stage_publish(c, FLASH_CONVERT_OLD);
}

/* Sets f to a bucket's fingerprints in ascending order. */
static void
fingerprints_of(const struct flash_convert *c, uint32_t bucket, uint32_t f[FLASH_COLUMN_SLOTS])
{
	for (uint32_t i = 0; i < FLASH_COLUMN_SLOTS; i++) {
		const uint32_t item = c->slots[(size_t)bucket * FLASH_COLUMN_SLOTS + i];
		const uint32_t value = item == 0 ? 0 : item_place(c, item - 1).fingerprint;
		uint32_t at = i;

		for (; at != 0 && f[at - 1] > value; at--)
			f[at] = f[at - 1];
		f[at] = value;
	}
}

static void
put_fingerprints(struct flash_convert *c)
{
	const uint32_t end = c->shard->column.buckets;

	for (uint32_t i = 0; i < FLASH_CONVERT_SLICE && c->step < end; i++, c->step++) {
		uint32_t f[FLASH_COLUMN_SLOTS];

		fingerprints_of(c, c->step, f);
		flash_column_put(c->shard, c->step, f,
				 (c->ends[c->step / 64] >> c->step % 64 & 1) != 0);
	}
	if (c->step < end)
		return;
	flash_column_is_put(c->shard);
	c->checks = 0;
	stage_publish(c, FLASH_CONVERT_CHECK);
}

/* Returns the segment of a location; of the segments to convert, only one is in its slot. */
static uint64_t
sequence_of(const struct flash_convert *c, uint32_t location)
{
	const struct flash_log *log = &c->shard->log;
	const uint32_t n = log->c.segments;

	return c->from + (flash_location_slot(location) + n - flash_slot(log, c->from)) % n;
}

/* Removes items that were erased after they were listed, and shows the column. If the log has
 * dropped a segment meanwhile, all items are checked again: an item of that segment has no live
 * entry any more, so an erasure after its first check has left it in the column. */
static void
check(struct flash_convert *c)
{
	if (c->step == 0)
		c->first = flash_column_log_first(c->shard);
	for (uint32_t i = 0; i < FLASH_CONVERT_SLICE && c->step < c->count; i++, c->step++) {
		const struct flash_convert_item *it = &c->items[c->step];

		flash_column_check(c->shard, it->hash, sequence_of(c, it->location), it->location);
	}
	if (c->step < c->count)
		return;
	if (flash_column_log_first(c->shard) != c->first) {
		c->step = 0;
		if (++c->checks == FLASH_CONVERT_CHECKS) {
			flash_column_end(c->shard);
			conversion_end(c);
		}
		return;
	}
	flash_column_show(c->shard, column_page_count(c), c->to);
	stage_publish(c, FLASH_CONVERT_IDLE);
}

/* Prefetches the buckets that the next slice of checks reads, before the lock is taken. */
static void
prefetch_checked(const struct flash_convert *c)
{
	const struct flash_shard *s = c->shard;

	for (uint32_t i = 0; i < FLASH_CONVERT_SLICE && c->step + i < c->count; i++) {
		const struct place p = flash_index_place(&s->index, c->items[c->step + i].hash);

		prefetch(&s->index.buckets[p.primary]);
		prefetch(&s->index.buckets[p.alternate]);
	}
}

static void
convert_slice(struct flash_convert *c, struct flash_shard *s, uint32_t stage)
{
	if (stage == FLASH_CONVERT_CHECK)
		prefetch_checked(c);
	spin_lock(&s->lock);
	if (stage == FLASH_CONVERT_REINSERT)
		again(c);
	else if (stage == FLASH_CONVERT_BEGIN)
		begin(c);
	else if (s->building != c->number)
		conversion_end(c); /* a flush has ended the column */
	else if (stage == FLASH_CONVERT_PUT)
		put_fingerprints(c);
	else
		check(c);
	spin_unlock(&s->lock);
}

void
flash_convert_turn(struct flash_convert *c, struct flash_shard *s)
{
	const uint32_t shard = (uint32_t)(s - c->c.shards);

	for (uint32_t i = 0; i < FLASH_CONVERT_SLICES; i++) {
		/* Acquire: pairs with the release in stage_publish. */
		const uint32_t now = atomic_load_explicit(&c->stage, memory_order_acquire);

		if (now >> STAGE_BITS != shard || (now & STAGE_MASK) < FLASH_CONVERT_REINSERT)
			return;
		convert_slice(c, s, now & STAGE_MASK);
	}
}
