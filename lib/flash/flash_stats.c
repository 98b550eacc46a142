/*
 * flash_stats.c - sums over cores and shards since the last reset, and their rows.
 */
#include "flash_stats.h"

#define WORK_CORE 20u /* time of reading one counter of a core or shard, in ns */

/* ---- sums ---- */

/* Sums a counter over `count` structs that are stride bytes apart. */
static uint64_t
sum_of(const struct counter *first, size_t stride, uint32_t count)
{
	const uint8_t *at = (const uint8_t *)first;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += counter_read((const struct counter *)(const void *)(at + i * stride));
	return sum;
}

static uint64_t
raw_ask(const struct flash_tier *t, uint32_t which)
{
	return sum_of(&t->core[0].asks[which], sizeof t->core[0], FLASH_CORES_MAX);
}

static uint64_t
raw_offer(const struct flash_tier *t, uint32_t which)
{
	return sum_of(&t->core[0].counters[which], sizeof t->core[0], FLASH_CORES_MAX);
}

static uint64_t
raw_shard(const struct flash_tier *t, uint32_t which)
{
	return sum_of(&t->c.shards[0].counters[which], sizeof t->c.shards[0], t->c.shard_count);
}

static uint64_t
raw_convert(const struct flash_tier *t, uint32_t which)
{
	return t->c.convert == NULL ? 0 : counter_read(&t->c.convert->counters[which]);
}

static uint64_t
base(const _Atomic uint64_t *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}

#define ASK(which)   (raw_ask(t, which) - base(&t->base.ask[which]))
#define OFFER(which) (raw_offer(t, which) - base(&t->base.offer[which]))
#define SHARD(which) (raw_shard(t, which) - base(&t->base.shard[which]))
#define CONVERT(which)                                                                             \
	(raw_convert(t, FLASH_CONVERT_##which) - base(&t->base.convert[FLASH_CONVERT_##which]))

static uint64_t
segments(const struct flash_tier *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->c.shard_count; i++)
		sum += t->c.shards[i].log.c.segments;
	return sum;
}

static uint64_t
column_bytes(const struct flash_tier *t)
{
	uint64_t pages = 0;

	for (uint32_t i = 0; i < t->c.shard_count; i++)
		pages += (uint64_t)t->c.shards[i].column.count * t->c.shards[i].column.pages;
	return pages * FLASH_PAGE_BYTES;
}

/* Returns the number of entries in all logs. Dead entries count until the sweep removes them. */
static uint64_t
log_items(const struct flash_tier *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->c.shard_count; i++)
		sum += atomic_load_explicit(&t->c.shards[i].index.entries, memory_order_relaxed);
	return sum;
}

static uint64_t
hash_items(const struct flash_tier *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->c.shard_count; i++)
		if (t->c.shards[i].column.count != 0)
			sum += flash_columns_items(&t->c.shards[i].columns);
	return sum;
}

static uint64_t
bytes_written(const struct flash_tier *t)
{
	return SHARD(FLASH_SEGMENTS_WRITTEN) * flash_log_segment_bytes(&t->c.shards[0].log) +
	       CONVERT(PAGES) * FLASH_PAGE_BYTES;
}

/* Returns the number of live segments. */
static uint64_t
segments_used(const struct flash_tier *t)
{
	uint64_t used = 0;

	for (uint32_t i = 0; i < t->c.shard_count; i++) {
		const struct flash_log *log = &t->c.shards[i].log;
		const uint64_t first = log->mark / FLASH_SEGMENT_PAGES;
		const uint64_t head = log->head;
		const uint64_t all = head - log->kept->first + 1;
		const uint64_t live = all < log->c.live ? all : log->c.live;
		const uint64_t marked = head >= first ? head - first + 1 : 0;

		used += live < marked ? live : marked;
	}
	return used;
}

static const char *
conversion(const struct flash_tier *t)
{
	return t->c.convert == NULL ? "idle" : flash_convert_words(t->c.convert);
}

static const char *
io_word(const struct flash_tier *t)
{
	return t->c.io == NULL ? "memory" : t->c.io;
}

/* Returns bytes written divided by admitted bytes of keys and values, in thousandths. */
static uint64_t
amplification(const struct flash_tier *t)
{
	const uint64_t bytes = OFFER(FLASH_ADMITTED_BYTES);

	return bytes == 0 ? 0 : 1000 * bytes_written(t) / bytes;
}

