/*
 * flash_convert_pass.c - reads segments and lists or copies their records; writes a column's pages,
 * and reads those of the oldest column.
 */
#include "flash_convert_pass.h"

#include "base/gap.h"

#include <string.h>

#define WRITE_TAG 0x100u
#define CHUNK     (FLASH_TRANSFER_MAX / FLASH_PAGE_BYTES) /* pages of a write */

/* ---- transfers ---- */

static uint8_t *
read_memory(const struct flash_convert *c, uint64_t n)
{
	return c->c.memory + n % FLASH_CONVERT_TRANSFERS * flash_log_segment_bytes(&c->shard->log);
}

static uint8_t *
output(const struct flash_convert *c)
{
	return c->c.memory +
	       (size_t)FLASH_CONVERT_TRANSFERS * flash_log_segment_bytes(&c->shard->log);
}

/* Submits transfer n. False: the device accepts no more now. */
static bool
transfer_submit(struct flash_convert *c, uint64_t n, struct flash_io io)
{
	const uint32_t i = (uint32_t)(n % FLASH_CONVERT_TRANSFERS);

	io.tag = FLASH_CONVERT_TAG | i | (io.kind == FLASH_WRITE ? WRITE_TAG : 0);
	c->ended[i] = false;
	if (c->c.device->ops->submit(c->c.device, &io, 1) == 0)
		return false;
	c->under_way++;
	c->did = true;
	return true;
}

void
flash_convert_ended(struct flash_convert *c, uint64_t tag, int32_t error)
{
	const uint32_t i = tag % WRITE_TAG;

	c->ended[i] = true;
	c->error[i] = error;
	c->under_way--;
	if ((tag & WRITE_TAG) != 0 && error != 0)
		c->failed = true;
}

/* ---- a pass ---- */

void
flash_pass_begin(struct flash_convert *c, uint64_t from)
{
	c->begun = c->done = from;
	c->cursor = 0;
	c->failed = c->stopped = false;
}

static void
read_ahead(struct flash_convert *c)
{
	const struct flash_log *log = &c->shard->log;

	for (; c->begun <= c->to && c->begun - c->done < FLASH_CONVERT_TRANSFERS; c->begun++) {
		const struct flash_io io = {
			.offset = flash_log_offset(log,
						   flash_location(flash_slot(log, c->begun), 0, 1)),
			.data = read_memory(c, c->begun),
			.len = flash_log_segment_bytes(&c->shard->log),
			.kind = FLASH_READ};

		if (!transfer_submit(c, c->begun, io))
			return;
	}
}

bool
flash_pass_work(struct flash_convert *c, flash_pass_fn *fn)
{
	const uint32_t i = (uint32_t)(c->done % FLASH_CONVERT_TRANSFERS);

	if (c->stopped || c->done > c->to)
		return c->under_way == 0;
	read_ahead(c);
	if (c->begun == c->done || !c->ended[i])
		return false;
	flash_convert_count(c, FLASH_CONVERT_SEGMENTS, 1);
	c->did = true;
	if (fn(c, c->error[i] == 0 ? read_memory(c, c->done) : NULL, c->done))
		c->done++;
	else
		c->stopped = true;
	return false;
}

/* A walk over those records of a segment that a column can hold. */
struct records {
	struct flash_pages pages;
	struct flash_walk walk;
	struct flash_record record;
	uint32_t location, len;
};

static bool
records_begin(const struct flash_convert *c, struct records *r, const uint8_t *bytes,
	      uint64_t sequence)
{
	memset(&r->walk, 0, sizeof r->walk);
	r->pages = (struct flash_pages){
		.sequence = sequence, .count = c->shard->log.c.segment_pages - 1, .first = 1};
	if (bytes == NULL)
		return false;
	r->pages.bytes = bytes + FLASH_PAGE_BYTES;
	flash_pages_check(&r->pages);
	return r->pages.good == r->pages.count;
}

/* Finds the next record that is short enough for a column. False: there is none. */
static bool
records_next(const struct flash_convert *c, struct records *r)
{
	const struct flash_log *log = &c->shard->log;

	while (flash_walk_next(&r->pages, &r->walk, &r->record) == FLASH_RECORD) {
		const uint32_t begin = r->walk.value_at - r->record.head;
		const uint32_t page = begin / FLASH_PAYLOAD_BYTES;

		r->len = r->record.head + r->record.value_len;
		if (r->record.kind != FLASH_PUT || r->len > FLASH_COLUMN_RECORD_MAX)
			continue;
		r->location = flash_location(flash_slot(log, r->pages.sequence), 1 + page,
					     (begin + r->len - 1) / FLASH_PAYLOAD_BYTES - page + 1);
		return true;
	}
	return false;
}

