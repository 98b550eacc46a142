/*
 * flash_segment.c - encodes and decodes the pages and records of the log.
 */
#include "flash_segment.h"

#include "base/crc32c.h"

#include <stdatomic.h>
#include <string.h>

#define SEGMENT_MAGIC 0x32676573666b6c63ull /* "clkfseg2" */

enum head_bits {
	KIND_SHIFT = 8,
	STATUS_SHIFT = 11,
	LONG_SHIFT = 15,
	VALUE_SHIFT = 16,
	FLAGS_SHIFT = 34,
	EXPIRY_SHIFT = 35,
	CAS_BYTES_SHIFT = 36, /* bytes of the cas that are not in the head */
	PACKED_SHIFT = 39,
	CAS_SHIFT = 40,
};
#define VALUE_HERE    ((1u << 18) - 1) /* bits of a value's length that are in the head */
#define VALUE_BITS    18u
#define CAS_HERE_BITS 24u
#define CAS_BYTES_MAX 5u

/* ---- pages ---- */

static uint32_t
page_crc(const uint8_t *page, uint64_t sequence)
{
	const size_t skip = sizeof(uint32_t);

	return crc32c(page + skip, FLASH_PAGE_BYTES - skip,
		      crc32c(&sequence, sizeof sequence, ~0u));
}

void
flash_page_seal(uint8_t *page, uint64_t sequence, uint32_t number, uint32_t first, uint32_t used)
{
	struct flash_page h = {.sequence = (uint32_t)sequence,
			       .number = (uint16_t)number,
			       .first = (uint16_t)first,
			       .used = (uint16_t)used};

	ensure(number < FLASH_SEGMENT_PAGES && used <= FLASH_PAYLOAD_BYTES);
	memset(page + sizeof h + used, 0, FLASH_PAYLOAD_BYTES - used);
	memcpy(page, &h, sizeof h);
	h.crc = page_crc(page, sequence);
	memcpy(page, &h.crc, sizeof h.crc);
}

bool
flash_page_read(const uint8_t *page, uint64_t sequence, uint32_t number, struct flash_page *h)
{
	memcpy(h, page, sizeof *h);
	return h->sequence == (uint32_t)sequence && h->number == number &&
	       h->used <= FLASH_PAYLOAD_BYTES &&
	       (h->first == FLASH_NO_RECORD || h->first <= h->used) &&
	       h->crc == page_crc(page, sequence);
}

struct header_payload {
	uint64_t magic;
	struct flash_segment_id id;
};

void
flash_header_seal(uint8_t *page, const struct flash_segment_id *id)
{
	const struct header_payload p = {.magic = SEGMENT_MAGIC, .id = *id};

	memcpy(page + sizeof(struct flash_page), &p, sizeof p);
	flash_page_seal(page, id->sequence, 0, FLASH_NO_RECORD, sizeof p);
}

bool
flash_header_read(const uint8_t *page, struct flash_segment_id *id)
{
	struct header_payload p;
	struct flash_page h;

	memcpy(&p, page + sizeof h, sizeof p);
	*id = p.id;
	return p.magic == SEGMENT_MAGIC && flash_page_read(page, p.id.sequence, 0, &h) &&
	       h.used == sizeof p;
}

static uint32_t
byte_place(uint32_t offset)
{
	return offset / FLASH_PAYLOAD_BYTES * FLASH_PAGE_BYTES +
	       (uint32_t)sizeof(struct flash_page) + offset % FLASH_PAYLOAD_BYTES;
}

/* Returns how many of the next len bytes lie on the same page as the first. */
static uint32_t
run_of(uint32_t offset, uint32_t len)
{
	const uint32_t left = FLASH_PAYLOAD_BYTES - offset % FLASH_PAYLOAD_BYTES;

	return len < left ? len : left;
}

void
flash_payload_put(uint8_t *pages, uint32_t offset, const void *bytes, uint32_t len)
{
	const uint8_t *from = bytes;

	for (uint32_t run; len != 0; offset += run, from += run, len -= run) {
		run = run_of(offset, len);
		memcpy(pages + byte_place(offset), from, run);
	}
}

