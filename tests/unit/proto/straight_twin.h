/*
 * straight_twin.h - a stream by the straight paths and by the general parser, side by side.
 *
 * Errors: abort() where they differ: a test or a fuzzer tells which bytes they were.
 */
#ifndef CLOCKOO_STRAIGHT_TWIN_H
#define CLOCKOO_STRAIGHT_TWIN_H

#include <stdint.h>

/* How many requests of the stream straight paths took. */
uint32_t twins_agree(const uint8_t *p, uint32_t len);

#endif
