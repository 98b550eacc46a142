/*
 * flash_log.c - appends records to a buffer, writes buffers as segments, and reuses the segments'
 * slots in a ring.
 */
#include "flash_log.h"

#include "base/gap.h"

#include <string.h>

static uint64_t
log_head(const struct flash_log *log)
{
	/* Acquire: pairs with the release in flash_log_open. */
	return atomic_load_explicit(&log->head, memory_order_acquire);
}

void
flash_log_init(struct flash_log *log, const struct flash_log_config *c, struct flash_kept *kept,
	       uint8_t *pages)
{
	ensure(c->segments >= FLASH_SLOTS_MIN && c->segments <= FLASH_SLOTS_MAX);
	ensure(c->segment_pages >= 3 && c->segment_pages <= FLASH_SEGMENT_PAGES);
	ensure(c->live < c->segments);
	*log = (struct flash_log){.c = *c, .kept = kept, .open = FLASH_BUFFERS};
	log->head = kept->head;
	for (uint32_t i = 0; i < FLASH_BUFFERS; i++)
		log->buffer[i].pages = pages + (size_t)i * c->segment_pages * FLASH_PAGE_BYTES;
}

/* ---- locations ---- */

bool
flash_log_has(const struct flash_log *log, uint64_t sequence)
{
	const uint64_t head = log_head(log);

	return sequence <= head && head - sequence < log->c.live &&
	       !flash_is_lost(log, flash_slot(log, sequence));
}

uint64_t
flash_log_live(const struct flash_log *log, uint32_t location)
{
	const uint64_t head = log_head(log);
	const uint32_t slot = flash_location_slot(location & ~(1u << 31)), n = log->c.segments;
	const uint64_t back = (flash_slot(log, head) + n - slot) % n;

	if (back >= log->c.live || back >= head || flash_is_lost(log, slot))
		return 0;

	const uint64_t position = FLASH_POSITION(head - back, flash_location_page(location));

	return position >= atomic_load_explicit(&log->mark, memory_order_acquire) ? head - back : 0;
}

uint64_t
flash_log_offset(const struct flash_log *log, uint32_t location)
{
	return log->c.offset + ((uint64_t)flash_location_slot(location) * log->c.segment_pages +
				flash_location_page(location)) *
				       FLASH_PAGE_BYTES;
}

/* ---- pages of the open buffer ---- */

static uint8_t *
payload(const struct flash_log *log, uint32_t buffer)
{
	return log->buffer[buffer].pages + FLASH_PAGE_BYTES;
}

/* Makes the headers of pages count len bytes from the offset on. A record begins there. */
static void
use_pages(uint8_t *pages, uint32_t offset, uint32_t len)
{
	bool begins = true;

	for (uint32_t run; len != 0; offset += run, len -= run, begins = false) {
		struct flash_page *h =
			(struct flash_page *)(void *)(pages + offset / FLASH_PAYLOAD_BYTES *
								      FLASH_PAGE_BYTES);
		const uint32_t in = offset % FLASH_PAYLOAD_BYTES;

		run = FLASH_PAYLOAD_BYTES - in < len ? FLASH_PAYLOAD_BYTES - in : len;
		if (begins && h->first == FLASH_NO_RECORD)
			h->first = (uint16_t)in;
		atomic_signal_fence(memory_order_seq_cst);
		h->used = (uint16_t)(in + run);
		protocol_gap();
	}
}

/* Makes the next len bytes count, which the caller has written before: the stores of a killed
 * process took effect in their order. */
static void
append(struct flash_log *log, uint32_t len)
{
	atomic_thread_fence(memory_order_release);
	use_pages(payload(log, log->open), log->at, len);
	log->at += len;
}

static bool
is_spent(const struct flash_buffer *b, uint32_t page)
{
	return (b->spent[page / 64] >> page % 64 & 1) != 0;
}

void
flash_log_turn_page(struct flash_log *log)
{
	log->at = (log->at + FLASH_PAYLOAD_BYTES - 1) / FLASH_PAYLOAD_BYTES * FLASH_PAYLOAD_BYTES;
}

