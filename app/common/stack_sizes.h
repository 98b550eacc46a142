/*
 * stack_sizes.h - sizes of a core's stack, for both programs.
 *
 * Units:  bytes, chunks of send queues.
 * Thread: pure functions.
 */
#ifndef CLOCKOO_STACK_SIZES_H
#define CLOCKOO_STACK_SIZES_H

#include <stdint.h>

#define CHUNKS_MIN 4096u /* 8 MB per core */
#define CHUNKS_MAX 65536u
#define PAGE_BYTES 4096u

static inline uint32_t
clamp(uint64_t n, uint32_t min, uint32_t max)
{
	return n < min ? min : n > max ? max : (uint32_t)n;
}

#endif
