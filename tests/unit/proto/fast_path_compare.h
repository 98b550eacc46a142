/*
 * fast_path_compare.h - parses a stream by the fast paths and by the slow path, and compares the
 * requests.
 *
 * Errors: abort() where they differ; the test or fuzzer reports the bytes.
 */
#ifndef CLOCKOO_FAST_PATH_COMPARE_H
#define CLOCKOO_FAST_PATH_COMPARE_H

#include <stdint.h>

/* Returns how many requests of the stream the fast paths took. */
uint32_t paths_agree(const uint8_t *p, uint32_t len);

#endif
