/*
 * flash_shard.h - one shard of the tier: finds, adds and removes copies of keys, and never serves a
 * stale one.
 *
 * A key is in the store or in the tier, never in both. The letters of rules, such as (E), are those
 * of FLASH.md.
 *
 * Shape:  an index over a log, and possibly columns, which have records that have left the log. An
 *         entry of the index leads to a page, and with the key to a record that begins on it. A
 *         fingerprint of a column leads to the pages of its bucket. Once an entry that leads to a
 *         page is erased, no further entry leads there. So two equal entries, seen one after the
 *         other, are the same record.
 * Units:  hash: the key's, with the index's seed. generation: the store's, which a flush
 *         increments. core: below FLASH_CORES_MAX.
 * Owner:  the caller: the memory of buckets and buffers, and the state that outlives a restart.
 * Thread: lookups and reads: any, without a lock. flash_log_write, _wrote: the tier's thread. All
 *         else: a core. Functions that need it are called under the key's lock in the store, which
 *         is always taken before the shard's lock.
 * Errors: results. A call that makes the tier forget is never refused.
 * Bounds: the lock is held for one insert, one erasure, or one slice of the sweep, and after a
 *         failed write for a walk over one segment. A turn has at most FLASH_SWEEP_SLICES slices.
 */
#ifndef CLOCKOO_FLASH_SHARD_H
#define CLOCKOO_FLASH_SHARD_H

#include "flash_columns.h"
#include "flash_index.h"
#include "flash_log.h"

#include "base/counter.h"
#include "base/spin.h"

#define FLASH_CORES_MAX    128u
#define FLASH_LOOK_TRIES   8u
#define FLASH_SWEEP_SLICE  64u /* buckets of one slice, under the lock */
#define FLASH_SWEEP_SLICES 64u /* most slices of a turn */
#define FLASH_BAD_MAX      8u  /* segments whose read errors are counted */

#ifndef STORE_GAPS
#define FLASH_BAD_ERRORS 3u /* errors that end a segment */
#else
#define FLASH_BAD_ERRORS 1u
#endif

/* Counters of a shard, changed under its lock: name, description. */
#define FLASH_COUNTERS(X)                                                                          \
	X(FLASH_PUTS, "entries made")                                                              \
	X(FLASH_REFUSED_INDEX, "evicted without a copy: no room in the index")                     \
	X(FLASH_REFUSED_CHANGED, "evicted without a copy: changed, flushed, or on a spent page")   \
	X(FLASH_TOMBS, "tombstones")                                                               \
	X(FLASH_ERASED, "entries erased")                                                          \
	X(FLASH_CLAIMED, "entries claimed")                                                        \
	X(FLASH_UNJOURNALED, "not journaled: the next start is cold")                              \
	X(FLASH_SEGMENTS_OPENED, "segments begun")                                                 \
	X(FLASH_SEGMENTS_LEFT, "of those, in the place of an older one")                           \
	X(FLASH_SEGMENTS_WRITTEN, "segments written")                                              \
	X(FLASH_SEGMENTS_LOST, "segments lost to write errors")                                    \
	X(FLASH_SEGMENTS_GIVEN_UP, "segments given up: unreadable")                                \
	X(FLASH_COLUMN_ERASED, "columns with an erasure")                                          \
	X(FLASH_COLUMNS_MADE, "columns made")                                                      \
	X(FLASH_COLUMNS_GONE, "columns ended for the next")                                        \
	X(FLASH_COLUMN_CHANGED, "items erased while their column was made")                        \
	X(FLASH_REINSERTED, "items reinserted from an ended column")

enum flash_counter { FLASH_COUNTERS(COUNTER_SYMBOL) FLASH_COUNTERS_COUNT };
extern const struct counter_name flash_counter_names[FLASH_COUNTERS_COUNT];

/* For each core, the hash of the key that it last began to move between store and tier. The memory
 * outlives a kill, as flash_kept does: a process that is killed during such a move may leave the
 * key in both. */
struct flash_intents {
	_Atomic uint64_t hash[FLASH_CORES_MAX];
};

