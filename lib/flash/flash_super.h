/*
 * flash_super.h - the superblock, in the first pages of a device: which tier owns the device, and
 * where each shard's log ended at a graceful stop.
 *
 * Shape:  two copies of one page each. A write overwrites the older one. Of two
 *         valid copies the one with the higher counter is used. CLEAN means that all of the tier's
 *         records are on flash. A process that serves from it first writes DIRTY, and syncs.
 * Owner:  the caller.
 * Thread: pure functions of bytes.
 * Errors: false: there is no superblock, and the tier starts cold.
 */
#ifndef CLOCKOO_FLASH_SUPER_H
#define CLOCKOO_FLASH_SUPER_H

#include "flash_log.h"

#include "memfile/keep_gap.h"

#define FLASH_SHARDS_MAX  64u
#define FLASH_STREAMS     2u
#define FLASH_SUPER_BYTES FLASH_PAGE_BYTES /* of a copy */
#define FLASH_START_WORDS 320u

/* Properties that must be equal at two starts; otherwise the segments belong to another tier. */
struct flash_layout {
	uint64_t device; /* random, drawn at the device's first start */
	uint64_t seed;   /* of the keys' hash */
	uint32_t shards, segments, segment_pages;
	/* Buckets of a shard's index, on which it depends what other keys an erasure removed. */
	uint32_t buckets;
	/* The columns, which the first half of the shards has. */
	uint32_t columns, column_buckets, column_pages;
	/* The second half of the shards, which has large items. */
	uint32_t streams, large_segments, large_buckets;
};

struct flash_super {
	uint64_t counter;     /* incremented with each write */
	uint64_t incarnation; /* number of the process; incremented with each start */
	uint32_t clean;
	uint32_t reserved;
	struct flash_layout layout;
	/* Valid if CLEAN: the clocks at the end of the service, and a delayed flush. */
	struct beat beat;
	char boot_id[BOOT_ID_BYTES];
	uint32_t flush_due_s; /* on the store's clock; 0: none */
	struct {
		uint64_t head, first; /* as in struct flash_kept */
		uint64_t rows; /* the sum that flash_rows_write returned; 0: there are no rows */
	} shard[FLASH_SHARDS_MAX];
};

/* Writes a superblock to page, to be stored at the returned offset on the device: that of the copy
 * that its counter selects. */
uint64_t flash_super_write(uint8_t *page, const struct flash_super *super);
/* Reads the valid copy with the higher counter from two adjacent ones. */
bool flash_super_read(const uint8_t *pages, struct flash_super *super);
/* True if a tier may overwrite a device that begins with these bytes: zeros, or copies of a
 * superblock of any version with only zeros after them, one of which may be torn. So data that
 * others have written where a tier was before are recognised. */
bool flash_super_may_take(const uint8_t *bytes, size_t len);

/* ---- choice of the start ---- */

enum flash_start {
	FLASH_FROM_STATE, /* the previous process was killed; its state is in flash.state */
	FLASH_FROM_CLEAN, /* the previous process stopped gracefully */
	FLASH_COLD,       /* what is on the device must not be used */
};

/* The identity that flash.state begins with; zero in a new file. */
struct flash_state_id {
	uint64_t incarnation;
	struct flash_layout layout;
};

/* The tier that served together with a store when the store last ran. device 0: none. */
struct flash_served {
	uint64_t device, incarnation;
};

/* The content that a start finds. */
struct flash_before {
	const struct flash_super *super; /* NULL: none */
	/* Counts only if the process that left it also was the last to write the superblock. */
	const struct flash_state_id *state;
	const char *state_words; /* why there is no state */
	/* Why a CLEAN device is not kept (gap_judge_saved); empty if it is. */
	const char *gap_words;
	bool has_store;            /* the store begins with items */
	struct flash_served store; /* the tier that served together with those items */
};

/* Chooses the start. words: why it is cold; otherwise empty. */
enum flash_start flash_start_of(const struct flash_before *before,
				const struct flash_layout *layout, char words[FLASH_START_WORDS]);

/* Sets a shard's kept for this start. random: the first sequence, if the device's are not known. */
void flash_start_kept(enum flash_start start, const struct flash_super *super, uint32_t shard,
		      uint64_t random, struct flash_kept *kept);

#endif
