/*
 * region.h - memory set aside at start, handed out once, never given back.
 *
 * Every module states how many bytes it needs (its *_bytes function) and takes them
 * from a region the caller owns: hugepages in the appliance, the heap in a test.
 * Nothing allocates after start.
 *
 * Shape:  one span of bytes, taken from front to back.
 * Units:  bytes; align is a power of two.
 * Owner:  the caller keeps the span alive as long as anything taken from it.
 * Thread: one thread, at start.
 * Errors: region_take stops the process if the region is too small: sizes are
 *         computed by our own *_bytes functions, so this is a broken invariant.
 */
#ifndef CLOCKOO_REGION_H
#define CLOCKOO_REGION_H

#include "check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct region {
	uint8_t *base;
	size_t size;
	size_t used;
	bool zeroed; /* every byte is zero and untouched: a new mapping */
};

static inline size_t
align_up(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

/* Returns zeroed bytes at an address aligned to align. */
static inline void *
region_take(struct region *r, size_t bytes, size_t align)
{
	const uintptr_t at = align_up((uintptr_t)r->base + r->used, align);
	const size_t end = at - (uintptr_t)r->base + bytes;

	ensure(end <= r->size);
	r->used = end;
	return r->zeroed ? (void *)at : memset((void *)at, 0, bytes);
}

#endif