void
flash_payload_get(const uint8_t *pages, uint32_t offset, void *bytes, uint32_t len)
{
	uint8_t *to = bytes;

	for (uint32_t run; len != 0; offset += run, to += run, len -= run) {
		run = run_of(offset, len);
		memcpy(to, pages + byte_place(offset), run);
	}
}

/* ---- records ---- */

static uint32_t
add(uint8_t *to, uint32_t at, const void *bytes, uint32_t len)
{
	memcpy(to + at, bytes, len);
	return at + len;
}

static uint32_t
cas_bytes_of(uint64_t cas)
{
	uint32_t n = 0;

	for (uint64_t rest = cas >> CAS_HERE_BITS; rest != 0; rest >>= 8)
		n++;
	return n;
}

static uint32_t
cas_bytes(uint64_t head)
{
	return head >> CAS_BYTES_SHIFT & 7;
}

static bool
has_number(enum flash_kind kind)
{
	return kind == FLASH_TOMB || kind == FLASH_DROP;
}

uint32_t
flash_record_write(uint8_t *to, const struct flash_record *r)
{
	const uint64_t more = r->cas >> CAS_HERE_BITS;
	const uint64_t head = r->key.len | (uint64_t)r->kind << KIND_SHIFT |
			      (uint64_t)r->status << STATUS_SHIFT |
			      (uint64_t)(r->value_len > VALUE_HERE) << LONG_SHIFT |
			      (uint64_t)(r->value_len & VALUE_HERE) << VALUE_SHIFT |
			      (uint64_t)(r->flags != 0) << FLAGS_SHIFT |
			      (uint64_t)(r->expiry_s != 0) << EXPIRY_SHIFT |
			      (uint64_t)cas_bytes_of(r->cas) << CAS_BYTES_SHIFT |
			      (uint64_t)r->packed << PACKED_SHIFT | r->cas << CAS_SHIFT;
	uint32_t at = add(to, 0, &head, FLASH_RECORD_HEAD);

	ensure(r->key.len <= FLASH_KEY_MAX && r->value_len <= FLASH_VALUE_MAX && r->status < 16);
	if (has_number(r->kind))
		return add(to, at, &r->number, sizeof r->number);
	at = add(to, at, &more, cas_bytes_of(r->cas));
	if (r->flags != 0)
		at = add(to, at, &r->flags, sizeof r->flags);
	if (r->expiry_s != 0)
		at = add(to, at, &r->expiry_s, sizeof r->expiry_s);
	if (r->value_len > VALUE_HERE) {
		const uint8_t upper = (uint8_t)(r->value_len >> VALUE_BITS);

		at = add(to, at, &upper, sizeof upper);
	}
	return r->key.len != 0 ? add(to, at, r->key.data, r->key.len) : at;
}

static bool
bit(uint64_t head, uint32_t shift)
{
	return (head >> shift & 1) != 0;
}

/* Returns how many bytes come before the value, from the record's first eight. 0: these eight are
 * no record's. */
static uint32_t
head_bytes(uint64_t head)
{
	const uint32_t key_len = head & 0xff, kind = head >> KIND_SHIFT & 7;
	const uint32_t fields = cas_bytes(head) + (bit(head, FLAGS_SHIFT) ? 4u : 0) +
				(bit(head, EXPIRY_SHIFT) ? 4u : 0) +
				(bit(head, LONG_SHIFT) ? 1u : 0);

	if (kind >= FLASH_KINDS || cas_bytes(head) > CAS_BYTES_MAX || key_len > FLASH_KEY_MAX)
		return 0;
	if (kind == FLASH_PUT || kind == FLASH_VOID)
		return key_len != 0 ? FLASH_RECORD_HEAD + fields + key_len : 0;
	/* A record of another kind has none of an item's fields. */
	if ((head & ~(7ull << KIND_SHIFT)) != 0)
		return 0;
	return FLASH_RECORD_HEAD + (has_number(kind) ? 8u : 0);
}

static const uint8_t *
field_take(const uint8_t *at, void *field, uint32_t len)
{
	if (len != 0)
		memcpy(field, at, len);
	return at + len;
}

