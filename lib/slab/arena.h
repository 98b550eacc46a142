/*
 * arena.h - the memory that items and index lie in: pages, and 32-bit references into them.
 *
 * References instead of pointers take half the space, and stay right if the memory is mapped
 * elsewhere after a restart.
 *
 * Shape:  pages of 1 << page_shift bytes; the index has the first ones, so reference 0, in page 0,
 *         names no item. Pages hold no pointer. Whatever holds pointers (free lists, classes, the
 *         index's address) lies before the pages (image.h), and a successor process makes it anew.
 *
 * Units:  a reference counts granules of 1 << shift bytes: 8 up to 32 GiB of memory, 16 up to 64,
 *         and so on; 256 up to 1 TiB. The size of an object is a multiple of a granule.
 *
 * Owner:  the image (image.h).
 *
 * Thread: immutable after start.
 *
 * Bounds: ARENA_BYTES_MAX, 1 TiB.
 */
#ifndef CLOCKOO_ARENA_H
#define CLOCKOO_ARENA_H

#include "base/check.h"
#include "base/prefetch.h"
#include "base/region.h"

#define ARENA_SHIFT_MIN 3u
#define ARENA_SHIFT_MAX 8u
#define ARENA_BYTES_MAX ((size_t)1 << (32 + ARENA_SHIFT_MAX))

struct arena {
	uint8_t *base; /* the first page */
	uint32_t shift;
	uint32_t page_shift;
	uint32_t page_count;
};

static inline uint32_t
arena_shift_for(size_t bytes)
{
	uint32_t shift = ARENA_SHIFT_MIN;

	while (shift < ARENA_SHIFT_MAX && bytes > (size_t)1 << (32 + shift))
		shift++;
	return shift;
}

static inline struct arena
arena_of(void *pages, uint32_t page_count, uint32_t page_shift, uint32_t shift)
{
	return (struct arena){
		.base = pages, .shift = shift, .page_shift = page_shift, .page_count = page_count};
}

static inline void *
arena_at(const struct arena *a, uint32_t ref)
{
	return a->base + ((size_t)ref << a->shift);
}

static inline uint32_t
arena_ref(const struct arena *a, const void *p)
{
	return (uint32_t)((size_t)((const uint8_t *)p - a->base) >> a->shift);
}

static inline uint8_t *
arena_page(const struct arena *a, uint32_t page)
{
	return a->base + ((size_t)page << a->page_shift);
}

static inline uint32_t
arena_ref_of_offset(const struct arena *a, size_t offset)
{
	return (uint32_t)(offset >> a->shift);
}

#endif