uint64_t
flash_log_position(const struct flash_log *log)
{
	const uint64_t head = log_head(log);

	if (log->open == FLASH_BUFFERS || log->at >= flash_log_capacity(log))
		return FLASH_POSITION(head + 1, 1);
	return FLASH_POSITION(head, 1 + log->at / FLASH_PAYLOAD_BYTES);
}

static uint32_t
buffer_of_slot(const struct flash_log *log, uint32_t slot)
{
	for (uint32_t i = 0; i < FLASH_BUFFERS; i++) {
		const uint64_t sequence =
			atomic_load_explicit(&log->kept->sequence[i], memory_order_relaxed);

		if (sequence != 0 && flash_slot(log, sequence) == slot)
			return i;
	}
	return FLASH_BUFFERS;
}

void
flash_log_spend(struct flash_log *log, uint32_t location)
{
	const uint32_t page = flash_location_page(location);
	const uint32_t i = buffer_of_slot(log, flash_location_slot(location & ~(1u << 31)));

	if (i < FLASH_BUFFERS)
		log->buffer[i].spent[page / 64] |= 1ull << page % 64;
}

/* ---- segments ---- */

static uint32_t
free_buffer(const struct flash_log *log)
{
	for (uint32_t i = 0; i < FLASH_BUFFERS; i++)
		if (atomic_load_explicit(&log->buffer[i].state, memory_order_acquire) == FLASH_FREE)
			return i;
	return FLASH_BUFFERS;
}

void
flash_log_close(struct flash_log *log)
{
	if (log->open == FLASH_BUFFERS)
		return;
	/* Release: pairs with the acquire in flash_log_write. */
	atomic_store_explicit(&log->buffer[log->open].state, FLASH_CLOSED, memory_order_release);
	log->open = FLASH_BUFFERS;
}

static void
empty_pages(const struct flash_log *log, struct flash_buffer *b)
{
	const struct flash_page empty = {.first = FLASH_NO_RECORD};

	for (uint32_t p = 0; p < log->c.segment_pages; p++)
		memcpy(b->pages + (size_t)p * FLASH_PAGE_BYTES, &empty, sizeof empty);
	memset(b->spent, 0, sizeof b->spent);
}

bool
flash_log_open(struct flash_log *log)
{
	const uint32_t i = free_buffer(log);
	const uint64_t sequence = log_head(log) + 1;
	const uint32_t slot = flash_slot(log, sequence);

	if (i == FLASH_BUFFERS)
		return false;
	flash_log_close(log);
	empty_pages(log, &log->buffer[i]);
	atomic_store_explicit(&log->buffer[i].state, FLASH_OPEN, memory_order_relaxed);
	atomic_fetch_and_explicit(&log->lost[slot / 64], ~(1ull << slot % 64),
				  memory_order_relaxed);
	/* The kept copies are written first, so that no restart finds more than is reachable
	 * now. */
	atomic_store_explicit(&log->kept->sequence[i], sequence, memory_order_seq_cst);
	atomic_store_explicit(&log->kept->head, sequence, memory_order_release);
	protocol_gap();
	atomic_store_explicit(&log->head, sequence, memory_order_release);
	log->open = i;
	log->at = 0;
	return true;
}

bool
flash_log_wants_segment(const struct flash_log *log, uint32_t bytes)
{
	return log->open == FLASH_BUFFERS || log->at + bytes > flash_log_capacity(log);
}

/* ---- records ---- */

bool
flash_log_reserve(struct flash_log *log, const struct flash_record *record,
		  struct flash_reserved *r)
{
	const uint32_t spare =
		free_buffer(log) == FLASH_BUFFERS ? flash_log_capacity(log) / FLASH_TOMBS_SHARE : 0;
	struct flash_record written = *record;
	uint8_t head[FLASH_HEAD_BYTES_MAX];

	written.kind = FLASH_VOID;

	const uint32_t head_len = flash_record_write(head, &written);
	const uint32_t len = head_len + record->value_len;

	if (log->open == FLASH_BUFFERS)
		return false;
	if (is_spent(&log->buffer[log->open], 1 + log->at / FLASH_PAYLOAD_BYTES))
		flash_log_turn_page(log);
	if (log->at + len + spare > flash_log_capacity(log))
		return false;

