/*
 * flash_shard.h - one shard of the tier: the keys it has, none of them with a stale copy.
 *
 * A key is in the store or in the tier, never in both (FLASH.md, whose letters name the rules).
 *
 * Shape:  an index over a log, and perhaps columns: records that left the log, by their hash. An
 *         entry of the index leads to a page and the record of its key that begins there; a
 *         fingerprint of a column to the pages of its bucket. A page of which an entry was erased
 *         gets no entry more: so an entry that was seen, erased and is seen again is the same only
 *         if its record is.
 * Units:  hash: of the key by the index's seed. generation: the store's, of flush. core: below
 *         FLASH_CORES_MAX.
 * Owner:  the caller: memory for buckets and buffers, and the state kept over a restart.
 * Thread: lookups and reads: any, without a lock. flash_log_write, _wrote: the tier's thread. All
 *         else: a core; those that say so under the key's lock in the store, which is always taken
 *         before the shard's.
 * Errors: results; nothing is refused that forgets.
 * Bounds: under the lock an insert, an erasure, a slice of the sweep, of which a turn has
 *         FLASH_SWEEP_SLICES; a walk of one segment after a failed write.
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
#define FLASH_SWEEP_SLICE  64u /* buckets, at once under the lock */
#define FLASH_SWEEP_SLICES 64u /* a turn, at most */
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

/* Each core notes here the key that it is moving between store and tier, in memory that outlives a
 * kill as flash_kept does: a process killed now may leave the key in both. */
struct flash_intents {
	_Atomic uint64_t hash[FLASH_CORES_MAX];
};

struct flash_bad {
	uint64_t sequence;
	uint32_t errors;
};

/* Column n of a shard lies in place n % count, in memory and on the device. */
struct flash_column_config {
	uint8_t *memory;         /* flash_columns_bytes(buckets) */
	bool is_kept;            /* the memory is as the process before left it */
	uint32_t count, buckets; /* count 0: the shard has a log only */
	uint32_t pages;          /* of a column on the device */
	uint64_t offset;         /* of the first column on the device */
};

struct flash_shard {
	struct spin lock;
	struct flash_index index;
	struct flash_log log;
	struct flash_intents *intents;
	uint32_t generation; /* of the last flush that the log has */
	/* The sweep: segments up to clean have no entries; a pass under way clears those up to
	 * pass. */
	uint64_t clean, pass;
	uint32_t next;         /* bucket of the pass; bucket_count: none is under way */
	bool died;             /* entries died other than by age */
	uint64_t written;      /* bytes of the log at the last turn */
	_Atomic bool is_short; /* the tier's last reservation found no room */
	struct flash_bad bad[FLASH_BAD_MAX];
	uint32_t next_bad;
	struct flash_column_config column;
	struct flash_columns columns;
	_Atomic uint64_t building; /* number of the column that is made; 0: none */
	_Atomic uint32_t is_column_due;
	uint32_t erasable; /* columns that looks see, and the one that is made once it is put */
	struct counter counters[FLASH_COUNTERS_COUNT]; /* written under the lock */
};

struct flash_shard_config {
	struct flash_log_config log;
	struct bucket *buckets; /* zeroed */
	uint32_t bucket_count;
	struct flash_kept *kept;
	struct flash_intents *intents;
	uint8_t *pages; /* of the buffers, zeroed or kept */
	uint32_t generation;
	struct flash_column_config column;
};

/* Makes an empty shard with an open segment. Overwrites the kept state (flash_recover.h reads it
 * first). */
void flash_shard_init(struct flash_shard *s, const struct flash_shard_config *config);

/* ---- lookups (L) ---- */

#define FLASH_IN_COLUMN    (1ull << 63)
#define FLASH_LOOK_MATCHES (FLASH_INDEX_MATCHES + FLASH_COLUMN_MATCHES)

/* A candidate of a lookup. In the log: a segment and a location there. In a column: its number and
 * FLASH_IN_COLUMN; the page and, in the lowest bit, whether there are two; its bucket, and the
 * slots that match. */
