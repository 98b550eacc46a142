/*
 * flash_segment.h - segments of the log on flash: pages with sums, records that cross them.
 *
 * A device may return any bytes, so a page is valid only if it was written as this page of this
 * segment: its sum covers its bytes, the segment's sequence and its number.
 *
 * Shape:  a segment is FLASH_SEGMENT_PAGES pages. Page 0 is its header, the others have payload
 *         behind struct flash_page. Records lie one after the other in the payloads, also across
 *         the border of two pages; where a page is not full the next record begins in the next one.
 *         A record is 8 bytes of head; the rest of the cas, flags, expiry and length that it has;
 *         its key; its value. Of a FLASH_TOMB 8 bytes of hash follow instead, of a FLASH_DROP 8 of
 * number.
 *
 *           0       8      11       15  16         34       35       36          39  40    64
 *           |key len|kind:3|status:4|long:1|value len:18|flags:1|expiry:1|cas
 * bytes:3|packed:1|cas:24|
 *
 *         long: a byte of it follows, the upper bits of the value's length.
 *
 * Units:  bytes. offset: in the payloads of the pages given, the first one's first byte is 0.
 *         sequence: of segments of a stream, never twice. expiry_s: seconds on the tier's clock.
 * Thread: pure functions of bytes.
 * Errors: false, 0: the bytes are not of this form.
 * Bounds: values of FLASH_VALUE_MAX bytes; a step of a walk is at least 8 bytes.
 */
#ifndef CLOCKOO_FLASH_SEGMENT_H
#define CLOCKOO_FLASH_SEGMENT_H

#include "base/bytes.h"
#include "base/check.h"

#define FLASH_PAGE_BYTES     4096u
#define FLASH_SEGMENT_BYTES  (2u << 20)
#define FLASH_SEGMENT_PAGES  (FLASH_SEGMENT_BYTES / FLASH_PAGE_BYTES)
#define FLASH_KEY_MAX        250u
#define FLASH_RECORD_HEAD    8u
#define FLASH_RECORD_FIELDS  (FLASH_RECORD_HEAD + 5u + 4u + 4u) /* of one that is not long */
#define FLASH_HEAD_BYTES_MAX (FLASH_RECORD_FIELDS + 1u + FLASH_KEY_MAX)

/* ---- pages ---- */

struct flash_page {
	uint32_t crc; /* CRC32C of the whole sequence, and of the rest of the page */
	uint32_t sequence;
	uint16_t number;
	uint16_t first; /* offset of the first record that begins here, or FLASH_NO_RECORD */
	uint16_t used;  /* bytes of payload */
	uint16_t reserved;
};
static_assert(sizeof(struct flash_page) == 16, "it stands on flash");
#define FLASH_PAYLOAD_BYTES (FLASH_PAGE_BYTES - (uint32_t)sizeof(struct flash_page))
#define FLASH_NO_RECORD     0xffffu
/* A record lies in one segment. */
#define FLASH_VALUE_MAX ((FLASH_SEGMENT_PAGES - 1) * FLASH_PAYLOAD_BYTES - FLASH_HEAD_BYTES_MAX)

/* Completes a page that has its payload, and zeroes the rest of it. */
void flash_page_seal(uint8_t *page, uint64_t sequence, uint32_t number, uint32_t first,
		     uint32_t used);
bool flash_page_read(const uint8_t *page, uint64_t sequence, uint32_t number,
		     struct flash_page *header);

/* The identity of a segment, in page 0. */
struct flash_segment_id {
	uint64_t device, incarnation, sequence;
	uint32_t shard, stream;
};
void flash_header_seal(uint8_t *page, const struct flash_segment_id *id);
bool flash_header_read(const uint8_t *page, struct flash_segment_id *id);

/* Copy bytes into or out of the payloads of consecutive pages. */
void flash_payload_put(uint8_t *pages, uint32_t offset, const void *bytes, uint32_t len);
void flash_payload_get(const uint8_t *pages, uint32_t offset, void *bytes, uint32_t len);

/* ---- records ---- */

enum flash_kind { FLASH_VOID, FLASH_PUT, FLASH_TOMB, FLASH_FLUSH, FLASH_DROP, FLASH_KINDS };

struct flash_record {
	enum flash_kind kind;
	uint8_t status; /* four of the item's bits */
	bool packed;    /* the value's value_len bytes are packed: flash_pack.h */
	uint32_t value_len, flags, expiry_s;
	uint64_t cas;
	uint64_t number; /* a tombstone's hash, or what a drop removes */
	struct view key; /* in the bytes that were read */
	uint32_t head;   /* bytes before the value */
};

/* Writes a record without its value. Returns its bytes, at most FLASH_HEAD_BYTES_MAX. */
uint32_t flash_record_write(uint8_t *to, const struct flash_record *record);
/* Reads a record from len bytes, which may be fewer than it has. Returns its bytes before the
 * value; 0: it is no record. */
uint32_t flash_record_read(const uint8_t *at, uint32_t len, struct flash_record *record);

/* Turns the VOID at this offset into a PUT with this status, and with this expiry if it has one;
 * the kind is written last. */
void flash_record_settle(uint8_t *pages, uint32_t offset, uint8_t status, uint32_t expiry_s);

/* ---- walks through pages ---- */

/* Consecutive pages, as they were read. Page n has the sequence and number of page n %
 * FLASH_SEGMENT_PAGES of segment n / FLASH_SEGMENT_PAGES; a column has more pages than one
 * segment. */
struct flash_pages {
	const uint8_t *bytes;
	uint64_t sequence;
	uint32_t count, first; /* number of pages; number of the first one */
	uint32_t good;         /* valid pages at the beginning, by flash_pages_check() */
};
void flash_pages_check(struct flash_pages *pages);

/* A walk over the records that begin in these pages, in their order; zeros at its beginning. Its
 * record's key is in the pages, or in head if it may lie on two of them. */
struct flash_walk {
	uint32_t next; /* offset, plus 1; 0: not begun */
	uint32_t value_at;
	uint8_t head[FLASH_HEAD_BYTES_MAX];
};

enum flash_step {
	FLASH_RECORD, /* value_at: offset of its value, which is complete */
	FLASH_PART,   /* its end is beyond these pages */
	FLASH_END,
	FLASH_BAD, /* a page or a record is invalid: nothing after it is known */
};
enum flash_step flash_walk_next(const struct flash_pages *pages, struct flash_walk *walk,
				struct flash_record *record);
/* Skips records of other keys on the present page, as far as possible. */
void flash_walk_skip(const struct flash_pages *pages, struct flash_walk *walk, struct view key);

#endif
