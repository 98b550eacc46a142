/*
 * flash_tier.h - the tier of one store: implements the store's hooks by shards; and the work of the
 * tier's thread.
 *
 * Shape:  a key has a shard in each stream, numbered hash % (shards / streams). If there are two
 *         streams, the first has the records that may move to a column, the second the larger ones.
 *         For an evicted item, a record is reserved and the value copied without a lock of the
 *         store; its entry is made under the key's lock (FLASH.md, "The life of an item"). An item
 *         beyond the turn's budget waits in memory.
 * Units:  bytes.
 * Owner:  the caller: the shards, initialised or recovered, and the tier. Both outlive the store's
 *         last call.
 * Thread: hooks and flash_tier_turn: the core named. struct flash_writer: the tier's thread.
 * Errors: none. An item that is not admitted is evicted as if there were no tier, and counted.
 * Bounds: FLASH_OFFERS offers of a core are open. In one turn a core copies FLASH_COPY_TURN bytes,
 *         and at most FLASH_COPY_PIECE more; it also packs FLASH_PACK_TURN bytes, and the rest of
 *         the value that reaches this limit. A value that is longer is copied in several turns. A
 *         core visits FLASH_SHARDS_TURN shards a turn. A set waits at most FLASH_PATIENCE_NS for a
 *         device that accepts no segment. At most one second's budget of writes is saved up.
 */
#ifndef CLOCKOO_FLASH_TIER_H
#define CLOCKOO_FLASH_TIER_H

#include "flash_convert.h"
#include "flash_fault.h"
#include "flash_ghosts.h"
#include "flash_pack.h"
#include "flash_super.h"

#include "base/region.h"
#include "store/tier.h"

/* Copying may take a tenth of a core's time: for each FLASH_COPY_NS of its turns a core may copy
 * FLASH_COPY_BYTES. It saves up at most what one turn earns, or FLASH_COPY_PIECE if that is more.
 * If more than half of its ring of evicted items waits, sets evict faster than the core copies.
 * Then a turn earns at least FLASH_COPY_FLOOD bytes, and FLASH_COPY_WAITING more for each item that
 * waits. */
#define FLASH_COPY_BYTES   2u
#define FLASH_COPY_NS      5u
#define FLASH_COPY_PIECE   2048u /* a value up to this length is copied at once */
#define FLASH_COPY_FLOOD   (16u << 10)
#define FLASH_COPY_WAITING 512u
#define FLASH_COPY_TURN    (256u << 10)
static_assert(FLASH_COPY_PIECE >= ITEM_PIN_MIN_BYTES, "a longer value can be pinned");
/* The tier's thread copies values above FLASH_COPY_PIECE. The core's own work for each counts as
 * FLASH_COPY_HELPED bytes when it posts the copy, and as many when it finds the copy complete. The
 * core itself copies, in slices, a value that the thread has not taken within FLASH_HELP_NS; or at
 * once, while more than half of the core's ring waits. */
#define FLASH_OFFERS      16u /* open offers of a core */
#define FLASH_COPY_HELPED 1024u
#define FLASH_HELP_NS     1000000ull
/* How long a set waits for a device that accepts no segment. */
#define FLASH_PATIENCE_NS 250000000ull
#define FLASH_SHARDS_TURN 4u

/* Per-core counters of the offers made to the tier: name, description. */
#define FLASH_OFFER_COUNTERS(X)                                                                    \
	X(FLASH_OFFERED, "living items evicted")                                                   \
	X(FLASH_ADMITTED_BYTES, "of those admitted, bytes of keys and values")                     \
	X(FLASH_REFUSED_UNUSED, "of those, refused: never requested")                              \
	X(FLASH_REFUSED_LARGE, "of those, refused: too large")                                     \
	X(FLASH_REFUSED_DEVICE, "of those, refused: device too slow")                              \
	X(FLASH_REFUSED_BUDGET, "of those, refused: budget of writes")                             \
	X(FLASH_REFUSED_OFF, "of those, refused: tier off")                                        \
	X(FLASH_PACKED, "of those admitted, values packed")                                        \
	X(FLASH_PACKED_SAVED, "bytes saved by that")

enum flash_offer_counter { FLASH_OFFER_COUNTERS(COUNTER_SYMBOL) FLASH_OFFER_COUNTERS_COUNT };
extern const struct counter_name flash_offer_counter_names[FLASH_OFFER_COUNTERS_COUNT];

