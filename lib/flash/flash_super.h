/*
 * flash_super.h - the first pages of a device: whose it is, and where each shard's log ended when
 * it was left whole.
 *
 * Shape:  two copies, of FLASH_SUPER_PAGES pages each, written in turn: the older one is written
 *         over. That with the higher counter and a right sum counts. CLEAN says that all of the
 *         tier's records are on flash; whoever serves from it writes DIRTY first, and syncs.
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

/* What must be the same, or the segments are another tier's. */
struct flash_layout {
	uint64_t device; /* random, of its first start */
	uint64_t seed;   /* of the keys' hash */
	uint32_t shards, segments, segment_pages;
	uint32_t buckets; /* of a shard: which neighbours an erasure took */
	/* Where some become columns, the first half of the shards has them: */
	uint32_t columns, column_buckets, column_pages;
	/* and the second half, of large items: */
	uint32_t streams, large_segments, large_buckets;
};

struct flash_super {
	uint64_t counter;     /* one more with each write */
	uint64_t incarnation; /* of the process, one more with each start */
	uint32_t clean;
	uint32_t reserved;
	struct flash_layout layout;
	/* Of CLEAN: how the clocks stood at the end of its service, and the flush to come. */
	struct beat beat;
	char boot_id[BOOT_ID_BYTES];
	uint32_t flush_due_s; /* on the store's clock; 0: none */
	struct {
		uint64_t head, first; /* struct flash_kept */
		uint64_t rows;        /* flash_rows.h: a sum; 0: there are none */
	} shard[FLASH_SHARDS_MAX];
};

/* Into the copy that its counter names. Returns that copy's offset on the device. */
uint64_t flash_super_write(uint8_t *page, const struct flash_super *super);
/* Of both copies, one behind the other. */
bool flash_super_read(const uint8_t *pages, struct flash_super *super);
/* May a tier take a device that begins so? Bytes of the first segment, as many as there are: copies
 * of a superblock of whatever version, of which one may be torn, or nothing; and nothing behind
 * them. What others write where a tier was before is seen by that. */
bool flash_super_may_take(const uint8_t *bytes, size_t len);

/* ---- which start ---- */

enum flash_start {
	FLASH_FROM_STATE, /* the process before was killed; what it kept is here */
	FLASH_FROM_CLEAN, /* it left */
	FLASH_COLD,       /* nothing that is there counts */
};

/* What flash.state begins with: a process's own. Zero: there is none. */
struct flash_state_id {
	uint64_t incarnation;
	struct flash_layout layout;
};

/* Which tier a store's items were served with last. device 0: with none. */
struct flash_served {
	uint64_t device, incarnation;
};

/* What lies there. */
struct flash_before {
	const struct flash_super *super; /* NULL: none */
	const struct flash_state_id
		*state;            /* only who wrote the superblock last may have left it */
	const char *state_words;   /* why there is none */
	const char *gap_words;     /* why what was left is not kept (gap_judge_saved), or empty */
	bool has_store;            /* the store begins with items: */
	struct flash_served store; /* of a process with this tier */
};

/* words: why it is cold, else empty. */
enum flash_start flash_start_of(const struct flash_before *before,
				const struct flash_layout *layout, char words[FLASH_START_WORDS]);

/* kept of one shard, for this start. random: where sequences begin on a device that is not known.
 */
void flash_start_kept(enum flash_start start, const struct flash_super *super, uint32_t shard,
		      uint64_t random, struct flash_kept *kept);

#endif