/* ---- rows ---- */

#define STAT_ROWS(X)                                                                               \
	X(NUMBER, "get_extstore", ASK(FLASH_ASK_TOLD))                                             \
	X(NUMBER, "get_aborted_extstore", ASK(FLASH_ASK_LATE))                                     \
	X(NUMBER, "get_oom_extstore", ASK(FLASH_ASK_NO_MEMORY))                                    \
	X(NUMBER, "recache_from_extstore", ASK(FLASH_ASK_PROMOTED))                                \
	X(NUMBER, "miss_from_extstore", ASK(FLASH_ASK_ERROR))                                      \
	X(NUMBER, "badcrc_from_extstore", ASK(FLASH_ASK_BAD_PAGES))

#define EXTSTORE_ROWS(X)                                                                           \
	X(NUMBER, "extstore_page_allocs", SHARD(FLASH_SEGMENTS_OPENED))                            \
	X(NUMBER, "extstore_page_evictions", SHARD(FLASH_SEGMENTS_LEFT))                           \
	X(NUMBER, "extstore_pages_free", segments(t) - segments_used(t))                           \
	X(NUMBER, "extstore_pages_used", segments_used(t))                                         \
	X(NUMBER, "extstore_objects_read", ASK(FLASH_ASK_READS))                                   \
	X(NUMBER, "extstore_objects_written", SHARD(FLASH_PUTS))                                   \
	X(NUMBER, "extstore_bytes_read", ASK(FLASH_ASK_READ_PAGES) * FLASH_PAGE_BYTES)             \
	X(NUMBER, "extstore_bytes_written", bytes_written(t))                                      \
	X(NUMBER, "extstore_limit_maxbytes",                                                       \
	  segments(t) * flash_log_segment_bytes(&t->c.shards[0].log) + column_bytes(t))            \
	X(NUMBER, "extstore_io_queue", raw_ask(t, FLASH_ASK_READS) - raw_ask(t, FLASH_ASK_ENDED))  \
	X(TEXT, "flash_state", flash_off_names[flash_health_off(&t->health)].words)                \
	X(TEXT, "flash_io", io_word(t))                                                            \
	X(NUMBER, "flash_asked", ASK(FLASH_ASKED))                                                 \
	X(NUMBER, "flash_buffered", ASK(FLASH_ASK_BUFFERED))                                       \
	X(NUMBER, "flash_other_keys_read", ASK(FLASH_ASK_OTHERS))                                  \
	X(NUMBER, "flash_looked_again", ASK(FLASH_ASK_AGAIN))                                      \
	X(NUMBER, "flash_not_found", ASK(FLASH_ASK_NOT_FOUND))                                     \
	X(NUMBER, "flash_read_errors", ASK(FLASH_ASK_READ_ERRORS))                                 \
	X(NUMBER, "flash_offered", OFFER(FLASH_OFFERED))                                           \
	X(NUMBER, "flash_admitted_bytes", OFFER(FLASH_ADMITTED_BYTES))                             \
	X(NUMBER, "flash_refused_unused", OFFER(FLASH_REFUSED_UNUSED))                             \
	X(NUMBER, "flash_refused_large", OFFER(FLASH_REFUSED_LARGE))                               \
	X(NUMBER, "flash_refused_device", OFFER(FLASH_REFUSED_DEVICE))                             \
	X(NUMBER, "flash_refused_budget", OFFER(FLASH_REFUSED_BUDGET))                             \
	X(NUMBER, "flash_refused_off", OFFER(FLASH_REFUSED_OFF))                                   \
	X(NUMBER, "flash_packed", OFFER(FLASH_PACKED))                                             \
	X(NUMBER, "flash_packed_saved", OFFER(FLASH_PACKED_SAVED))                                 \
	X(NUMBER, "flash_unpacked", ASK(FLASH_ASK_UNPACKED))                                       \
	X(NUMBER, "flash_unpack_errors", ASK(FLASH_ASK_BAD_PACKED))                                \
	X(NUMBER, "flash_refused_index", SHARD(FLASH_REFUSED_INDEX))                               \
	X(NUMBER, "flash_refused_changed", SHARD(FLASH_REFUSED_CHANGED))                           \
	X(NUMBER, "flash_tombstones", SHARD(FLASH_TOMBS))                                          \
	X(NUMBER, "flash_erased", SHARD(FLASH_ERASED))                                             \
	X(NUMBER, "flash_claimed", SHARD(FLASH_CLAIMED))                                           \
	X(NUMBER, "flash_unjournaled", SHARD(FLASH_UNJOURNALED))                                   \
	X(NUMBER, "flash_segments_lost", SHARD(FLASH_SEGMENTS_LOST))                               \
	X(NUMBER, "flash_segments_given_up", SHARD(FLASH_SEGMENTS_GIVEN_UP))                       \
	X(THOUSANDTHS, "flash_write_amplification", amplification(t))                              \
	X(NUMBER, "flash_log_items", log_items(t))                                                 \
	X(NUMBER, "flash_hash_items", hash_items(t))                                               \
	X(NUMBER, "flash_hash_made", SHARD(FLASH_COLUMNS_MADE))                                    \
	X(NUMBER, "flash_hash_evictions", SHARD(FLASH_COLUMNS_GONE))                               \
	X(NUMBER, "flash_hash_reinserted", SHARD(FLASH_REINSERTED))                                \
	X(NUMBER, "flash_hash_other_keys_read", ASK(FLASH_ASK_COLUMN_OTHERS))                      \
	X(TEXT, "flash_conversion", conversion(t))                                                 \
	X(NUMBER, "flash_converted", CONVERT(ITEMS) - CONVERT(LOST))                               \
	X(NUMBER, "flash_conversions_ended", CONVERT(ENDED))                                       \
	X(NUMBER, "flash_convert_bytes_read",                                                      \
	  CONVERT(SEGMENTS) * flash_log_segment_bytes(&t->c.shards[0].log))                        \
	X(NUMBER, "flash_convert_bytes_written", CONVERT(PAGES) * FLASH_PAGE_BYTES)

