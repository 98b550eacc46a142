/*
 * flash_backend.h - answers one core's requests for absent keys from the tier: the backend of
 * backend.h.
 *
 * A request is looked up, its candidates are read one after the other, and the record of its key
 * answers it, or becomes an item of the store (FLASH.md, whose letters name the rules).
 *
 * Shape:  a retrieval is answered by the record alone, from a fill; where it is promoted, that fill
 *         becomes the item when it is released. A write's key is promoted at once, and then the
 *         store answers; so it is for a mg of a record that is stale or won, or whose key came in
 *         base64.
 * Units:  ns of the clock of serve_turn(); seconds of the store's clock.
 * Owner:  the caller: the tier, the device and the memory of reads, which outlive the core's turns.
 *         A read that is not wanted any more keeps its memory until the device ends it.
 * Thread: core-local; the device is this core's.
 * Errors: what cannot be read, is late, or is not found FLASH_LOOKS_MAX times over, is a miss once
 *         the key is erased (E). No memory for a value: again next turn, until the deadline.
 * Bounds: reads_small and reads_large at a time, of which others wait; an ask has FLASH_READS_MAX
 *         reads and FLASH_CANDIDATES_MAX candidates, beyond which its key is erased, as it is where
 *         a candidate is longer than item_max, which an earlier start had larger; a turn has
 *         PENDING_ENDED_PER_TURN asks, fewer where their values are packed (flash_pack.h).
 */
#ifndef CLOCKOO_FLASH_BACKEND_H
#define CLOCKOO_FLASH_BACKEND_H

#include "flash_tier.h"

#include "base/list.h"
#include "backend/backend.h"

#define FLASH_SMALL_PAGES    2u /* of most reads */
#define FLASH_READS_MAX      8u
#define FLASH_LOOKS_MAX      4u
#define FLASH_CANDIDATES_MAX 8u

struct flash_ask;

struct flash_read {
	uint8_t *pages;
	struct flash_ask *ask;   /* NULL: no request wants it any more */
	struct flash_read *next; /* free */
	bool large;
	uint64_t begun_ns; /* 0: it is not under way */
};

struct flash_backend_config {
	struct flash_tier *tier;
	struct serve *serve;
	struct store_core *store;
	struct flash_device *device; /* depth: all reads */
	/* flash_backend_pages() of them at a multiple of FLASH_PAGE, the device's. */
	uint8_t *pages;
	uint32_t reads_small, reads_large; /* 1 of each, together FLASH_DEPTH_MAX at most */
	uint32_t item_max;                 /* bytes of a value that is read; above 0 */
	uint64_t deadline_ns;
};

struct flash_backend {
	struct flash_backend_config c;
	uint32_t core;
	uint8_t *scratch; /* of a record in a buffer */
	struct flash_ask *asks;
	struct flash_prefetched prefetched; /* what a pass has missed */
	struct list asked, runnable;        /* since the last pass; that poll() looks at */
	struct list waiting[2];             /* for memory of a read: small, large */
	uint32_t runnable_count;
	struct flash_read reads[FLASH_DEPTH_MAX];
	struct flash_read *free[2]; /* small, large */
	uint32_t under_way, wanted; /* reads; those that an ask waits for */
	uint64_t now_ns, looked_ns; /* of this turn; at the oldest read, last */
	struct flash_ends ends;
	struct flash_io ios[FLASH_DEPTH_MAX]; /* to be submitted */
	uint32_t io_count;
	struct counter *counters; /* the tier has them */
	struct flash_unpacker *unpacker;
	uint32_t unpacked; /* in this turn, of FLASH_UNPACK_TURN */
};

size_t flash_backend_bytes(void);
uint32_t flash_backend_pages(const struct flash_backend_config *config);
struct flash_backend *flash_backend_create(struct region *region,
					   const struct flash_backend_config *config);

/* For backend_attach. */
struct backend flash_backend_of(struct flash_backend *backend);
/* For serve_rows_attach. */
struct serve_rows flash_backend_rows(struct flash_backend *backend);

#endif
