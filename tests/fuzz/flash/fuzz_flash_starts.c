/*
 * Input of a start that no process has left: a superblock, rows of columns, buffers and marks of
 * a killed process. Goal: on any bytes, a start decides whether they are valid, ends, and valid
 * ones lead to no address outside the device or the memory; an item erased afterwards is not
 * found. Method: the first byte chooses what the others are. Superblocks also under right sums;
 * rows spread over the memory of a shard's columns; buffers and segments as pages with right
 * sums, recovered.
 */
#include "flash/flash_recover.h"
#include "flash/flash_rows.h"
#include "flash/flash_super.h"
#include "base/hash.h"
#include "fuzz_target.h"

#include <stdlib.h>
#include <string.h>

#define SEED          77u
#define SHARDS_MAX    64u
#define HEAD_MAX      (1ull << 48)
#define BUCKETS       16u
#define COLUMNS       4u
#define COLUMN_PAGES  3u
#define HASHES        24u
#define SEGMENTS      8u
#define LIVE          6u
#define SEGMENT_PAGES 3u
#define LOG_BUCKETS   4u
#define LOG_PAGES     (SEGMENTS * SEGMENT_PAGES)
#define DEVICE_PAGES  (LOG_PAGES + COLUMNS * COLUMN_PAGES)
#define SEGMENT_BYTES (SEGMENT_PAGES * FLASH_PAGE_BYTES)

struct input {
	const uint8_t *data;
	size_t size;
};

/* Takes len bytes of the input; missing ones are zero. */
static void
take(struct input *in, void *to, size_t len)
{
	const size_t n = len < in->size ? len : in->size;

	memset(to, 0, len);
	memcpy(to, in->data, n);
	in->data += n;
	in->size -= n;
}

static uint8_t
take_byte(struct input *in)
{
	uint8_t byte;

	take(in, &byte, 1);
	return byte;
}

/* Fills memory with the rest of the input, repeated. */
static void
tile(const struct input *in, uint8_t *to, size_t len)
{
	for (size_t at = 0; at < len && in->size != 0; at += in->size)
		memcpy(to + at, in->data, in->size < len - at ? in->size : len - at);
}

/* ---- superblocks ---- */

static void
start_by(const struct flash_super *super, const struct flash_layout *mine, struct input *in)
{
	struct flash_state_id id;
	char words[FLASH_START_WORDS];
	struct flash_before before = {
		.super = super, .state = &id, .state_words = "", .gap_words = ""};

	take(in, &before.store, sizeof before.store);
	before.has_store = take_byte(in) & 1;
	id.layout = *mine;
	take(in, &id.incarnation, sizeof id.incarnation);

	const enum flash_start start = flash_start_of(&before, mine, words);

	ensure((start == FLASH_COLD) == (words[0] != '\0'));
	for (uint32_t i = 0; i < mine->shards && start != FLASH_FROM_STATE; i++) {
		struct flash_kept kept;

		flash_start_kept(start, super, i, SEED, &kept);
		ensure(kept.head < HEAD_MAX && kept.first <= kept.head + 1);
	}
}

static void
superblocks(struct input *in)
{
	static uint8_t pages[2 * FLASH_SUPER_BYTES];
	struct flash_super super[2], read;
	const bool sealed = take_byte(in) & 1;

	memset(pages, 0, sizeof pages);
	take(in, super, sizeof super);
	for (uint32_t i = 0; i < 2; i++) {
		uint8_t *page = pages + (size_t)(super[i].counter % 2) * FLASH_SUPER_BYTES;

		if (sealed)
			flash_super_write(page, &super[i]);
		else
			memcpy(pages + i * FLASH_SUPER_BYTES, &super[i], sizeof super[i]);
	}
	ensure(!sealed || flash_super_may_take(pages, sizeof pages));
	if (!flash_super_read(pages, &read)) {
		ensure(!sealed);
		return;
	}

	/* This process's own numbers must be those of a plan. */
	struct flash_layout mine = read.layout;

	mine.shards = 1 + mine.shards % SHARDS_MAX;
	read.layout.shards = mine.shards;
	start_by(&read, &mine, in);
}

/* ---- a shard ---- */

struct memory {
	struct flash_device device;
	uint8_t bytes[DEVICE_PAGES * FLASH_PAGE_BYTES];
	struct flash_result ended[FLASH_DEPTH_MAX];
	uint32_t count;
};

