/*
 * flash_super.h - the first pages of a device: the tier that owns it, and where each shard's log
 * ended at a graceful stop.
 *
 * Shape:  two copies, of FLASH_SUPER_PAGES pages each, of which the older one is overwritten. The
 *         valid copy with the higher counter counts. CLEAN means that all of the tier's records
 *         are on flash; a process that serves from it first writes DIRTY, and syncs.
 * Owner:  the caller.
 * Thread: pure functions of bytes.
 * Errors: false: there is none, and the tier starts cold.
 */
#ifndef CLOCKOO_FLASH_SUPER_H
#define CLOCKOO_FLASH_SUPER_H

#include "flash_log.h"

#include "memfile/keep_gap.h"

#define FLASH_SHARDS_MAX  64u
#define FLASH_STREAMS     2u
#define FLASH_SUPER_BYTES FLASH_PAGE_BYTES /* of a copy */
#define FLASH_START_WORDS 320u

/* Properties that must be equal; otherwise the segments belong to another tier. */
struct flash_layout {
	uint64_t device; /* random, from its first start */
	uint64_t seed;   /* of the keys' hash */
	uint32_t shards, segments, segment_pages;
	uint32_t buckets; /* of a shard: they determine which neighbours an erasure removed */
	/* The columns, in the first half of the shards. */
	uint32_t columns, column_buckets, column_pages;
	/* The second half of the shards, for large items. */
	uint32_t streams, large_segments, large_buckets;
};

struct flash_super {
	uint64_t counter;     /* incremented with each write */
	uint64_t incarnation; /* of the process; incremented with each start */
	uint32_t clean;
	uint32_t reserved;
	struct flash_layout layout;
	/* With CLEAN: the clocks at the end of its service, and the flush to come. */
	struct beat beat;
	char boot_id[BOOT_ID_BYTES];
	uint32_t flush_due_s; /* on the store's clock; 0: none */
	struct {
		uint64_t head, first; /* as in struct flash_kept */
		uint64_t rows;        /* the sum of flash_rows.h; 0: there are none */
	} shard[FLASH_SHARDS_MAX];
};

/* Writes the copy that its counter selects. Returns that copy's offset on the device. */
uint64_t flash_super_write(uint8_t *page, const struct flash_super *super);
/* Reads the valid one of two adjacent copies. */
bool flash_super_read(const uint8_t *pages, struct flash_super *super);
/* True if a tier may take a device that begins with these bytes of the first segment. They must
 * be copies of a superblock of any version, of which one may be torn, or zeros, and nothing after
 * them. This detects what others write where a tier was before. */
bool flash_super_may_take(const uint8_t *bytes, size_t len);

/* ---- choice of the start ---- */

enum flash_start {
	FLASH_FROM_STATE, /* the previous process was killed, and its state is in flash.state */
	FLASH_FROM_CLEAN, /* the previous process stopped gracefully */
	FLASH_COLD,       /* the present content is invalid */
};

/* The identity at the beginning of flash.state; all zero in a new file. */
struct flash_state_id {
	uint64_t incarnation;
	struct flash_layout layout;
};

/* The tier with which a store's items were last served. device 0: none. */
struct flash_served {
	uint64_t device, incarnation;
};

/* The content that a start finds. */
struct flash_before {
	const struct flash_super *super; /* NULL: none */
	const struct flash_state_id
		*state;            /* valid only if left by the last writer of the superblock */
	const char *state_words;   /* why there is none */
	const char *gap_words;     /* why a clean state is not kept (gap_judge_saved); or empty */
	bool has_store;            /* the store begins with items */
	struct flash_served store; /* that served the store with this tier */
};

/* Chooses the start. words: why it is cold; else empty. */
enum flash_start flash_start_of(const struct flash_before *before,
				const struct flash_layout *layout, char words[FLASH_START_WORDS]);

/* Returns a shard's kept for this start. random: where sequences begin on an unknown device. */
void flash_start_kept(enum flash_start start, const struct flash_super *super, uint32_t shard,
		      uint64_t random, struct flash_kept *kept);

#endif