/* Per-core counters of the requests to the tier: name, description. */
#define FLASH_ASK_COUNTERS(X)                                                                      \
	X(FLASH_ASKED, "keys asked for")                                                           \
	X(FLASH_ASK_READS, "reads of flash")                                                       \
	X(FLASH_ASK_READ_PAGES, "pages of them")                                                   \
	X(FLASH_ASK_ENDED, "reads completed")                                                      \
	X(FLASH_ASK_BUFFERED, "records looked for in buffers")                                     \
	X(FLASH_ASK_TOLD, "retrievals answered")                                                   \
	X(FLASH_ASK_PROMOTED, "records promoted")                                                  \
	X(FLASH_ASK_OTHERS, "records of other keys read")                                          \
	X(FLASH_ASK_COLUMN_OTHERS, "of these, by fingerprints of columns")                         \
	X(FLASH_ASK_AGAIN, "lookups repeated: segment lost or claim refused")                      \
	X(FLASH_ASK_NOT_FOUND, "misses without a failure")                                         \
	X(FLASH_ASK_ERROR, "misses: unreadable, expired, or lost")                                 \
	X(FLASH_ASK_READ_ERRORS, "of those, reads that failed")                                    \
	X(FLASH_ASK_BAD_PAGES, "of those, invalid pages")                                          \
	X(FLASH_ASK_BAD_PACKED, "of those, values that cannot be unpacked")                        \
	X(FLASH_ASK_UNPACKED, "values unpacked")                                                   \
	X(FLASH_ASK_LATE, "misses or writes without an answer in time")                            \
	X(FLASH_ASK_NO_MEMORY, "lookups that waited for memory")

enum flash_ask_counter { FLASH_ASK_COUNTERS(COUNTER_SYMBOL) FLASH_ASK_COUNTERS_COUNT };
extern const struct counter_name flash_ask_counter_names[FLASH_ASK_COUNTERS_COUNT];

#define FLASH_PREFETCHED_MAX 64u /* keys of a pass */

struct flash_prefetched;

enum flash_copier {
	FLASH_COPY_UNBEGUN,
	FLASH_COPY_POSTED, /* posted for the tier's thread */
	FLASH_COPY_SLICED, /* by the core, in slices */
};

/* An offer: an item whose record is reserved, and neither settled nor released. */
struct flash_offer {
	struct flash_shard *shard; /* NULL: the place is free */
	struct store_core *store;
	const struct item *item;
	struct flash_reserved reserved;
	uint64_t hash;
	uint64_t cas;       /* cas of the item when it was offered */
	uint64_t posted_ns; /* turn in which the offer was posted */
	uint32_t bytes;     /* bytes of the item's key and value */
	uint32_t value_at;  /* bytes of the value copied so far */
	enum flash_copier copier;
	_Atomic bool is_whole; /* the thread has completed its copy */
} __attribute__((aligned(CACHE_LINE_BYTES)));

/* Per-core state of the tier: the open offers, this turn's budgets, and counters. */
struct flash_tier_core {
	struct flash_offer offers[FLASH_OFFERS];
	/* Bits of the posted offers that the tier's thread has not taken. */
	_Atomic uint32_t posted __attribute__((aligned(CACHE_LINE_BYTES)));
	uint64_t now_ns __attribute__((aligned(CACHE_LINE_BYTES))); /* of this turn */
	uint64_t slicing;                    /* the offer that the core copies in slices; 0: none */
	int64_t copy_room;                   /* bytes that may be copied now; below 0: a debt */
	bool is_flooded;                     /* more than half of the ring waits */
	uint32_t packed;                     /* bytes of values packed in this turn */
	uint32_t next;                       /* shard that the next turn visits */
	struct flash_prefetched *prefetched; /* what its backend prefetched; NULL: nothing */
	struct counter counters[FLASH_OFFER_COUNTERS_COUNT];
	struct counter asks[FLASH_ASK_COUNTERS_COUNT]; /* of its backend */
} __attribute__((aligned(CACHE_LINE_BYTES)));

struct flash_tier_config {
	struct flash_shard *shards;
	uint32_t shard_count; /* shards of all streams; a power of two, at most FLASH_SHARDS_MAX */
	/* 0 or 1: one stream; 2: the second half of the shards has the large items. */
	uint32_t streams;
	uint32_t cores;
	uint32_t item_max;           /* of value, FLASH_VALUE_MAX at most */
	_Atomic uint64_t *flush_due; /* outlives the process (flash_state.h); may be NULL */
	bool admit_all;              /* admit items that no client has read, too */
	bool thread_copies;          /* flash_writer_work copies evicted values, too */
	/* Unless admit_all: remember keys, and admit them at their second eviction. */
	struct flash_ghosts ghosts;
	/* Bytes of records that may be written in a second; 0: any number. */
	uint64_t budget;
	struct flash_convert *convert; /* of shards with columns; NULL: no shard has columns */
	struct flash_packer *packers;  /* one for each core; NULL: values are not packed */
	const char *io;                /* what makes the transfers, for stats; NULL: "memory" */
};