static uint32_t
memory_submit(struct flash_device *device, const struct flash_io *ios, uint32_t n)
{
	struct memory *m = (struct memory *)device;

	for (uint32_t i = 0; i < n; i++) {
		ensure(ios[i].offset % FLASH_PAGE == 0 && ios[i].len != 0 &&
		       ios[i].len <= sizeof m->bytes &&
		       ios[i].offset <= sizeof m->bytes - ios[i].len);
		if (ios[i].kind == FLASH_READ)
			memcpy(ios[i].data, m->bytes + ios[i].offset, ios[i].len);
		else
			memcpy(m->bytes + ios[i].offset, ios[i].data, ios[i].len);
		m->ended[m->count++] = (struct flash_result){.tag = ios[i].tag};
	}
	return n;
}

static uint32_t
memory_poll(struct flash_device *device, struct flash_result *results, uint32_t n)
{
	struct memory *m = (struct memory *)device;
	uint32_t count = 0;

	while (count < n && m->count != 0)
		results[count++] = m->ended[--m->count];
	return count;
}

static const struct flash_device_ops memory_ops = {memory_submit, memory_poll};
static struct memory memory;
static struct flash_shard shard;
static struct flash_kept kept;
static struct flash_intents intents;
static struct bucket buckets[LOG_BUCKETS];
static _Alignas(FLASH_PAGE_BYTES) uint8_t buffers[FLASH_BUFFERS * SEGMENT_BYTES];
static _Alignas(FLASH_PAGE_BYTES) uint8_t segments[2 * SEGMENT_BYTES];
static _Alignas(FLASH_PAGE_BYTES) uint8_t rows[65536];

static struct flash_shard_config
config_of(struct input *in)
{
	memset(buckets, 0, sizeof buckets);
	memset(&intents, 0, sizeof intents);
	take(in, intents.hash, 2 * sizeof intents.hash[0]);
	return (struct flash_shard_config){.log = {.id = {.device = SEED},
						   .segments = SEGMENTS,
						   .segment_pages = SEGMENT_PAGES,
						   .live = LIVE},
					   .buckets = buckets,
					   .bucket_count = LOG_BUCKETS,
					   .kept = &kept,
					   .intents = &intents,
					   .pages = buffers};
}

static uint32_t
look(uint64_t hash, struct flash_look *l)
{
	*l = (struct flash_look){0};
	do
		flash_look_begin(&shard, l);
	while (!flash_look_end(&shard, l, hash));
	return l->count;
}

static void
use_and_erase(uint64_t hash)
{
	static uint8_t pages[FLASH_SEGMENT_PAGES * FLASH_PAGE_BYTES];
	struct flash_found found;
	struct flash_look l;

	look(hash, &l);
	for (uint32_t i = 0; i < l.count; i++) {
		struct flash_candidate at = l.at[i];
		const uint32_t len = flash_candidate_pages(&at) * FLASH_PAGE_BYTES;

		at.location &= ~FLASH_USED;

		const uint64_t offset = flash_candidate_offset(&shard, &at);

		ensure(offset < sizeof memory.bytes && len <= sizeof memory.bytes - offset);
		memcpy(pages, memory.bytes + offset, len);
		flash_candidate_use(&shard, hash, &at);
		flash_read_judge(&shard, &at, pages, false, (struct view){(const uint8_t *)"k", 1},
				 &found);
	}
	flash_shard_erase(&shard, hash);
	ensure(look(hash, &l) == 0);
}

static void
use_and_erase_all(void)
{
	for (uint64_t n = 0; n < HASHES; n++)
		use_and_erase(n * 0x9e3779b97f4a7c15ull);
	use_and_erase(hash_bytes((const uint8_t *)"k", 1, SEED));
	if (shard.column.count != 0)
		(void)flash_columns_items(&shard.columns);
}

static bool
never(void *arg)
{
	(void)arg;
	return false;
}

