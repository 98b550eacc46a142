/*
 * flash_log.h - the log of one shard: a ring of segments on flash, the newest of them in buffers.
 *
 * Shape:  segment s is in slot s % segments. The newest `live` segments count. The entries that
 *         lead to the other slots are being removed, so that these slots can be written next. A
 *         buffer is free, open (records are added), closed (until its copies are made), being
 *         written, and then written or failed until the shard frees it. A record's head, of kind
 *         VOID, is written before the page's header counts its bytes, and the final kind is written
 *         last. So a reader of the buffer finds only complete records at any moment, even after the
 *         process was killed.
 * Units:  position: a segment's sequence and a page, as one number that grows. location: slot, page
 *         and number of pages of a record, 1..2^31 - 1. offset: a byte's place in the payloads from
 *         page 1 on.
 * Owner:  struct flash_kept and the buffers' pages are in memory that outlives the process and is
 *         zero at first.
 * Thread: flash_log_live, _has, _pin, _unpin, _offset: any. flash_log_write and _wrote: the tier's
 *         thread. flash_log_fill and _release: the core that has the reservation, without a lock.
 *         All else: under the shard's lock.
 * Errors: false: there is no room now.
 * Bounds: segments of 3 pages at least; FLASH_SLOTS_MAX of them.
 */
#ifndef CLOCKOO_FLASH_LOG_H
#define CLOCKOO_FLASH_LOG_H

#include "flash_device.h"
#include "flash_segment.h"

#include <stdatomic.h>

#define FLASH_BUFFERS   2u
#define FLASH_SLOTS_MAX (1u << 14)
#define FLASH_SLOTS_MIN 8u
/* Reserves the last 1/FLASH_TOMBS_SHARE of a segment for tombstones while no buffer is free. */
#define FLASH_TOMBS_SHARE    16u
#define FLASH_POSITION(s, p) ((s)*FLASH_SEGMENT_PAGES + (p))
/* Flag in the number of a DROP: all earlier segments are dropped, too. */
#define FLASH_DROP_OLDER (1ull << 63)
/* Flag in the number of a DROP: only the segment's entries are dropped; its tombstones stay
 * valid. */
#define FLASH_DROP_ENTRIES (1ull << 62)
/* The mark of a tier that is turned off: every record is dead. */
#define FLASH_MARK_OFF UINT64_MAX

/* The state that a start after a kill needs, besides the buffers' pages. */
struct flash_kept {
	_Atomic uint64_t head;  /* the newest segment */
	_Atomic uint64_t first; /* the oldest segment that is not forgotten */
	/* For each buffer, the segment in it, which may not be on flash yet; 0: none. */
	_Atomic uint64_t sequence[FLASH_BUFFERS];
	_Atomic uint32_t unjournaled; /* an erasure is missing in the log */
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
	_Atomic uint32_t copies;  /* records that are reserved and not released */
	_Atomic uint32_t readers; /* lookups that are copying from the buffer */
	/* Bit n: an entry was erased that leads to page n. No further entry may lead to that page
	 * (flash_shard.h). */
	uint64_t spent[FLASH_SEGMENT_PAGES / 64];
};

struct flash_log_config {
	struct flash_segment_id id; /* its sequence is not used */
	uint64_t offset;            /* of slot 0, in bytes from the device's beginning */
	uint32_t segments;          /* slots */
	uint32_t segment_pages;     /* pages of a segment */
	uint32_t live;              /* how many of the newest segments count; fewer than segments */
};

struct flash_log {
	struct flash_log_config c;
	struct flash_kept *kept;
	struct flash_buffer buffer[FLASH_BUFFERS];
	uint32_t open;         /* index of the open buffer; FLASH_BUFFERS: none */
	uint32_t at;           /* offset of the next record */
	_Atomic uint64_t head; /* as in kept */
	_Atomic uint64_t mark; /* a position; all records before it are dead */
	_Atomic uint64_t lost[FLASH_SLOTS_MAX / 64]; /* bit n: the segment in slot n is lost */
};

/* Initialises a log without an open segment, whose head is that of kept. pages: FLASH_BUFFERS x
 * segment_pages pages. */
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

/* A location has the exact number of pages up to FLASH_LOCATION_EXACT. Above that, the excess is
 * rounded up to a multiple of FLASH_LOCATION_STEP, so a read may include up to two pages too many,
 * of the same segment. */
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