struct flash_tier {
	struct flash_tier_config c;
	uint32_t of_stream; /* shards of each stream */
	struct flash_health health;
	struct store_tier hooks; /* for store_tier_attach */
	_Atomic bool admit_all;  /* as the configuration's, until it is changed */
	_Atomic uint64_t budget;
	_Atomic int64_t tokens; /* bytes that the budget allows now; below 0: none */
	/* The time since which a set has waited while the device has accepted no segment of a shard
	 * that is short of room. 0: no set waits, or no shard is short of room. */
	_Atomic uint64_t short_since_ns;
	struct flash_tier_core core[FLASH_CORES_MAX];
	struct { /* the counters at the last `stats reset` */
		_Atomic uint64_t offer[FLASH_OFFER_COUNTERS_COUNT];
		_Atomic uint64_t ask[FLASH_ASK_COUNTERS_COUNT];
		_Atomic uint64_t shard[FLASH_COUNTERS_COUNT];
		_Atomic uint64_t convert[FLASH_CONVERT_COUNTERS_COUNT];
	} base;
};

void flash_tier_init(struct flash_tier *tier, const struct flash_tier_config *config);
/* Changes admission and budget from now on. From any thread. */
void flash_tier_change_mt(struct flash_tier *tier, bool admit_all, uint64_t budget);

/* True if this core makes turns of the tier. The loader makes none, so its evictions are never
 * postponed. */
static inline bool
flash_tier_has_turns(const struct flash_tier *tier, uint32_t core)
{
	return core < tier->c.cores;
}

static inline struct flash_shard *
flash_tier_shard(const struct flash_tier *tier, uint64_t hash, uint32_t stream)
{
	return &tier->c.shards[stream * tier->of_stream + (hash & (tier->of_stream - 1))];
}

/* A lookup in the shards of all streams: begin and end do for each of them what flash_look_begin
 * and flash_look_end do for one. tries is 0 at first. */
struct flash_tier_look {
	uint32_t tries;
	struct flash_look of[FLASH_STREAMS];
};
void flash_tier_look_begin(struct flash_tier *tier, struct flash_tier_look *look, uint64_t hash);
bool flash_tier_look_end(struct flash_tier *tier, struct flash_tier_look *look, uint64_t hash);
/* The lines that a lookup of a hash reads, in all streams; flash_tier_fetch prefetches those of
 * several hashes. */
struct flash_tier_place {
	uint64_t hash;
	const struct flash_shard *shard[FLASH_STREAMS];
	struct flash_shard_place of[FLASH_STREAMS];
};
void flash_tier_fetch(const struct flash_tier *tier, const uint64_t *hashes, uint32_t count,
		      struct flash_tier_place *places);

/* The keys that a pass of the parser has missed: its gets will look them up, and its sets will
 * erase them. */
struct flash_prefetched {
	uint32_t count, next; /* the key that is most likely asked for next */
	struct flash_tier_place places[FLASH_PREFETCHED_MAX];
};
static inline const struct flash_tier_place *
flash_prefetched_find(struct flash_prefetched *prefetched, uint64_t hash)
{
	for (uint32_t i = prefetched->next; i < prefetched->count; i++)
		if (prefetched->places[i].hash == hash) {
			prefetched->next = i + 1;
			return &prefetched->places[i];
		}
	return NULL;
}

/* flash_index_moves and flash_shard_lacks, for one shard of each stream. */
struct flash_tier_moves {
	uint32_t of[FLASH_STREAMS];
};
struct flash_tier_moves flash_tier_moves(const struct flash_tier *tier,
					 const struct flash_tier_place *place);
bool flash_tier_lacks(const struct flash_tier *tier, const struct flash_tier_moves *moves,
		      const struct flash_tier_place *place);

/* Must be called once in each turn of the core. Visits some of the shards that the core owns, and
 * earns bytes that may be copied. waiting: store_evictions_wait(). */
void flash_tier_turn(struct flash_tier *tier, uint32_t core, uint64_t now_ns, uint32_t waiting);

/* ---- the tier's thread ---- */

struct flash_writer {
	struct flash_tier *tier;
	/* depth: FLASH_BUFFERS of each shard, and the converter's transfers */
	struct flash_device *device;
	/* A transfer that the device has not accepted yet, if is_refused. */
	struct flash_io refused;
	bool is_refused;
	struct flash_ends ends;
	uint64_t now_ns;    /* of this call */
	uint64_t looked_ns; /* when the age of the oldest transfer was checked */
	/* By tag: when the transfer was submitted; 0: not in progress. */
	uint64_t begun_ns[FLASH_BUFFERS * FLASH_SHARDS_MAX];
};

/* Writes closed segments, and handles the ends of writes. Never waits. False: there was nothing to
 * do. now_ns: above 0. */
bool flash_writer_work(struct flash_writer *writer, uint64_t now_ns);
/* Adds to the bytes that may be written what the budget allows for this many ns. */
void flash_tier_earn(struct flash_tier *tier, uint64_t ns);

#endif
