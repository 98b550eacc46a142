/*
 * image.h - the layout of a store's memory, for the files of this room.
 *
 * Shape:  in this order: header, the caller's page, the state, struct store, tables, ghosts, pages.
 *         The pages are the last bytes. struct store begins with the fields that a successor keeps
 *         (STORE_KEPT_BYTES); each process sets the other fields.
 *
 * Units:  bytes from the image's beginning.
 *
 * Thread: at start and at the end.
 */
#ifndef CLOCKOO_IMAGE_H
#define CLOCKOO_IMAGE_H

#include "store_image.h"
#include "store_plan.h"
#include "store/store_state.h"

/* Space reserved for each part, so that a new field changes no offset. */
#define IMAGE_STORE_BYTES  40960u
#define IMAGE_RECORD_BYTES 12288u

#define STORE_OPENING_BYTES 20480u /* size of struct store_opening, which lies beside the image */

struct image_header {
	_Atomic uint64_t magic; /* stored last */
	uint32_t layout, header_bytes;
	uint64_t memory_bytes;
	uint64_t seed; /* seed of the hash; also in struct store */
	uint32_t shift, page_shift, page_count;
	uint32_t classes_crc; /* checksum of the sizes of classes */
	/* Checksum of the hashes of one text of each length that a key may have. */
	uint32_t hashes_crc;
	uint32_t crc; /* checksum of the header, from layout on */
};

enum image_state { IMAGE_DIRTY = 1, IMAGE_CLEAN };

/* How the previous process left the image. A stop writes it last. */
struct image_left {
	_Atomic uint32_t state; /* enum image_state */
	uint32_t reserved;
	/* Checksum of what the next process trusts of a CLEAN image (image_piece_sum). */
	uint64_t sum;
};

struct image_balance {
	/* Items in the index, and how many of them are flushed. */
	uint64_t items, bytes, flushed, flushed_bytes;
};

/* The fields of struct store and of its cores that outlive the process. */
struct image_record {
	uint64_t seed, due_flush;
	uint32_t generation, seq, bucket_count, new_count, first_seq;
	uint32_t oldest_generation, reference_stamp, class_count;
	struct image_balance all, classes[SLAB_CLASSES_MAX];
};
static_assert(sizeof(struct image_record) <= IMAGE_RECORD_BYTES, "the record has its place");

/* Offsets that the geometry determines. */
struct image_parts {
	size_t floors, record, reciprocals, page_table, states, ghosts, pages;
};
#define IMAGE_STATE_AT (STORE_IMAGE_APP_AT + STORE_IMAGE_APP_BYTES)
#define IMAGE_STORE_AT STORE_IMAGE_HEAD_BYTES
static_assert(sizeof(struct store) <= IMAGE_STORE_BYTES, "struct store has its place");

struct image_parts image_parts_of(size_t memory_bytes, uint32_t page_count, uint32_t page_shift,
				  uint32_t shift);
/* Returns the bytes of an image without pages, page tables and ghosts. */
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

/* The sum of a CLEAN image covers, piece by piece, what the next process trusts: the tables, the
 * states of pages that have a class, and the index. Of a page's states it covers those that its
 * class reads. The page table is not in it, but its ranges are checked. */
#define IMAGE_PIECE_BYTES (1u << 20)
uint64_t image_pieces(const struct store *st);
/* Returns a piece's contribution to the sum. */
uint64_t image_piece_sum(const struct store *st, uint64_t piece);
void image_record_now(const struct store *st, struct image_record *out);

/* Makes an empty store over the image, with this plan. */
struct store *image_create(struct region *region, void *image, const struct store_config *cfg,
			   const struct store_plan *plan);
/* Returns the plan with which an image was made, except the parts that options choose. The header
 * must be sound. */
struct store_plan image_plan(const void *image, const struct store_config *cfg);

/* Raises the floor of an item's key to its cas, in a table of floors to be saved. */
void store_floors_note(const struct store *st, uint64_t floors[FLOORS], const struct item *it);

/* Sets the fields of struct store that are not kept, and what lies beside the image. Pages and
 * counters follow later. */
struct store *image_bind(struct region *region, void *image, const struct store_config *cfg,
			 const struct store_plan *plan);

#endif
