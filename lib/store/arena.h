/*
 * arena.h - the memory that items and index lie in: pages, and 32-bit references into them.
 *
 * References instead of pointers take half the space, and stay right if the memory is mapped
 * elsewhere after a restart.
 *
 * Shape:  a header, then pages of 1 << page_shift bytes; the index has the first ones. Reference 0
 *         names nothing. Pages hold no pointer. What does (free lists, classes, the index's
 *         address) lies beside the arena, and can be rebuilt from it.
 *
 * Units:  a reference counts granules of 1 << shift bytes: 8 up to 32 GiB, 16 above.
 *
 * Owner:  the region it was taken from.
 *
 * Thread: immutable after start.
 *
 * Bounds: 64 GiB.
 */
#ifndef CLOCKOO_ARENA_H
#define CLOCKOO_ARENA_H

#include "base/check.h"
#include "base/prefetch.h"
#include "base/region.h"

/* Bytes before the first page, so that no object has reference 0; a multiple of both granules. */
#define ARENA_LEAD_BYTES 64u

#define ARENA_SHIFT_SMALL 3u
#define ARENA_SHIFT_LARGE 4u
#define ARENA_SMALL_MAX   ((32ull << 30) - ARENA_LEAD_BYTES)
#define ARENA_BYTES_MAX   ((64ull << 30) - ARENA_LEAD_BYTES)

/* The header describes the pages to a later process. A change to the layout of items, chunks or
 * references takes a new version number. */
#define ARENA_MAGIC          0x6f6f6b636f6c63ull /* "clockoo" */
#define ARENA_LAYOUT_VERSION 3u

struct arena_header {
	uint64_t magic;
	uint32_t layout_version;
	uint32_t header_bytes;
	uint32_t shift, page_shift;
	uint32_t page_count;
	uint32_t bucket_count; /* of the index in its first pages; 0: it is being resized */
	uint64_t seed;         /* of its hash */
};
static_assert(sizeof(struct arena_header) <= ARENA_LEAD_BYTES,
	      "the header stands before the pages");

struct arena {
	uint8_t *base; /* ARENA_LEAD_BYTES before the first page */
	uint32_t shift;
	uint32_t page_shift;
	uint32_t page_count;
};

static inline size_t
arena_bytes(uint32_t page_count, uint32_t page_shift)
{
	return ARENA_LEAD_BYTES + ((size_t)page_count << page_shift);
}

static inline uint32_t
arena_shift_for(size_t pages_bytes)
{
	return pages_bytes <= ARENA_SMALL_MAX ? ARENA_SHIFT_SMALL : ARENA_SHIFT_LARGE;
}

static inline void
arena_init(struct arena *a, struct region *region, uint32_t page_count, uint32_t page_shift)
{
	a->shift = arena_shift_for((size_t)page_count << page_shift);
	a->page_shift = page_shift;
	a->page_count = page_count;
	a->base = (uint8_t *)region_take(region, arena_bytes(page_count, page_shift),
					 CACHE_LINE_BYTES);
}

static inline void
arena_write_header(const struct arena *a, uint32_t bucket_count, uint64_t seed)
{
	const struct arena_header header = {
		.magic = ARENA_MAGIC,
		.layout_version = ARENA_LAYOUT_VERSION,
		.header_bytes = sizeof header,
		.shift = a->shift,
		.page_shift = a->page_shift,
		.page_count = a->page_count,
		.bucket_count = bucket_count,
		.seed = seed,
	};

	memcpy(a->base, &header, sizeof header);
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
	return a->base + ARENA_LEAD_BYTES + ((size_t)page << a->page_shift);
}

/* Byte offset from the first page. */
static inline size_t
arena_offset(const struct arena *a, uint32_t ref)
{
	return ((size_t)ref << a->shift) - ARENA_LEAD_BYTES;
}

static inline uint32_t
arena_ref_of_offset(const struct arena *a, size_t offset)
{
	return (uint32_t)((offset + ARENA_LEAD_BYTES) >> a->shift);
}

#endif
