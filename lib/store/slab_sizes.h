/*
 * slab_sizes.h - the limits of slab objects and pages.
 *
 * Units:  bytes.
 */
#ifndef CLOCKOO_SLAB_SIZES_H
#define CLOCKOO_SLAB_SIZES_H

#define SLAB_OBJECT_MIN     32u        /* sets the stride of the states */
#define SLAB_OBJECT_MAX     (1u << 16) /* larger values are chunked */
#define SLAB_CLASSES_MAX    96u
#define SLAB_PAGE_SHIFT_MIN 18u /* a small store has small pages, or it has too few of them */
#define SLAB_PAGE_SHIFT_MAX 21u /* a hugepage */

#endif
