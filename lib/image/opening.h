/*
 * opening.h - the state of a store that is being opened: phases, and shares of them.
 *
 * Thread: shares of a phase: any; they write different pages and buckets, or atomic sums. The rest:
 *         one.
 */
#ifndef CLOCKOO_OPENING_H
#define CLOCKOO_OPENING_H

#include "image.h"

struct store_opening {
	struct store *store;
	uint8_t *image;
	struct store_config cfg;
	struct region region; /* as it was, for store_open_cold */
	struct image_parts parts;
	uint32_t now_s;
	uint32_t index_pages;     /* that the index has, a resize under way included */
	uint32_t reference_stamp; /* of the process before */
	enum store_open_phase phase;
	enum store_image_kind kind;
	enum store_image_fault fault;
	bool checksums_wrong, flushed;
	uint64_t total; /* shares of the phase */
	_Atomic uint64_t next, done;
	_Atomic uint64_t sum;
	_Atomic uint64_t items, item_bytes, lost;
	struct image_record record; /* what the cores' counters begin with */
	struct spin lock;           /* of the record, while shares add to it */
	_Atomic uint32_t locked_count;
	uint32_t locked[STORE_IMAGE_LOCKED_MAX]; /* buckets with their lock bit set */
};
static_assert(sizeof(struct store_opening) <= STORE_OPENING_BYTES, "it has its place");

/* ---- open_pages.c ---- */

/* Pages of one share. */
#define OPEN_PAGES_SHARE 16u

/* Count the live objects of these pages, and list their free ones. */
void open_pages_share(struct store_opening *open, uint64_t share);
/* Links and counts all pages, by class and in the pool. */
void open_pages_end(struct store_opening *open);

/* ---- repair.c ---- */

/* Buckets of one share. */
#define REPAIR_WALK_SHARE 1024u

/* No object is live, and no page has anything that expires. Shares of OPEN_PAGES_SHARE pages. */
void repair_clear_share(struct store_opening *open, uint64_t share);
/* Marks what these buckets reach as live; damaged and dead items leave them. */
void repair_walk_share(struct store_opening *open, uint64_t share);
/* The locked buckets, which one thread repairs. STORE_IMAGE_SOUND, or why all of it is refused. */
enum store_image_fault repair_walk_end(struct store_opening *open);
/* Count the parts of values whose first chunks lie in these pages, OPEN_PAGES_SHARE of them. */
void repair_count_share(struct store_opening *open, uint64_t share);

#endif
