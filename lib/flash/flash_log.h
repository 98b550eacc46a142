/*
 * flash_log.h - the log of one shard: a ring of segments on flash, the newest of them in buffers.
 *
 * Shape:  segment s lies in slot s % segments. The newest `live` of them count; the other slots are
 *         being emptied of entries, to be written next. A buffer is free, open (records are added),
 *         closed (until its copies are made), being written, and written or failed until its shard
 *         frees it. A record's head, of kind VOID, is written before its page counts it, and its
 *         kind is written last: a reader of the buffers' bytes at any instant, also after the
 *         process was killed, finds whole records only.
 * Units:  position: sequence and page, in their order. location: slot, page and pages of a record,
 *         1..2^31 - 1. offset: in the payloads from page 1 on.
 * Owner:  struct flash_kept and the pages of buffers: memory that outlives the process, zero first.
 * Thread: flash_log_live, _pin, _offset and lookups: any. flash_log_write and _wrote: the tier's
 *         thread. flash_log_fill: between _reserve and _release without a lock. All else under the
 *         shard's lock.
 * Errors: false: there is no room now.
 * Bounds: segments of 3 pages at least; FLASH_SLOTS_MAX of them.
 */
#ifndef CLOCKOO_FLASH_LOG_H
#define CLOCKOO_FLASH_LOG_H

#include "flash_device.h"
#include "flash_segment.h"

#include <stdatomic.h>

#define FLASH_BUFFERS        2u
#define FLASH_SLOTS_MAX      (1u << 14)
#define FLASH_SLOTS_MIN      8u
#define FLASH_TOMBS_SHARE    16u /* of a segment: where only tombstones go while no buffer is free */
#define FLASH_POSITION(s, p) ((s)*FLASH_SEGMENT_PAGES + (p))
#define FLASH_DROP_OLDER     (1ull << 63) /* in a DROP's number: and all segments before it */
#define FLASH_DROP_ENTRIES   (1ull << 62) /* entries only: the segment's tombstones still hold */
#define FLASH_MARK_OFF       UINT64_MAX   /* all is dead, for good */

/* The state that a restart after a kill needs beside the buffers' pages. */
struct flash_kept {
	_Atomic uint64_t head;  /* the newest segment */
	_Atomic uint64_t first; /* all older segments were forgotten */
	_Atomic uint64_t
		sequence[FLASH_BUFFERS]; /* in this buffer, not on flash for certain; 0: none */
	_Atomic uint32_t unjournaled;    /* an erasure is missing in the log */
};

enum flash_buffer_state {
	FLASH_FREE,
	FLASH_OPEN,
	FLASH_CLOSED,
	FLASH_WRITING,
	FLASH_WRITTEN,
	FLASH_FAILED
};

struct flash_buffer {
	uint8_t *pages;
	_Atomic uint32_t state;
	_Atomic uint32_t copies;  /* records reserved and not settled */
	_Atomic uint32_t readers; /* lookups that copy from the buffer */
	/* Pages of which an entry was erased: they get no entry more (flash_shard.h). */
	uint64_t spent[FLASH_SEGMENT_PAGES / 64];
};

struct flash_log_config {
	struct flash_segment_id id; /* its sequence is unused */
	uint64_t offset;            /* on the device, of slot 0 */
	uint32_t segments, segment_pages;
	uint32_t live;
};

struct flash_log {
	struct flash_log_config c;
	struct flash_kept *kept;
	struct flash_buffer buffer[FLASH_BUFFERS];
	uint32_t open;                               /* buffer; FLASH_BUFFERS: none */
	uint32_t at;                                 /* offset of the next record */
	_Atomic uint64_t head;                       /* as in kept */
	_Atomic uint64_t mark;                       /* position: all records before it are dead */
	_Atomic uint64_t lost[FLASH_SLOTS_MAX / 64]; /* slots whose segment is lost */
};

/* Makes a log without an open segment, whose head is that of kept. pages: FLASH_BUFFERS x
 * segment_pages of them. */
void flash_log_init(struct flash_log *log, const struct flash_log_config *config,
		    struct flash_kept *kept, uint8_t *pages);

static inline uint32_t
flash_log_segment_bytes(const struct flash_log *log)
{
	return log->c.segment_pages * FLASH_PAGE_BYTES;
}

static inline uint32_t
flash_slot(const struct flash_log *log, uint64_t sequence)
{
	return (uint32_t)(sequence % log->c.segments);
}

static inline bool
flash_is_lost(const struct flash_log *log, uint32_t slot)
{
	return (atomic_load_explicit(&log->lost[slot / 64], memory_order_relaxed) >> slot % 64 &
		1) != 0;
}

/* ---- locations ---- */

/* Up to FLASH_LOCATION_EXACT a location has the exact number of pages, beyond it the next multiple
 * of a step: such a read takes two pages more at most, of the same segment. */
#define FLASH_LOCATION_EXACT 128u
#define FLASH_LOCATION_STEP  3u
static_assert(FLASH_LOCATION_EXACT + (256u - FLASH_LOCATION_EXACT) * FLASH_LOCATION_STEP >=
		      FLASH_SEGMENT_PAGES,
	      "eight bits name the pages of any record");