	const uint32_t page = log->at / FLASH_PAYLOAD_BYTES;
	const uint32_t last = (log->at + len - 1) / FLASH_PAYLOAD_BYTES;

	*r = (struct flash_reserved){.sequence = log_head(log),
				     .buffer = log->open,
				     .offset = log->at,
				     .head = head_len,
				     .location = flash_location(flash_slot(log, log_head(log)),
								1 + page, last - page + 1),
				     .has_expiry = record->expiry_s != 0};
	flash_payload_put(payload(log, log->open), log->at, head, head_len);
	append(log, len);
	atomic_fetch_add_explicit(&log->buffer[log->open].copies, 1, memory_order_relaxed);
	return true;
}

void
flash_log_fill(struct flash_log *log, const struct flash_reserved *r, uint32_t at,
	       const void *bytes, uint32_t len)
{
	flash_payload_put(payload(log, r->buffer), r->offset + r->head + at, bytes, len);
}

bool
flash_log_may_settle(const struct flash_log *log, const struct flash_reserved *r, uint32_t expiry_s)
{
	return (expiry_s != 0) == r->has_expiry &&
	       flash_log_live(log, r->location) == r->sequence &&
	       !is_spent(&log->buffer[r->buffer], flash_location_page(r->location));
}

void
flash_log_settle(struct flash_log *log, const struct flash_reserved *r, uint8_t status,
		 uint32_t expiry_s)
{
	flash_record_settle(payload(log, r->buffer), r->offset, status, expiry_s);
}

void
flash_log_release(struct flash_log *log, const struct flash_reserved *r)
{
	/* Release: pairs with the acquire in flash_log_write, which then sees the copied value. */
	atomic_fetch_sub_explicit(&log->buffer[r->buffer].copies, 1, memory_order_release);
}

bool
flash_log_journal(struct flash_log *log, enum flash_kind kind, uint64_t number)
{
	const struct flash_record record = {.kind = kind, .number = number};
	uint8_t head[FLASH_HEAD_BYTES_MAX];
	const uint32_t len = flash_record_write(head, &record);

	if (flash_log_wants_segment(log, len))
		return false;
	flash_payload_put(payload(log, log->open), log->at, head, len);
	append(log, len);
	return true;
}

/* ---- reads ---- */

uint32_t
flash_log_pin(struct flash_log *log, uint64_t sequence)
{
	for (uint32_t i = 0; i < FLASH_BUFFERS; i++) {
		if (atomic_load_explicit(&log->kept->sequence[i], memory_order_relaxed) != sequence)
			continue;
		protocol_gap();
		/* Sequentially consistent, as in flash_log_free: either the reader is counted
		 * there, or it sees here that the buffer was freed. */
		atomic_fetch_add_explicit(&log->buffer[i].readers, 1, memory_order_seq_cst);
		if (atomic_load_explicit(&log->kept->sequence[i], memory_order_seq_cst) == sequence)
			return i;
		flash_log_unpin(log, i);
	}
	return FLASH_BUFFERS;
}

void
flash_log_unpin(struct flash_log *log, uint32_t buffer)
{
	/* Release: pairs with the acquire in flash_log_free. */
	atomic_fetch_sub_explicit(&log->buffer[buffer].readers, 1, memory_order_release);
}

struct flash_pages
flash_log_pages(const struct flash_log *log, uint32_t buffer)
{
	return (struct flash_pages){.bytes = payload(log, buffer),
				    .sequence = log->kept->sequence[buffer],
				    .count = log->c.segment_pages - 1,
				    .first = 1,
				    .good = log->c.segment_pages - 1};
}

/* ---- writes ---- */

static void
seal(struct flash_log *log, struct flash_buffer *b, uint64_t sequence)
{
	struct flash_segment_id id = log->c.id;

	id.sequence = sequence;
	flash_header_seal(b->pages, &id);
	for (uint32_t p = 1; p < log->c.segment_pages; p++) {
		uint8_t *page = b->pages + (size_t)p * FLASH_PAGE_BYTES;
		struct flash_page h;

		memcpy(&h, page, sizeof h);
		flash_page_seal(page, sequence, p, h.first, h.used);
	}
}

