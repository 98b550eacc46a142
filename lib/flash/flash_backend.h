/*
 * flash_backend.h - an implementation of backend.h: answers one core's requests for keys that
 * memory lacks, from the tier.
 *
 * A request's key is looked up, and its candidates are read one after the other. The record that
 * has the key answers the request, or becomes an item of the store. The letters of rules, such as
 * (E), are those of FLASH.md.
 *
 * Shape:  a retrieval is answered from a fill with the record's value. If the record is promoted,
 *         the fill becomes an item when the reply releases it. For a write the record is promoted
 *         at once, and then the store executes the write. The same holds for a mg whose record is
 *         stale or won, or has a key that came in base64.
 * Units:  ns of the clock of serve_turn(); seconds of the store's clock.
 * Owner:  the caller: the tier, the device and the memory of reads, which outlive the core's turns.
 *         A read whose request was dropped keeps its memory until the device ends it.
 * Thread: core-local; the device is this core's.
 * Errors: the key is erased and the request is a miss (E) if the record cannot be read, or
 *         FLASH_LOOKS_MAX lookups did not find it. A request that reaches its deadline becomes a
 *         miss in the same way. If the store has no memory for the value, the request tries again
 *         next turn, until its deadline.
 * Bounds: reads_small and reads_large reads at a time; further ones wait. A request makes
 *         FLASH_READS_MAX reads of at most FLASH_CANDIDATES_MAX candidates. If these are not
 *         enough, or a candidate is longer than item_max (an earlier start may have had a larger
 *         item_max), the key is erased. A turn continues PENDING_ENDED_PER_TURN requests, fewer if
 *         their values are packed (flash_pack.h).
 */
#ifndef CLOCKOO_FLASH_BACKEND_H
#define CLOCKOO_FLASH_BACKEND_H

#include "flash_tier.h"

#include "base/list.h"
#include "backend/backend.h"

#define FLASH_SMALL_PAGES    2u /* pages of a small read */
#define FLASH_READS_MAX      8u
#define FLASH_LOOKS_MAX      4u
#define FLASH_CANDIDATES_MAX 8u

struct flash_ask;

struct flash_read {
	uint8_t *pages;
	struct flash_ask *ask;   /* NULL: its request was dropped */
	struct flash_read *next; /* in the list of free reads */
	bool large;              /* has room for a record of item_max bytes */
	uint64_t begun_ns;       /* when the read was begun; 0: it is not in progress */
};

struct flash_backend_config {
	struct flash_tier *tier;
	struct serve *serve;
	struct store_core *store;
	struct flash_device *device; /* its depth holds all reads */
	/* Memory of flash_backend_pages() pages, aligned to FLASH_PAGE, that the device was opened
	 * with. */
	uint8_t *pages;
	/* At least 1 of each; together at most FLASH_DEPTH_MAX. */
	uint32_t reads_small, reads_large;
	uint32_t item_max; /* bytes of the longest value that is read; above 0 */
	uint64_t deadline_ns;
};

struct flash_backend {
	struct flash_backend_config c;
	uint32_t core;
	uint8_t *scratch;       /* pages for a record that is read from a log's buffer */
	struct flash_ask *asks; /* by ticket slot */
	/* The keys that the present pass of the parser has missed. */
	struct flash_prefetched prefetched;
	struct list asked;      /* requests since the last send() */
	struct list runnable;   /* requests that poll() continues */
	struct list waiting[2]; /* requests that wait for memory of a read: small, large */
	uint32_t runnable_count;
	struct flash_read reads[FLASH_DEPTH_MAX];
	struct flash_read *free[2]; /* small, large */
	uint32_t under_way;         /* reads in progress */
	uint32_t wanted;            /* those of them for which a request waits */
	uint64_t now_ns;            /* of this turn */
	uint64_t looked_ns;         /* when the age of the oldest read was last checked */
	struct flash_ends ends;
	struct flash_io ios[FLASH_DEPTH_MAX]; /* reads to be submitted */
	uint32_t io_count;
	struct counter *counters; /* counters of requests, which are the tier's */
	struct flash_unpacker *unpacker;
	uint32_t unpacked; /* bytes unpacked in this turn, at most FLASH_UNPACK_TURN */
};

size_t flash_backend_bytes(void);
uint32_t flash_backend_pages(const struct flash_backend_config *config);
struct flash_backend *flash_backend_create(struct region *region,
					   const struct flash_backend_config *config);

/* Returns the backend for backend_attach. */
struct backend flash_backend_of(struct flash_backend *backend);
/* Returns the statistics for serve_rows_attach. */
struct serve_rows flash_backend_rows(struct flash_backend *backend);

#endif
