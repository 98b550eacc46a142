/*
 * flash_segment.h - segments of the log on flash: pages with sums, records that cross them.
 *
 * A device may return any bytes. So each page has a sum, over its bytes, the segment's sequence and
 * the page's number: a page is valid only if it was written as this page of this segment.
 *
 * Shape:  a segment is FLASH_SEGMENT_PAGES pages. Page 0 is its header; the others have a struct
 *         flash_page, followed by payload. Records follow one another in the payloads, and may
 *         cross from one page to the next. If a page's payload is not full, the next record begins
 *         on the next page. A record has a head of 8 bytes; then as much of cas, flags, expiry and
 *         length as the head says; then its key and its value. A FLASH_TOMB has 8 bytes of hash
 *         instead, a FLASH_DROP 8 bytes of number.
 *
 *           0       8      11       15   16           34    35     36          39     40     64
 *           |key len|kind:3|status:4|long|value len:18|flags|expiry|cas bytes:3|packed|cas:24|
 *
 *         If the bit "long" is set, a byte with the upper bits of the value's length follows.
 *
 * Units:  bytes. offset: a position in the payloads of the given pages, joined. sequence: a
 *         segment's number, never used twice in a shard. expiry_s: seconds on the tier's clock.
 * Thread: pure functions of bytes.
 * Errors: false, 0: the bytes do not have this form.
 * Bounds: values of FLASH_VALUE_MAX bytes; each step of a walk advances at least 8 bytes.
 */
#ifndef CLOCKOO_FLASH_SEGMENT_H
#define CLOCKOO_FLASH_SEGMENT_H

#include "base/bytes.h"
#include "base/check.h"

#define FLASH_PAGE_BYTES    4096u
#define FLASH_SEGMENT_BYTES (2u << 20)
#define FLASH_SEGMENT_PAGES (FLASH_SEGMENT_BYTES / FLASH_PAGE_BYTES)
#define FLASH_KEY_MAX       250u
#define FLASH_RECORD_HEAD   8u
/* Head and fields of a record without the bit "long". */
#define FLASH_RECORD_FIELDS  (FLASH_RECORD_HEAD + 5u + 4u + 4u)
#define FLASH_HEAD_BYTES_MAX (FLASH_RECORD_FIELDS + 1u + FLASH_KEY_MAX)

/* ---- pages ---- */

struct flash_page {
	uint32_t crc;      /* CRC32C of the whole 64-bit sequence, and of the rest of the page */
	uint32_t sequence; /* the lower bits */
	uint16_t number;
	/* Offset of the first record that begins on this page; FLASH_NO_RECORD: none does. */
	uint16_t first;
	uint16_t used; /* bytes of payload */
	uint16_t reserved;
};
static_assert(sizeof(struct flash_page) == 16, "it stands on flash");
#define FLASH_PAYLOAD_BYTES (FLASH_PAGE_BYTES - (uint32_t)sizeof(struct flash_page))
#define FLASH_NO_RECORD     0xffffu
/* A record lies in one segment. */
#define FLASH_VALUE_MAX ((FLASH_SEGMENT_PAGES - 1) * FLASH_PAYLOAD_BYTES - FLASH_HEAD_BYTES_MAX)

/* Completes a page whose payload is in place: zeroes the rest of the page, and writes its
 * header. */
void flash_page_seal(uint8_t *page, uint64_t sequence, uint32_t number, uint32_t first,
		     uint32_t used);
bool flash_page_read(const uint8_t *page, uint64_t sequence, uint32_t number,
		     struct flash_page *header);

/* The identity of a segment, which page 0 states. */
struct flash_segment_id {
	uint64_t device, incarnation, sequence;
	uint32_t shard, stream;
};
void flash_header_seal(uint8_t *page, const struct flash_segment_id *id);
bool flash_header_read(const uint8_t *page, struct flash_segment_id *id);

/* Copy bytes into, or out of, the payloads of consecutive pages. */
void flash_payload_put(uint8_t *pages, uint32_t offset, const void *bytes, uint32_t len);
void flash_payload_get(const uint8_t *pages, uint32_t offset, void *bytes, uint32_t len);

/* ---- records ---- */

enum flash_kind { FLASH_VOID, FLASH_PUT, FLASH_TOMB, FLASH_FLUSH, FLASH_DROP, FLASH_KINDS };

struct flash_record {
	enum flash_kind kind;
	uint8_t status; /* the four bits of the item's status that flash keeps */
	bool packed;    /* the value_len bytes are a packed value (flash_pack.h) */
	uint32_t value_len, flags, expiry_s;
	uint64_t cas;
	uint64_t number; /* of a TOMB: the hash; of a DROP: what it drops */
	struct view key; /* points into the bytes that were read */
	uint32_t head;   /* bytes before the value */
};

/* Writes a record without its value. Returns its bytes, at most FLASH_HEAD_BYTES_MAX. */
uint32_t flash_record_write(uint8_t *to, const struct flash_record *record);
/* Reads a record from len bytes, which may end within it. Returns the number of bytes before its
 * value; 0: the bytes are no record. */
uint32_t flash_record_read(const uint8_t *at, uint32_t len, struct flash_record *record);

/* Turns the VOID record at this offset into a PUT with this status, and with this expiry if it was
 * reserved with one. The kind is written last. */
void flash_record_settle(uint8_t *pages, uint32_t offset, uint8_t status, uint32_t expiry_s);

/* ---- walks through pages ---- */

/* Consecutive pages of a segment or a column, as they were read. A column may have more pages than
 * a segment has. Page n of it was written with the number n % FLASH_SEGMENT_PAGES, and with n /
 * FLASH_SEGMENT_PAGES added to `sequence`. */
struct flash_pages {
	const uint8_t *bytes;
	uint64_t sequence;
	uint32_t count, first; /* number of pages; number n of the first page */
	uint32_t good; /* number of valid pages at the beginning; set by flash_pages_check() */
};
void flash_pages_check(struct flash_pages *pages);

/* A walk over the records that begin on these pages, in order. It begins as zeros. A record's key
 * points into the pages, or into head if the key may be on two pages. */
struct flash_walk {
	uint32_t next; /* offset of the next record, plus 1; 0: the walk has not begun */
	uint32_t value_at;
	uint8_t head[FLASH_HEAD_BYTES_MAX];
};

enum flash_step {
	FLASH_RECORD, /* a record; its value is complete and begins at offset value_at */
	FLASH_PART,   /* the record's end is beyond these pages */
	FLASH_END,
	FLASH_BAD, /* a page or a record is invalid, so what follows is not known */
};
enum flash_step flash_walk_next(const struct flash_pages *pages, struct flash_walk *walk,
				struct flash_record *record);
/* Skips records of other keys on the present page, as far as it can without crossing to another. */
void flash_walk_skip(const struct flash_pages *pages, struct flash_walk *walk, struct view key);

#endif