#define NAME(kind, name, value) name,
#define ROW_NUMBER(value)       row->number = (value);
#define ROW_THOUSANDTHS(value)  row->number = (value);
#define ROW_TEXT(value)         row->text = (value);
#define ROW(row_kind, row_name, value)                                                             \
	if (n == at++) {                                                                           \
		row->name = row_name;                                                              \
		row->kind = SERVE_ROW_##row_kind;                                                  \
		ROW_##row_kind(value)                                                              \
	}

const char *const flash_stat_names[] = {STAT_ROWS(NAME)};
const char *const flash_extstore_names[] = {EXTSTORE_ROWS(NAME)};
const uint32_t flash_stat_count = sizeof flash_stat_names / sizeof flash_stat_names[0];
const uint32_t flash_extstore_count = sizeof flash_extstore_names / sizeof flash_extstore_names[0];

static struct serve_row
row_of(const struct flash_tier *t)
{
	return (struct serve_row){.of = SERVE_ROW_OF_ALL,
				  .work = (t->c.cores + t->c.shard_count) * WORK_CORE};
}

bool
flash_stats_row(const struct flash_tier *t, uint32_t n, struct serve_row *row)
{
	uint32_t at = 0;

	*row = row_of(t);
	STAT_ROWS(ROW)
	return n < at;
}

bool
flash_stats_extstore_row(const struct flash_tier *t, uint32_t n, struct serve_row *row)
{
	uint32_t at = 0;

	*row = row_of(t);
	EXTSTORE_ROWS(ROW)
	return n < at;
}

static void
set(_Atomic uint64_t *at, uint64_t value)
{
	atomic_store_explicit(at, value, memory_order_relaxed);
}

void
flash_stats_reset(struct flash_tier *t)
{
	for (uint32_t i = 0; i < FLASH_ASK_COUNTERS_COUNT; i++)
		set(&t->base.ask[i], raw_ask(t, i));
	for (uint32_t i = 0; i < FLASH_OFFER_COUNTERS_COUNT; i++)
		set(&t->base.offer[i], raw_offer(t, i));
	for (uint32_t i = 0; i < FLASH_COUNTERS_COUNT; i++)
		set(&t->base.shard[i], raw_shard(t, i));
	for (uint32_t i = 0; i < FLASH_CONVERT_COUNTERS_COUNT; i++)
		set(&t->base.convert[i], raw_convert(t, i));
}