struct flash_bad {
	uint64_t sequence;
	uint32_t errors;
};

/* The columns of a shard. Column n has place n % count, in memory and on the device. */
struct flash_column_config {
	uint8_t *memory;         /* flash_columns_bytes(buckets) */
	bool is_kept;            /* the memory has the columns of the previous process */
	uint32_t count, buckets; /* count 0: the shard has a log only */
	uint32_t pages;          /* of a column on the device */
	uint64_t offset;         /* of the first column on the device */
};

struct flash_shard {
	struct spin lock;
	struct flash_index index;
	struct flash_log log;
	struct flash_intents *intents;
	/* Number of flushes that the log has seen, as the store counts them. */
	uint32_t generation;
	/* The sweep. No entry leads to segments up to `clean`; when the present pass ends, to none
	 * up to `pass`. */
	uint64_t clean, pass;
	uint32_t next; /* next bucket of the pass; bucket_count: no pass is in progress */
	/* Entries have died for another reason than the age of their segments. */
	bool died;
	uint64_t written;      /* bytes written to the log, up to the last turn */
	_Atomic bool is_short; /* the last reservation by the tier found no room */
	struct flash_bad bad[FLASH_BAD_MAX];
	uint32_t next_bad;
	struct flash_column_config column;
	struct flash_columns columns;
	_Atomic uint64_t building; /* number of the column being made; 0: none is */
	_Atomic uint32_t is_column_due;
	/* Mask of the columns in which erasures must search: the visible ones, and the one being
	 * made once its rows are put. */
	uint32_t erasable;
	struct counter counters[FLASH_COUNTERS_COUNT]; /* written under the lock */
};

struct flash_shard_config {
	struct flash_log_config log;
	struct bucket *buckets; /* zeroed */
	uint32_t bucket_count;
	struct flash_kept *kept;
	struct flash_intents *intents;
	uint8_t *pages; /* of the log's buffers: zero, or as a process left them */
	uint32_t generation;
	struct flash_column_config column;
};

/* Initialises an empty shard with an open segment. Overwrites the state that a process left;
 * flash_recover.h reads it before. */
void flash_shard_init(struct flash_shard *s, const struct flash_shard_config *config);

/* ---- lookups (L) ---- */

#define FLASH_IN_COLUMN    (1ull << 63)
#define FLASH_LOOK_MATCHES (FLASH_INDEX_MATCHES + FLASH_COLUMN_MATCHES)

/* A candidate of a lookup. In the log: sequence and location are those of its record. In a column:
 * sequence is FLASH_IN_COLUMN and the column's number; location is the page, times two, plus 1 if
 * there are two pages; bucket and slots say where the fingerprint matched. */
struct flash_candidate {
	uint64_t sequence;
	uint32_t location; /* FLASH_USED is set if the used bit was set */
	uint32_t bucket;
	uint8_t slots;
};

static inline bool
flash_is_in_column(const struct flash_candidate *at)
{
	return (at->sequence & FLASH_IN_COLUMN) != 0;
}

static inline uint32_t
flash_candidate_pages(const struct flash_candidate *at)
{
	return flash_is_in_column(at) ? 1 + (at->location & 1) : flash_location_pages(at->location);
}

/* Returns the offset on the device at which the candidate is read. */
uint64_t flash_candidate_offset(const struct flash_shard *s, const struct flash_candidate *at);
/* Sets the candidate's used bit, if the candidate still exists. True if the bit was set before. */
bool flash_candidate_use(struct flash_shard *s, uint64_t hash, const struct flash_candidate *at);

struct flash_look {
	uint32_t moves, tries;
	bool locked;
	uint32_t count;
	struct flash_candidate at[FLASH_LOOK_MATCHES];
};

/* Begin and end a lookup; *look is zero at first. In between the caller looks the key up in the
 * store. If the store has an item, that is the answer; flash_look_end is called all the same. True:
 * if the store and all candidates lack the key, the miss is final. False: the lookup must be
 * repeated. */
