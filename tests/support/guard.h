/*
 * guard.h - bytes placed so that reading one past them is a crash.
 *
 * Thread: one at a time; a later call reuses the span of an earlier one.
 * Bounds: GUARD_SPAN bytes.
 */
#ifndef CLOCKOO_GUARD_H
#define CLOCKOO_GUARD_H

#include <stdint.h>

#define GUARD_SPAN (1u << 21)

/* Returns a copy of len bytes, whose last byte is the last readable byte of a page. */
uint8_t *at_page_end(const void *bytes, uint32_t len);

#endif