static inline uint32_t
flash_location(uint32_t slot, uint32_t page, uint32_t pages)
{
	const uint32_t more = pages > FLASH_LOCATION_EXACT ? pages - FLASH_LOCATION_EXACT : 0;
	const uint32_t steps = (more + FLASH_LOCATION_STEP - 1) / FLASH_LOCATION_STEP;

	return slot << 17 | page << 8 | (pages - more + steps - 1);
}

static inline uint32_t
flash_location_slot(uint32_t location)
{
	return location >> 17;
}

static inline uint32_t
flash_location_page(uint32_t location)
{
	return location >> 8 & (FLASH_SEGMENT_PAGES - 1);
}

static inline uint32_t
flash_location_pages(uint32_t location)
{
	const uint32_t pages_least = (location & 0xff) + 1, page = flash_location_page(location);
	uint32_t pages = pages_least;

	if (pages_least > FLASH_LOCATION_EXACT)
		pages += (pages_least - FLASH_LOCATION_EXACT) * (FLASH_LOCATION_STEP - 1);
	return pages < FLASH_SEGMENT_PAGES - page ? pages : FLASH_SEGMENT_PAGES - page;
}

/* Returns the pages that a location of a record with such a value has at most. */
static inline uint32_t
flash_record_pages(uint32_t value_max)
{
	const uint32_t pages = (FLASH_HEAD_BYTES_MAX + value_max - 1) / FLASH_PAYLOAD_BYTES + 2;

	return pages <= FLASH_LOCATION_EXACT ? pages : pages + FLASH_LOCATION_STEP - 1;
}

/* Returns the segment of a location if it counts, and its page is not before the mark; else 0. */
uint64_t flash_log_live(const struct flash_log *log, uint32_t location);
/* True if this segment still counts. */
bool flash_log_has(const struct flash_log *log, uint64_t sequence);

/* ---- records ---- */

struct flash_reserved {
	uint64_t sequence;
	uint32_t buffer, offset, head; /* offset of the record; bytes before its value */
	uint32_t location;
	bool has_expiry;
};

/* Payload of a segment. */
static inline uint32_t
flash_log_capacity(const struct flash_log *log)
{
	return (log->c.segment_pages - 1) * FLASH_PAYLOAD_BYTES;
}

/* True if a record of this many bytes needs the next segment. */
bool flash_log_wants_segment(const struct flash_log *log, uint32_t bytes);
/* Closes the open segment, and opens the next, whose slot has no entries, as the shard ensures.
 * False: no buffer is free. */
bool flash_log_open(struct flash_log *log);
/* Closes the open segment to further records. */
void flash_log_close(struct flash_log *log);

/* Reserves room for a record, VOID until it is settled; the caller fills in its value. */
bool flash_log_reserve(struct flash_log *log, const struct flash_record *record,
		       struct flash_reserved *reserved);
void flash_log_fill(struct flash_log *log, const struct flash_reserved *reserved, uint32_t at,
		    const void *bytes, uint32_t len);
/* True if the record may become an entry. Its expiry and status are those given at the
 * reservation. */
bool flash_log_may_settle(const struct flash_log *log, const struct flash_reserved *reserved,
			  uint32_t expiry_s);
void flash_log_settle(struct flash_log *log, const struct flash_reserved *reserved, uint8_t status,
		      uint32_t expiry_s);
/* Releases the room, after it was settled or instead. Also without the lock. */
void flash_log_release(struct flash_log *log, const struct flash_reserved *reserved);

/* Journals a tombstone, a flush or a drop. */
bool flash_log_journal(struct flash_log *log, enum flash_kind kind, uint64_t number);
/* Makes the next record begin on a new page. */
void flash_log_turn_page(struct flash_log *log);
/* Returns the position at which the next record would begin. */
uint64_t flash_log_position(const struct flash_log *log);
/* Prevents records that begin on this page from becoming entries, if it is in a buffer. */
void flash_log_spend(struct flash_log *log, uint32_t location);

/* ---- reads ---- */

/* Returns the buffer of this segment, which keeps it until flash_log_unpin; FLASH_BUFFERS: the
 * segment is on flash. */
uint32_t flash_log_pin(struct flash_log *log, uint64_t sequence);
void flash_log_unpin(struct flash_log *log, uint32_t buffer);
uint64_t flash_log_offset(const struct flash_log *log, uint32_t location);

/* ---- writes: the tier's thread ---- */

/* Completes a closed segment whose copies are made, for the caller to write; its tag is the buffer.
 */
bool flash_log_write(struct flash_log *log, struct flash_io *io);
void flash_log_wrote(struct flash_log *log, uint32_t buffer, int32_t error);

/* ---- ends of writes: under the lock ---- */

/* Frees a buffer whose segment is on flash, or lost. */
void flash_log_free(struct flash_log *log, uint32_t buffer);
void flash_log_lose(struct flash_log *log, uint64_t sequence);

/* A buffer as a killed process left it: closed, with whole records, if its segment counts. False:
 * no process left it so. */
bool flash_log_adopt(struct flash_log *log, uint32_t buffer);

/* A buffer's pages as they are. */
struct flash_pages flash_log_pages(const struct flash_log *log, uint32_t buffer);

#endif
