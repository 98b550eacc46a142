/*
 * opening.h - the state of a store that is being opened. The work of each phase is divided into
 * shares.
 *
 * Thread: shares of one phase may run in several threads at once, since they write different pages
 *         and buckets, or atomic sums. All else: one thread.
 */
#ifndef CLOCKOO_OPENING_H
#define CLOCKOO_OPENING_H

#include "image.h"

struct store_opening {
	struct store *store;
	uint8_t *image;
	struct store_config cfg;
	struct region region; /* the region before the opening, for store_open_cold */
	struct image_parts parts;
	uint32_t now_s;
	uint32_t index_pages;     /* pages of the index, including those of a resize under way */
	uint32_t reference_stamp; /* the reference stamp of the previous process */
	enum store_open_phase phase;
	enum store_image_kind kind;
	enum store_image_fault fault;
	bool checksums_wrong, flushed;
	uint64_t total; /* number of shares of the phase */
	_Atomic uint64_t next, done;
	_Atomic uint64_t sum;
	_Atomic uint64_t items, item_bytes, lost;
	struct image_record record; /* initial values of the cores' counters */
	struct spin lock;           /* held while a share adds to the record */
	_Atomic uint32_t locked_count;
	uint32_t locked[STORE_IMAGE_LOCKED_MAX]; /* buckets with their lock bit set */
};
static_assert(sizeof(struct store_opening) <= STORE_OPENING_BYTES, "it has its place");

/* ---- open_pages.c ---- */

/* Pages of one share. */
#define OPEN_PAGES_SHARE 16u

/* Counts the live objects of these pages, and lists the free ones. */
void open_pages_share(struct store_opening *open, uint64_t share);
/* Links and counts all pages, by class and in the pool. */
void open_pages_end(struct store_opening *open);

/* ---- repair.c ---- */

/* Buckets of one share. */
#define REPAIR_WALK_SHARE 1024u

/* Marks all objects of OPEN_PAGES_SHARE pages as not live, and the pages as without expiry. */
void repair_clear_share(struct store_opening *open, uint64_t share);
/* Marks the objects that these buckets reach as live, and removes damaged and dead items. */
void repair_walk_share(struct store_opening *open, uint64_t share);
/* Repairs the locked buckets, in one thread. Returns STORE_IMAGE_SOUND, or why the image is
 * refused. */
enum store_image_fault repair_walk_end(struct store_opening *open);
/* Counts the parts of those values whose first chunks are in these OPEN_PAGES_SHARE pages. */
void repair_count_share(struct store_opening *open, uint64_t share);

#endif