/* Returns the most pages of a location, for values of at most value_max bytes. */
static inline uint32_t
flash_record_pages(uint32_t value_max)
{
	const uint32_t pages = (FLASH_HEAD_BYTES_MAX + value_max - 1) / FLASH_PAYLOAD_BYTES + 2;

	return pages <= FLASH_LOCATION_EXACT ? pages : pages + FLASH_LOCATION_STEP - 1;
}

/* Returns the sequence of a location's segment if the segment counts and the page is not before the
 * mark; otherwise 0. */
uint64_t flash_log_live(const struct flash_log *log, uint32_t location);
/* True if this segment counts. */
bool flash_log_has(const struct flash_log *log, uint64_t sequence);

/* ---- records ---- */

struct flash_reserved {
	uint64_t sequence;
	uint32_t buffer; /* the buffer's index */
	uint32_t offset; /* offset of the record */
	uint32_t head;   /* bytes before the record's value */
	uint32_t location;
	bool has_expiry; /* whether the record has an expiry, which settling cannot change */
};

/* Returns the bytes of payload in a segment. */
static inline uint32_t
flash_log_capacity(const struct flash_log *log)
{
	return (log->c.segment_pages - 1) * FLASH_PAYLOAD_BYTES;
}

/* True if a record of this many bytes does not fit into the open segment. */
bool flash_log_wants_segment(const struct flash_log *log, uint32_t bytes);
/* Closes the open segment and opens the next one. The shard has ensured that no entry leads to the
 * next one's slot. False: no buffer is free. */
bool flash_log_open(struct flash_log *log);
/* Closes the open segment; it gets no further record. */
void flash_log_close(struct flash_log *log);

/* Reserves room for a record, which is VOID until it is settled. The caller copies the value with
 * flash_log_fill, where `at` counts from the value's beginning. */
bool flash_log_reserve(struct flash_log *log, const struct flash_record *record,
		       struct flash_reserved *reserved);
void flash_log_fill(struct flash_log *log, const struct flash_reserved *reserved, uint32_t at,
		    const void *bytes, uint32_t len);
/* True if the record may become an entry: its segment still counts, no entry of its page was
 * erased, and the item has an expiry if and only if it had one at the reservation. */
bool flash_log_may_settle(const struct flash_log *log, const struct flash_reserved *reserved,
			  uint32_t expiry_s);
void flash_log_settle(struct flash_log *log, const struct flash_reserved *reserved, uint8_t status,
		      uint32_t expiry_s);
/* Ends a reservation, settled or not. Needs no lock. */
void flash_log_release(struct flash_log *log, const struct flash_reserved *reserved);

/* Writes a record of kind TOMB, FLUSH or DROP. False: the open segment has no room. */
bool flash_log_journal(struct flash_log *log, enum flash_kind kind, uint64_t number);
/* Makes the next record begin on a new page. */
void flash_log_turn_page(struct flash_log *log);
/* Returns the position at which the next record would begin. */
uint64_t flash_log_position(const struct flash_log *log);
/* Prevents records that begin on this page from becoming entries, if the page is in a buffer. */
void flash_log_spend(struct flash_log *log, uint32_t location);

/* ---- reads ---- */

/* Returns the buffer that has this segment; it stays there until flash_log_unpin. FLASH_BUFFERS:
 * the segment is on flash. */
uint32_t flash_log_pin(struct flash_log *log, uint64_t sequence);
void flash_log_unpin(struct flash_log *log, uint32_t buffer);
uint64_t flash_log_offset(const struct flash_log *log, uint32_t location);

/* ---- writes: the tier's thread ---- */

/* Completes the pages of a closed segment whose copies are made. The caller submits io, whose tag
 * is the buffer's index. False: there is no such segment. */
bool flash_log_write(struct flash_log *log, struct flash_io *io);
void flash_log_wrote(struct flash_log *log, uint32_t buffer, int32_t error);

/* ---- ends of writes: under the lock ---- */

/* flash_log_free: frees a buffer whose segment is on flash, or is lost. flash_log_lose: marks a
 * segment as lost. */
void flash_log_free(struct flash_log *log, uint32_t buffer);
void flash_log_lose(struct flash_log *log, uint64_t sequence);

/* Takes over a buffer that a killed process left: as closed, with its complete records, if its
 * segment counts. False: no process can have left these pages. */
bool flash_log_adopt(struct flash_log *log, uint32_t buffer);

/* Returns the pages of a buffer, for a walk. */
struct flash_pages flash_log_pages(const struct flash_log *log, uint32_t buffer);

#endif