void flash_look_begin(struct flash_shard *s, struct flash_look *look);
bool flash_look_end(struct flash_shard *s, struct flash_look *look, uint64_t hash);

/* The cache lines that a lookup of a hash reads. */
struct flash_shard_place {
	struct place index;
	/* Set only if the shard has columns. */
	struct filter_place columns;
	struct flash_columns_seen seen;
};
/* flash_shard_fetch prefetches the lines that a lookup reads first. flash_shard_fetch_more
 * prefetches those that it reads next, once the first have arrived. Both are called at any time
 * before flash_shard_lacks. */
void flash_shard_fetch(const struct flash_shard *s, uint64_t hash, struct flash_shard_place *place);
void flash_shard_fetch_more(const struct flash_shard *s, struct flash_shard_place *place);

/* True if nothing matches, and nothing has moved since flash_index_moves() returned `moves`. Then a
 * miss of the store in between is final. False: a full lookup must decide. */
bool flash_shard_lacks(const struct flash_shard *s, uint32_t moves,
		       const struct flash_shard_place *place);

/* True if the tier may have the key; the caller then makes a full lookup. */
bool flash_may_have(struct flash_shard *s, uint64_t hash);

/* ---- reads (V) ---- */

enum flash_verdict {
	FLASH_FOUND,
	FLASH_OTHER, /* the pages have the records of other keys only */
	/* The record's segment or column no longer counts, so the key must be looked up again. */
	FLASH_AGAIN,
	FLASH_UNREADABLE, /* the request is a miss once the key is erased (E) */
};

struct flash_found {
	struct flash_record record; /* its key points into walk or into the pages */
	struct flash_walk walk; /* value_at: offset of the value in the payloads that were read */
};

/* Copies the candidate's pages if they are still in a buffer. False: the caller reads them from
 * flash, at flash_candidate_offset. */
bool flash_read_buffer(struct flash_shard *s, const struct flash_candidate *at, uint8_t *pages);
enum flash_verdict flash_read_judge(struct flash_shard *s, const struct flash_candidate *at,
				    const uint8_t *pages, bool was_buffer, struct view key,
				    struct flash_found *found);

/* ---- changes ---- */

/* Erases all entries that match the key, and journals that, for a later recovery (S, N, E). Under
 * the key's lock, while the store has no slot of the key. */
void flash_shard_erase(struct flash_shard *s, uint64_t hash);
/* Does what flash_shard_erase does. The place was filled by flash_shard_fetch and
 * flash_shard_fetch_more, at any time before. */
void flash_shard_erase_at(struct flash_shard *s, uint64_t hash, const struct flash_shard_place *p);

/* Claims a candidate, under the key's lock and while the store has no slot of the key. True if it
 * is still the key's entry, and of this generation. Then this function returns with the shard's
 * lock held: the caller publishes or deletes the copy, and calls flash_shard_claimed (P, X). */
bool flash_shard_claim(struct flash_shard *s, uint32_t core, uint64_t hash, uint32_t generation,
		       const struct flash_candidate *at);
void flash_shard_claimed(struct flash_shard *s, uint64_t hash);

/* Evict an item into the tier, in three steps. flash_shard_reserve makes room for its record,
 * without a lock of the store. flash_log_fill copies its value. flash_shard_put makes the entry,
 * under the key's lock, while the item is alive and before its slot is emptied. If one of them is
 * false, the item is evicted as if there were no tier. flash_log_release ends the reservation in
 * any case. */
bool flash_shard_reserve(struct flash_shard *s, const struct flash_record *record,
			 struct flash_reserved *reserved);
bool flash_shard_put(struct flash_shard *s, uint32_t core, uint64_t hash,
		     const struct flash_reserved *reserved, uint8_t status, uint32_t expiry_s);
/* Counts a record that gets no entry, because its item has changed. */
void flash_shard_put_nothing(struct flash_shard *s);

/* Journals that a flush has begun this generation of the store (F). */
void flash_shard_flushed(struct flash_shard *s, uint32_t generation);

/* Handles the ends of writes (W), and makes some slices of the sweep. */
void flash_shard_turn(struct flash_shard *s);

#endif
