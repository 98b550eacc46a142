/*
 * image.h - where the parts of a store's memory lie: the store's own view of store_image.h.
 *
 * Shape:  header, the caller's page, the state, struct store, then tables, ghosts, and the pages,
 *         which are the last bytes. struct store begins with what a successor needs
 *         (STORE_KEPT_BYTES); the rest of it is made anew.
 *
 * Units:  byte offsets from the image's beginning.
 *
 * Thread: at start and at the end.
 */
#ifndef CLOCKOO_IMAGE_H
#define CLOCKOO_IMAGE_H

#include "store_image.h"
#include "store_plan.h"
#include "store/store_state.h"

/* Set aside, so that a new field changes no offset. */
#define IMAGE_STORE_BYTES  40960u
#define IMAGE_RECORD_BYTES 12288u

#define STORE_OPENING_BYTES 20480u /* of struct store_opening, beside the image */

struct image_header {
	_Atomic uint64_t magic; /* stored last */
	uint32_t layout, header_bytes;
	uint64_t memory_bytes;
	uint64_t seed; /* of the hash; also in struct store */
	uint32_t shift, page_shift, page_count;
	uint32_t classes_crc; /* of the sizes of classes */
	uint32_t hashes_crc;  /* of hashes of texts of all lengths that a key may have */
	uint32_t crc;         /* of all that, from layout on */
};

enum image_state { IMAGE_DIRTY = 1, IMAGE_CLEAN };

/* The part of the image that a stop writes last. */
struct image_left {
	_Atomic uint32_t state; /* enum image_state */
	uint32_t reserved;
	uint64_t sum; /* of all that a CLEAN image's successor trusts (image_sum_of) */
};

struct image_balance {
	uint64_t items, bytes, flushed, flushed_bytes; /* in the index; of those, flushed */
};

/* The fields of struct store and of its cores that outlive the process. */
struct image_record {
	uint64_t seed, due_flush;
	uint32_t generation, seq, bucket_count, new_count, first_seq;
	uint32_t oldest_generation, reference_stamp, class_count;
	struct image_balance all, classes[SLAB_CLASSES_MAX];
};
static_assert(sizeof(struct image_record) <= IMAGE_RECORD_BYTES, "the record has its place");

/* Offsets that follow from a geometry. */
struct image_parts {
	size_t floors, record, reciprocals, page_table, states, ghosts, pages;
};
#define IMAGE_STATE_AT (STORE_IMAGE_APP_AT + STORE_IMAGE_APP_BYTES)
#define IMAGE_STORE_AT STORE_IMAGE_HEAD_BYTES
static_assert(sizeof(struct store) <= IMAGE_STORE_BYTES, "struct store has its place");

struct image_parts image_parts_of(size_t memory_bytes, uint32_t page_count, uint32_t page_shift,
				  uint32_t shift);
/* Bytes beside pages, page tables and ghosts. */
size_t image_fixed_bytes(void);

static inline struct store *
image_store(void *image)
{
	return (struct store *)(void *)((uint8_t *)image + IMAGE_STORE_AT);
}

static inline struct image_left *
image_left(void *image)
{
	return (struct image_left *)(void *)((uint8_t *)image + IMAGE_STATE_AT);
}

/* An attach trusts what is summed in pieces: the tables, the states of pages that have a class, and
 * the index. A page's states are summed as far as its class reads them; the page table is bound. */
#define IMAGE_PIECE_BYTES (1u << 20)
uint64_t image_pieces(const struct store *st);
/* The share of a piece in the sum of all. */
uint64_t image_piece_sum(const struct store *st, uint64_t piece);
void image_record_now(const struct store *st, struct image_record *out);

/* An empty store over it, with this plan. */
struct store *image_create(struct region *region, void *image, const struct store_config *cfg,
			   const struct store_plan *plan);
/* The plan that an image was made with, so far as options do not choose it. The header is sound. */
struct store_plan image_plan(const void *image, const struct store_config *cfg);

/* Raises the floor of an item's key to its cas, in a table of floors to be saved. */
void store_floors_note(const struct store *st, uint64_t floors[FLOORS], const struct item *it);

/* Make all of struct store anew but for its kept head, and what lies beside the image. Pages and
 * counters are still to come. */
struct store *image_bind(struct region *region, void *image, const struct store_config *cfg,
			 const struct store_plan *plan);

#endif
