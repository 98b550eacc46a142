/*
 * image.h - where the parts of a store's memory lie: the store's own view of store_image.h.
 *
 * Shape:  header, the caller's page, the state, struct store, then tables, ghosts, and the pages,
 *         which are the last bytes. struct store begins with what a successor needs (struct
 *         store_head of it is kept); the rest of it is made anew.
 *
 * Units:  byte offsets from the image's beginning.
 *
 * Thread: at start and at the end.
 */
#ifndef CLOCKOO_IMAGE_H
#define CLOCKOO_IMAGE_H

#include "store_image.h"
#include "store_plan.h"
#include "store_state.h"

#define IMAGE_MAGIC ((uint64_t)0x6f6f6b636f6c63) /* "clockoo" */
/* Set aside, so that a new field changes no offset. */
#define IMAGE_STORE_BYTES  40960u
#define IMAGE_RECORD_BYTES 12288u

struct image_header {
	_Atomic uint64_t magic; /* stored last */
	uint32_t layout, header_bytes;
	uint64_t memory_bytes;
	uint64_t seed; /* of the hash; also in struct store */
	uint32_t shift, page_shift, page_count, reserved;
};

/* Offsets that follow from a geometry. */
struct image_parts {
	size_t floors, record, reciprocals, page_table, states, ghosts, pages;
};
#define IMAGE_STATE_AT STORE_IMAGE_APP_AT + STORE_IMAGE_APP_BYTES
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

/* Make all of struct store anew but for its kept head, and what lies beside the image. Pages and
 * counters are still to come. */
struct store *image_bind(struct region *region, void *image, const struct store_config *cfg,
			 const struct store_plan *plan);

#endif