uint32_t
flash_record_read(const uint8_t *at, uint32_t len, struct flash_record *r)
{
	uint64_t head, more = 0;
	uint8_t upper = 0;

	if (len < FLASH_RECORD_HEAD)
		return 0;
	memcpy(&head, at, FLASH_RECORD_HEAD);
	*r = (struct flash_record){.kind = head >> KIND_SHIFT & 7, .head = head_bytes(head)};
	if (r->head == 0 || r->head > len)
		return 0;
	at += FLASH_RECORD_HEAD;
	if (has_number(r->kind)) {
		field_take(at, &r->number, sizeof r->number);
		return r->head;
	}
	r->status = head >> STATUS_SHIFT & 0xf;
	r->packed = bit(head, PACKED_SHIFT);
	at = field_take(at, &more, cas_bytes(head));
	r->cas = more << CAS_HERE_BITS | head >> CAS_SHIFT;
	at = field_take(at, &r->flags, bit(head, FLAGS_SHIFT) ? sizeof r->flags : 0);
	at = field_take(at, &r->expiry_s, bit(head, EXPIRY_SHIFT) ? sizeof r->expiry_s : 0);
	at = field_take(at, &upper, bit(head, LONG_SHIFT) ? sizeof upper : 0);
	r->value_len = (uint32_t)upper << VALUE_BITS | (head >> VALUE_SHIFT & VALUE_HERE);
	r->key = (struct view){at, head & 0xff};
	if (bit(head, LONG_SHIFT) && (upper == 0 || r->value_len > FLASH_VALUE_MAX))
		return 0;
	return r->head;
}

void
flash_record_settle(uint8_t *pages, uint32_t offset, uint8_t status, uint32_t expiry_s)
{
	uint64_t head;

	flash_payload_get(pages, offset, &head, sizeof head);
	if (bit(head, EXPIRY_SHIFT))
		flash_payload_put(pages,
				  offset + FLASH_RECORD_HEAD + cas_bytes(head) +
					  (bit(head, FLAGS_SHIFT) ? 4u : 0),
				  &expiry_s, sizeof expiry_s);
	/* The kind is in one byte, so a process that is killed at any moment leaves the old or the
	 * new kind. */
	const uint8_t kind = (uint8_t)(FLASH_PUT | status << (STATUS_SHIFT - KIND_SHIFT) |
				       bit(head, LONG_SHIFT) << (LONG_SHIFT - KIND_SHIFT));

	atomic_thread_fence(memory_order_release);
	flash_payload_put(pages, offset + KIND_SHIFT / 8, &kind, sizeof kind);
}

/* ---- walks through pages ---- */

void
flash_pages_check(struct flash_pages *p)
{
	struct flash_page h;

	for (p->good = 0; p->good < p->count; p->good++)
		if (!flash_page_read(p->bytes + (size_t)p->good * FLASH_PAGE_BYTES,
				     p->sequence + (p->first + p->good) / FLASH_SEGMENT_PAGES,
				     (p->first + p->good) % FLASH_SEGMENT_PAGES, &h))
			return;
}

static bool
page_at(const struct flash_pages *p, uint32_t page, struct flash_page *h)
{
	memcpy(h, p->bytes + (size_t)page * FLASH_PAGE_BYTES, sizeof *h);
	return page < p->good;
}

/* Finds the first record that begins on this page or a later one. If there is none, *offset is the
 * end. False: a page is invalid. */
static bool
first_from(const struct flash_pages *p, uint32_t page, uint32_t *offset)
{
	struct flash_page h;

	for (; page < p->count; page++) {
		if (!page_at(p, page, &h))
			return false;
		if (h.first != FLASH_NO_RECORD && h.first < h.used) {
			*offset = page * FLASH_PAYLOAD_BYTES + h.first;
			return true;
		}
	}
	*offset = page * FLASH_PAYLOAD_BYTES;
	return true;
}

/* Finds how many bytes of payload follow without a gap, up to max. False: a page is invalid. */
static bool
bytes_from(const struct flash_pages *p, uint32_t offset, uint32_t max, uint32_t *len)
{
	uint32_t page = offset / FLASH_PAYLOAD_BYTES, at = offset % FLASH_PAYLOAD_BYTES;
	struct flash_page h;

	for (*len = 0; page < p->count && *len < max; page++, at = 0) {
		if (!page_at(p, page, &h))
			return false;
		*len += h.used > at ? h.used - at : 0;
		if (h.used < FLASH_PAYLOAD_BYTES)
			break;
	}
	*len = *len < max ? *len : max;
	return true;
}