/* ---- LIST ---- */

/* True if an index entry leads to the record. An entry that is being moved may be missed; then its
 * item is not converted. */
static bool
is_entry(const struct flash_shard *s, uint64_t hash, const struct records *r)
{
	return flash_log_live(&s->log, r->location) == r->pages.sequence &&
	       flash_index_has(&s->index, hash, r->location);
}

static bool
add_item(struct flash_convert *c, uint64_t hash, const struct records *r)
{
	if (c->count == c->items_max ||
	    c->bytes + r->len > c->shard->column.pages * FLASH_PAYLOAD_BYTES)
		return false;
	c->items[c->count++] = (struct flash_convert_item){hash, r->location, r->len};
	c->bytes += r->len;
	return true;
}

bool
flash_pass_list(struct flash_convert *c, const uint8_t *bytes, uint64_t sequence)
{
	const uint32_t items = c->count, before = c->bytes;
	struct records r;

	if (!records_begin(c, &r, bytes, sequence)) {
		flash_convert_count(c, FLASH_CONVERT_UNREAD, 1);
		return true;
	}
	while (records_next(c, &r)) {
		const uint64_t hash = c->c.hash(c->c.arg, r.record.key);

		if (!is_entry(c->shard, hash, &r) || add_item(c, hash, &r))
			continue;
		/* A segment is converted as a whole or not at all. Only the first one may be
		 * converted in part, since otherwise it would never fit. */
		if (sequence == c->from)
			return true;
		c->count = items;
		c->bytes = before;
		c->to = sequence - 1;
		return false;
	}
	protocol_gap();
	return true;
}

/* ---- DATA ---- */

static uint32_t
range_begin(const struct flash_convert *c)
{
	return c->page * FLASH_PAYLOAD_BYTES;
}

void
flash_pass_data_begin(struct flash_convert *c)
{
	const struct flash_page empty = {.first = FLASH_NO_RECORD};

	for (uint32_t p = 0; p < c->c.output_pages; p++)
		memcpy(output(c) + (size_t)p * FLASH_PAGE_BYTES, &empty, sizeof empty);
	flash_pass_begin(c, c->from);
}

/* Copies the part of a record that lies in the output. The record is at this offset of the
 * column. */
static void
copy_record_part(struct flash_convert *c, const struct records *r, uint32_t at)
{
	const uint32_t begin = range_begin(c);
	const uint32_t room = c->c.output_pages * FLASH_PAYLOAD_BYTES;
	uint8_t bytes[FLASH_COLUMN_RECORD_MAX];
	uint32_t skip = 0, len = r->len;

	if (at >= begin + room || at + len <= begin)
		return;
	flash_payload_get(r->pages.bytes, r->walk.value_at - r->record.head, bytes, len);
	if (at < begin) {
		skip = begin - at;
	} else {
		struct flash_page *h =
			(struct flash_page *)(void *)(output(c) +
						      (size_t)((at - begin) / FLASH_PAYLOAD_BYTES) *
							      FLASH_PAGE_BYTES);
		const uint16_t in = (uint16_t)(at % FLASH_PAYLOAD_BYTES);

		h->first = in < h->first ? in : h->first;
	}
	if (at + len > begin + room)
		len = begin + room - at;
	flash_payload_put(output(c), at + skip - begin, bytes + skip, len - skip);
}

bool
flash_pass_place(struct flash_convert *c, const uint8_t *bytes, uint64_t sequence)
{
	struct records r;

	if (!records_begin(c, &r, bytes, sequence))
		return true;
	while (c->cursor < c->count && records_next(c, &r)) {
		const struct flash_convert_item *it = &c->items[c->cursor];

		if (it->location != r.location || it->hash != c->c.hash(c->c.arg, r.record.key))
			continue;
		if (it->at != FLASH_CONVERT_NOWHERE)
			copy_record_part(c, &r, it->at);
		c->cursor++;
	}
	protocol_gap();
	return true;
}

void
flash_pass_seal(struct flash_convert *c, uint32_t pages)
{
	const uint64_t sequence = flash_column_sequence(c->shard, c->number);

	for (uint32_t i = 0; i < c->c.output_pages && c->page + i < pages; i++) {
		const uint32_t page = c->page + i;
		uint8_t *bytes = output(c) + (size_t)i * FLASH_PAGE_BYTES;
		struct flash_page h;

		memcpy(&h, bytes, sizeof h);
		flash_page_seal(bytes, sequence + page / FLASH_SEGMENT_PAGES,
				page % FLASH_SEGMENT_PAGES, h.first,
				page + 1 < pages ? FLASH_PAYLOAD_BYTES
						 : c->bytes - page * FLASH_PAYLOAD_BYTES);
	}
	c->begun = 0;
}