static void
rows_of_columns(struct input *in)
{
	struct flash_shard_config c = config_of(in);
	const struct flash_rows_io io = {&memory.device, never, NULL};
	const bool has_numbers = take_byte(in) & 1;
	struct flash_columns_kept *k = (void *)rows;

	ensure(flash_rows_bytes(BUCKETS) <= sizeof rows);
	memset(rows, 0, sizeof rows);
	tile(in, rows, flash_rows_bytes(BUCKETS));
	for (uint32_t i = 0; i < COLUMNS && has_numbers; i++) {
		k->number[i] = COLUMNS + i;
		k->last = 2 * COLUMNS - 1;
		k->pages[i] = COLUMN_PAGES;
		k->visible = 15;
	}
	c.column = (struct flash_column_config){.memory = rows,
						.count = COLUMNS,
						.buckets = BUCKETS,
						.pages = COLUMN_PAGES,
						.offset = LOG_PAGES * FLASH_PAGE_BYTES};
	kept = (struct flash_kept){0};
	ensure(flash_rows_start(&c.column, FLASH_FROM_STATE, NULL, 0, &io));
	ensure(c.column.is_kept || !has_numbers);
	if (!c.column.is_kept)
		return;
	flash_shard_init(&shard, &c);
	use_and_erase_all();
}

/* ---- a recovery ---- */

static uint64_t
hash_of(void *arg, struct view key)
{
	(void)arg;
	return hash_bytes(key.data, key.len, SEED);
}

static void
pause_none(void *arg)
{
	(void)arg;
}

/* Writes the pages of a segment with this sequence, sealed or as they are. */
static void
put_segment(struct input *in, uint8_t *pages, uint64_t sequence, bool sealed)
{
	const struct flash_segment_id id = {.device = SEED, .sequence = sequence};

	flash_header_seal(pages, &id);
	for (uint32_t i = 1; i < SEGMENT_PAGES; i++) {
		uint8_t *page = pages + i * FLASH_PAGE_BYTES;
		struct flash_page h;
		uint16_t used[2];

		take(in, used, sizeof used);
		h = (struct flash_page){.sequence = (uint32_t)sequence,
					.number = (uint16_t)i,
					.first = used[0] % (FLASH_PAYLOAD_BYTES + 2),
					.used = used[1] % (FLASH_PAYLOAD_BYTES + 2)};
		take(in, page + sizeof h, 200);
		memset(page + sizeof h + 200, 0, FLASH_PAYLOAD_BYTES - 200);
		if (sealed)
			flash_page_seal(page, sequence, i, h.first,
					h.used < FLASH_PAYLOAD_BYTES ? h.used
								     : FLASH_PAYLOAD_BYTES);
		else
			memcpy(page, &h, sizeof h);
	}
}

/* Takes numbers that flash_state_open would accept. */
static void
take_kept(struct input *in)
{
	uint8_t numbers[4];

	take(in, numbers, sizeof numbers);
	kept = (struct flash_kept){.head = 1 + numbers[0], .unjournaled = (numbers[2] & 7) == 7};
	kept.first = kept.head + 1 - numbers[1] % (kept.head + 1);
	for (uint32_t i = 0; i < FLASH_BUFFERS; i++)
		kept.sequence[i] =
			(numbers[3] >> 2 * i & 3) == 3 ? 0 : kept.head - (numbers[3] >> 2 * i & 3);
}

static void
recovery(struct input *in)
{
	struct flash_shard_config c = config_of(in);
	const struct flash_recover_config r = {.device = &memory.device,
					       .memory = segments,
					       .depth = 2,
					       .shards = 1,
					       .hash = hash_of,
					       .wait = pause_none};
	const uint8_t sealed = take_byte(in);

	take_kept(in);
	for (uint32_t i = 0; i < FLASH_BUFFERS; i++)
		put_segment(in, buffers + i * SEGMENT_BYTES, kept.sequence[i], false);
	for (uint64_t back = 0; back < SEGMENTS && back < kept.head; back++)
		put_segment(in, memory.bytes + (kept.head - back) % SEGMENTS * SEGMENT_BYTES,
			    kept.head - back, (sealed >> back & 1) == 0);

	const struct flash_recovered found = flash_shard_recover(&shard, &c, &r);

	ensure(!found.stopped && !found.hangs && found.segments <= LIVE);
	use_and_erase_all();
	flash_shard_leave(&shard, &r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	const uint32_t what = take_byte(&in) % 3;

	memory.device = (struct flash_device){&memory_ops, sizeof memory.bytes, FLASH_DEPTH_MAX};
	memory.count = 0;
	if (what == 0)
		superblocks(&in);
	else if (what == 1)
		rows_of_columns(&in);
	else
		recovery(&in);
	return 0;
}
