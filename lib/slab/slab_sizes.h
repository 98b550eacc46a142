/*
 * slab_sizes.h - the sizes of slab objects and pages.
 *
 * Units:  bytes.
 * Thread: pure function.
 */
#ifndef CLOCKOO_SLAB_SIZES_H
#define CLOCKOO_SLAB_SIZES_H

#include "base/region.h"

#include <stdbool.h>

#define SLAB_OBJECT_MIN     32u        /* or a granule, if that is larger */
#define SLAB_OBJECT_MAX     (1u << 16) /* larger values are chunked */
#define SLAB_CLASSES_MAX    96u
#define SLAB_PAGE_SHIFT_MIN 17u /* a small store has small pages, or it has too few of them */
#define SLAB_PAGE_SHIFT_MAX 21u /* a hugepage */

/* Each class's objects are larger than those of the class before by 8 bytes, from SLAB_EIGHTHS on
 * by an eighth. In a store with pages for each class they are larger by a 16th below SLAB_COARSE:
 * of log-uniform sizes up to 4 KB 3.4 % is lost to rounding, with eighths 6.3 %. Larger objects are
 * few in a page, and its rest would take what finer steps save. */
#define SLAB_STEP_MIN   8u
#define SLAB_EIGHTHS    128u
#define SLAB_COARSE     4096u
#define SLAB_FINE_PAGES 192u

/* The smallest object; it sets the stride of the states. */
static inline uint32_t
slab_object_min(uint32_t shift)
{
	return 1u << shift > SLAB_OBJECT_MIN ? 1u << shift : SLAB_OBJECT_MIN;
}

static inline uint32_t
slab_size_after(uint32_t size, uint32_t granule, uint32_t pages)
{
	const bool fine = pages >= SLAB_FINE_PAGES && size < SLAB_COARSE;
	const uint32_t step = size < SLAB_EIGHTHS ? SLAB_STEP_MIN : size / (fine ? 16 : 8);

	return (uint32_t)align_up(size + step, granule);
}

#endif