/* Writes the output's pages; c->begun counts those that are submitted. True: the write has ended or
 * failed. */
bool
flash_pass_write(struct flash_convert *c, uint32_t pages)
{
	const uint32_t end =
		pages - c->page < c->c.output_pages ? pages - c->page : c->c.output_pages;

	while (!c->failed && c->begun < end && c->under_way < FLASH_CONVERT_TRANSFERS) {
		const uint32_t n = end - c->begun < CHUNK ? end - (uint32_t)c->begun : CHUNK;
		const struct flash_io io = {
			.offset = flash_column_offset(c->shard, c->number,
						      c->page + (uint32_t)c->begun),
			.data = output(c) + c->begun * FLASH_PAGE_BYTES,
			.len = n * FLASH_PAGE_BYTES,
			.kind = FLASH_WRITE};

		if (!transfer_submit(c, 0, io))
			break;
		flash_convert_count(c, FLASH_CONVERT_PAGES, n);
		c->begun += n;
	}
	return (c->failed || c->begun == end) && c->under_way == 0;
}

/* ---- OLD ---- */

static uint32_t
old_pages(const struct flash_convert *c)
{
	const struct flash_shard *s = c->shard;

	return c->number != 0 && flash_column_is_shown(s, c->number)
		       ? s->columns.kept->pages[c->number % s->column.count]
		       : 0;
}

/* Begins a pass over the oldest column, whose place the next column needs. It is read into the
 * memory meant for segments. */
void
flash_old_begin(struct flash_convert *c)
{
	const struct flash_shard *s = c->shard;

	c->number =
		flash_column_next(s) > s->column.count ? flash_column_next(s) - s->column.count : 0;
	c->old_page = c->old_at = c->again_count = 0;
	c->begun = c->done = 0;
	c->again_left = c->c.reinserted == 0
				? 0
				: (uint64_t)old_pages(c) * FLASH_PAGE_BYTES / c->c.reinserted;
}

static bool
old_read(struct flash_convert *c, uint32_t pages)
{
	const struct flash_io io = {.offset = flash_column_offset(c->shard, c->number, c->old_page),
				    .data = read_memory(c, 0),
				    .len = pages * FLASH_PAGE_BYTES,
				    .kind = FLASH_READ};

	if (c->begun == 0 && transfer_submit(c, 0, io))
		c->begun = 1;
	return c->begun != 0 && c->under_way == 0;
}

static void
take_used(struct flash_convert *c, const struct flash_pages *p, const struct flash_walk *w,
	  const struct flash_record *r)
{
	const struct flash_shard *s = c->shard;
	const uint32_t len = r->head + r->value_len;

	if (r->kind != FLASH_PUT || len > FLASH_COLUMN_RECORD_MAX || len > c->again_left)
		return;

	const uint64_t hash = c->c.hash(c->c.arg, r->key);

	if (!flash_columns_is_used(&s->columns, hash, (uint32_t)(c->number % s->column.count)))
		return;
	c->again[c->again_count].hash = hash;
	flash_payload_get(p->bytes, w->value_at - r->head, c->again[c->again_count].bytes, len);
	c->again_count++;
	c->again_left -= len;
}

bool
flash_old_work(struct flash_convert *c)
{
	const uint32_t chunk = c->shard->log.c.segment_pages, pages = old_pages(c);
	const uint32_t n = pages - c->old_page < chunk ? pages - c->old_page : chunk;
	struct flash_walk walk = {.next = c->old_at};
	struct flash_record record;

	if (c->under_way == 0 && (c->old_page >= pages || c->again_left == 0))
		return true;
	if (!old_read(c, n))
		return false;

	struct flash_pages p = {.bytes = read_memory(c, 0),
				.sequence = flash_column_sequence(c->shard, c->number),
				.count = n,
				.first = c->old_page};

	if (c->error[0] == 0)
		flash_pages_check(&p);
	while (c->again_count < FLASH_CONVERT_AGAIN &&
	       flash_walk_next(&p, &walk, &record) == FLASH_RECORD)
		take_used(c, &p, &walk, &record);
	c->old_at = walk.next;
	if (c->again_count == FLASH_CONVERT_AGAIN)
		return true;
	c->old_page += n;
	c->old_at = 0;
	c->begun = 0;
	return false;
}
