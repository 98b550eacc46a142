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

#define SLAB_OBJECT_MIN  32u        /* a granule, if that is larger */
#define SLAB_OBJECT_MAX  (1u << 16) /* larger values are chunked */
#define SLAB_CLASSES_MAX 96u
/* For a small store, which would have too few pages of a larger size. */
#define SLAB_PAGE_SHIFT_MIN 17u
#define SLAB_PAGE_SHIFT_MAX 21u /* a hugepage */

/* Each class's objects are larger than those of the class before: by 8 bytes, and from SLAB_EIGHTHS
 * on by an eighth. A store with a page for each class has steps of a 16th below SLAB_COARSE
 * instead: for log-uniform sizes up to 4 KB rounding then wastes 3.4 %, with eighths 6.3 %. Above
 * SLAB_COARSE finer steps would save nothing, since a page holds few objects and more of it would
 * be left over. */
#define SLAB_STEP_MIN   8u
#define SLAB_EIGHTHS    128u
#define SLAB_COARSE     4096u
#define SLAB_FINE_PAGES 192u

/* Returns the size of the smallest object, which sets the stride of the states. */
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
