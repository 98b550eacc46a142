/*
 * fast_path_compare.h - a stream by the fast paths and by the slow path, side by side.
 *
 * Errors: abort() where they differ: a test or a fuzzer tells which bytes they were.
 */
#ifndef CLOCKOO_FAST_PATH_COMPARE_H
#define CLOCKOO_FAST_PATH_COMPARE_H

#include <stdint.h>

/* How many requests of the stream fast paths took. */
uint32_t paths_agree(const uint8_t *p, uint32_t len);

#endif