bool
flash_log_write(struct flash_log *log, struct flash_io *io)
{
	for (uint32_t i = 0; i < FLASH_BUFFERS; i++) {
		struct flash_buffer *b = &log->buffer[i];

		/* Acquire: pairs with the releases in flash_log_close and flash_log_release. */
		if (atomic_load_explicit(&b->state, memory_order_acquire) != FLASH_CLOSED ||
		    atomic_load_explicit(&b->copies, memory_order_acquire) != 0)
			continue;

		const uint64_t sequence = log->kept->sequence[i];

		seal(log, b, sequence);
		atomic_store_explicit(&b->state, FLASH_WRITING, memory_order_relaxed);
		*io = (struct flash_io){
			.tag = i,
			.offset = flash_log_offset(log,
						   flash_location(flash_slot(log, sequence), 0, 1)),
			.data = b->pages,
			.len = flash_log_segment_bytes(log),
			.kind = FLASH_WRITE};
		return true;
	}
	return false;
}

void
flash_log_wrote(struct flash_log *log, uint32_t buffer, int32_t error)
{
	/* Release: pairs with the acquire in end_write of the shard. */
	atomic_store_explicit(&log->buffer[buffer].state, error == 0 ? FLASH_WRITTEN : FLASH_FAILED,
			      memory_order_release);
}

void
flash_log_free(struct flash_log *log, uint32_t buffer)
{
	struct flash_buffer *b = &log->buffer[buffer];

	atomic_store_explicit(&log->kept->sequence[buffer], 0, memory_order_seq_cst);
	protocol_gap();
	if (atomic_load_explicit(&b->readers, memory_order_seq_cst) == 0)
		atomic_store_explicit(&b->state, FLASH_FREE, memory_order_release);
}

void
flash_log_lose(struct flash_log *log, uint64_t sequence)
{
	const uint32_t slot = flash_slot(log, sequence);

	atomic_fetch_or_explicit(&log->lost[slot / 64], 1ull << slot % 64, memory_order_relaxed);
}

/* ---- what a killed process left ---- */

/* Makes the pages end at this offset. */
static void
truncate(const struct flash_log *log, uint8_t *pages, uint32_t offset)
{
	for (uint32_t p = offset / FLASH_PAYLOAD_BYTES; p < log->c.segment_pages - 1; p++) {
		struct flash_page *h =
			(struct flash_page *)(void *)(pages + (size_t)p * FLASH_PAGE_BYTES);
		const uint32_t used =
			p == offset / FLASH_PAYLOAD_BYTES ? offset % FLASH_PAYLOAD_BYTES : 0;

		h->used = (uint16_t)(h->used < used ? h->used : used);
		if (h->first >= h->used)
			h->first = FLASH_NO_RECORD;
	}
}

static bool
are_pages(const struct flash_log *log, const uint8_t *pages)
{
	for (uint32_t p = 0; p < log->c.segment_pages - 1; p++) {
		struct flash_page h;

		memcpy(&h, pages + (size_t)p * FLASH_PAGE_BYTES, sizeof h);
		if (h.used > FLASH_PAYLOAD_BYTES ||
		    (h.first != FLASH_NO_RECORD && h.first > h.used))
			return false;
	}
	return true;
}

bool
flash_log_adopt(struct flash_log *log, uint32_t buffer)
{
	struct flash_buffer *b = &log->buffer[buffer];
	const uint64_t sequence = log->kept->sequence[buffer];
	const struct flash_pages pages = flash_log_pages(log, buffer);
	struct flash_walk walk = {0};
	struct flash_record record;
	uint32_t whole = 0;

	if (sequence < log->kept->first || sequence == 0 || !flash_log_has(log, sequence)) {
		log->kept->sequence[buffer] = 0;
		return true;
	}
	if (!are_pages(log, payload(log, buffer)))
		return false;
	while (flash_walk_next(&pages, &walk, &record) == FLASH_RECORD)
		whole = walk.next - 1;
	truncate(log, payload(log, buffer), whole);
	b->state = FLASH_CLOSED;
	return true;
}