/* True if the page's payload ends at or before this offset. */
static bool
page_ends(const struct flash_pages *p, uint32_t offset)
{
	struct flash_page h;

	return page_at(p, offset / FLASH_PAYLOAD_BYTES, &h) &&
	       offset % FLASH_PAYLOAD_BYTES >= h.used;
}

/* Reads a record that lies on one page, as most do. False: it does not, or is invalid. */
static bool
is_within_page(const struct flash_pages *p, uint32_t offset, struct flash_record *r)
{
	const uint32_t page = offset / FLASH_PAYLOAD_BYTES, at = offset % FLASH_PAYLOAD_BYTES;
	struct flash_page h;

	return page < p->count && page_at(p, page, &h) && at < h.used &&
	       h.used <= FLASH_PAYLOAD_BYTES &&
	       flash_record_read(p->bytes + byte_place(offset), h.used - at, r) != 0 &&
	       r->head + r->value_len <= h.used - at;
}

/* Reads a record that may lie on several pages; its head and key are assembled in w->head. */
static enum flash_step
next_across(const struct flash_pages *p, struct flash_walk *w, struct flash_record *r)
{
	const uint32_t end = p->count * FLASH_PAYLOAD_BYTES;
	uint32_t offset = w->next - 1, len;

	if (w->next == 0 && !first_from(p, 0, &offset))
		return FLASH_BAD;
	/* If the page has no more records, the next one is on a later page. */
	if (offset < end && page_ends(p, offset) &&
	    !first_from(p, offset / FLASH_PAYLOAD_BYTES + 1, &offset))
		return FLASH_BAD;
	w->next = offset + 1;
	if (offset >= end)
		return FLASH_END;
	if (!bytes_from(p, offset, FLASH_HEAD_BYTES_MAX, &len))
		return FLASH_BAD;
	flash_payload_get(p->bytes, offset, w->head, len);
	if (flash_record_read(w->head, len, r) == 0)
		return offset + len == end ? FLASH_PART : FLASH_BAD;
	w->value_at = offset + r->head;
	w->next = w->value_at + r->value_len + 1;
	if (!bytes_from(p, offset, r->head + r->value_len, &len))
		return FLASH_BAD;
	if (len == r->head + r->value_len)
		return FLASH_RECORD;
	return offset + len == end ? FLASH_PART : FLASH_BAD;
}

enum flash_step
flash_walk_next(const struct flash_pages *p, struct flash_walk *w, struct flash_record *r)
{
	const uint32_t offset = w->next - 1;

	if (w->next == 0 || !is_within_page(p, offset, r))
		return next_across(p, w, r);
	w->value_at = offset + r->head;
	w->next = w->value_at + r->value_len + 1;
	return FLASH_RECORD;
}

/* Returns the length of the next record if it has another key and ends on this page; otherwise
 * 0. */
static uint32_t
other_bytes(const uint8_t *at, uint32_t left, struct view key)
{
	uint64_t head;
	uint32_t before, all;

	if (left < FLASH_RECORD_HEAD)
		return 0;
	memcpy(&head, at, FLASH_RECORD_HEAD);
	before = head_bytes(head);
	all = before + (head >> VALUE_SHIFT & VALUE_HERE);
	if (before == 0 || bit(head, LONG_SHIFT) || all > left)
		return 0;
	return (head & 0xff) == key.len && memcmp(at + before - key.len, key.data, key.len) == 0
		       ? 0
		       : all;
}

void
flash_walk_skip(const struct flash_pages *p, struct flash_walk *w, struct view key)
{
	uint32_t offset = w->next - 1, bytes;
	struct flash_page h;

	if (w->next == 0 && !first_from(p, 0, &offset))
		return;

	const uint32_t page = offset / FLASH_PAYLOAD_BYTES;

	if (page < p->count && page_at(p, page, &h) && h.used <= FLASH_PAYLOAD_BYTES)
		for (uint32_t at = offset % FLASH_PAYLOAD_BYTES; at < h.used; at += bytes) {
			bytes = other_bytes(p->bytes + byte_place(offset), h.used - at, key);
			if (bytes == 0)
				break;
			offset += bytes;
		}
	w->next = offset + 1;
}