struct flash_candidate {
	uint64_t sequence;
	uint32_t location; /* and FLASH_USED */
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
/* Sets the candidate's used bit, if it still exists. Returns whether it was set before. */
bool flash_candidate_use(struct flash_shard *s, uint64_t hash, const struct flash_candidate *at);

struct flash_look {
	uint32_t moves, tries;
	bool locked;
	uint32_t count;
	struct flash_candidate at[FLASH_LOOK_MATCHES];
};

/* Begin and end a lookup, which is zero at first. Between the two the caller looks the key up in
 * the store; an item found there is the answer, and end is called all the same. True: a miss of the
 * store and of all candidates is final. False: begin again. */
void flash_look_begin(struct flash_shard *s, struct flash_look *look);
bool flash_look_end(struct flash_shard *s, struct flash_look *look, uint64_t hash);

/* The lines that a lookup of a hash reads. */
struct flash_shard_place {
	struct place index;
	/* Used by a shard with columns. */
	struct filter_place columns;
	struct flash_columns_seen seen;
};
/* Prefetch the lines that a lookup reads first, and then those that it reads next, once the first
 * have arrived. Both come before flash_shard_lacks, at any time. */
void flash_shard_fetch(const struct flash_shard *s, uint64_t hash, struct flash_shard_place *place);
void flash_shard_fetch_more(const struct flash_shard *s, struct flash_shard_place *place);

/* True if nothing matches and nothing moved since moves was flash_index_moves(): a miss of the
 * store seen after that is final. False: a full lookup must decide. */
bool flash_shard_lacks(const struct flash_shard *s, uint32_t moves,
		       const struct flash_shard_place *place);

/* True if the tier may have the key, for a caller that then makes a full lookup. */
bool flash_may_have(struct flash_shard *s, uint64_t hash);

/* ---- reads (V) ---- */

enum flash_verdict {
	FLASH_FOUND,
	FLASH_OTHER,      /* the record of another key */
	FLASH_AGAIN,      /* its segment has left the log: look again */
	FLASH_UNREADABLE, /* a miss, once the key is erased (E) */
};

struct flash_found {
	struct flash_record record; /* its key lies in walk */
	struct flash_walk walk;     /* value_at: the value, in the payloads that were read */
};

/* Copies the candidate's pages if they are still in memory. False: the caller reads them from
 * flash, at flash_candidate_offset. */
bool flash_read_buffer(struct flash_shard *s, const struct flash_candidate *at, uint8_t *pages);
enum flash_verdict flash_read_judge(struct flash_shard *s, const struct flash_candidate *at,
				    const uint8_t *pages, bool was_buffer, struct view key,
				    struct flash_found *found);

/* ---- changes ---- */

/* Erases all entries that match a key without a slot in the store, under the key's lock, also for a
 * later recovery (S, N, E). */
void flash_shard_erase(struct flash_shard *s, uint64_t hash);
/* Erases as flash_shard_erase, with a place that was fetched, and fetched more of, at any time
 * before. */
void flash_shard_erase_at(struct flash_shard *s, uint64_t hash, const struct flash_shard_place *p);

/* True if, under the key's lock and without a slot in the store, this is still the key's entry, of
 * this generation. Then the shard's lock is held; the caller publishes or deletes the copy, and
 * calls flash_shard_claimed (P, X). */
bool flash_shard_claim(struct flash_shard *s, uint32_t core, uint64_t hash, uint32_t generation,
		       const struct flash_candidate *at);
void flash_shard_claimed(struct flash_shard *s, uint64_t hash);

/* Evict an item into the tier: flash_shard_reserve makes room for its record, without a lock of the
 * store; flash_log_fill copies it; flash_shard_put makes the entry, under the key's lock, while the
 * item is alive and before its slot is emptied. False: the item is evicted as without a tier. After
 * flash_shard_put, or instead of it, flash_log_release releases the room. */
bool flash_shard_reserve(struct flash_shard *s, const struct flash_record *record,
			 struct flash_reserved *reserved);
bool flash_shard_put(struct flash_shard *s, uint32_t core, uint64_t hash,
		     const struct flash_reserved *reserved, uint8_t status, uint32_t expiry_s);
/* Counts a record that is not entered because its item changed. */
void flash_shard_put_nothing(struct flash_shard *s);

/* Journals that a flush has begun this generation in the store (F). */
void flash_shard_flushed(struct flash_shard *s, uint32_t generation);

/* Handles the ends of writes (W), and sweeps a slice. */
void flash_shard_turn(struct flash_shard *s);

#endif
