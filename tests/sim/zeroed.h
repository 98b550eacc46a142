/*
 * zeroed.h - memory of a whole simulated machine: zeroed, touched only where it is used.
 *
 * Owner:  the caller: zeroed_free.
 * Errors: the test ends.
 * Reason: large blocks are in huge pages, which are a hundred times fewer faults. AddressSanitizer
 *         would mark every byte of a block that it gives, and keep it when it is freed: it gives
 *         none, for what is handed out of a block piece by piece has no marks anyway.
 */
#ifndef CLOCKOO_ZEROED_H
#define CLOCKOO_ZEROED_H

#include "base/region.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

/* glibc keeps smaller ones, and gives them again without a fault; with MALLOC_PERTURB_, as meson
 * runs tests, it writes all of each. */
#ifdef __SANITIZE_ADDRESS__
#define ZEROED_MAPPED 1u
#else
#define ZEROED_MAPPED (1u << 20)
#endif

/* At a cache line. */
static inline void *
zeroed_memory(size_t bytes)
{
	void *at;

	if (bytes < ZEROED_MAPPED) {
		at = aligned_alloc(CACHE_LINE_BYTES, align_up(bytes, CACHE_LINE_BYTES));
		ensure(at != NULL);
		return memset(at, 0, bytes);
	}
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ensure(at != MAP_FAILED);
	madvise(at, bytes, MADV_HUGEPAGE); /* a hint */
	return at;
}

static inline void
zeroed_free(void *at, size_t bytes)
{
	if (bytes < ZEROED_MAPPED)
		free(at);
	else
		ensure(munmap(at, bytes) == 0);
}

/* What is taken of it is touched where it is used, no sooner. */
static inline struct region
zeroed_region(size_t bytes)
{
	return (struct region){.base = zeroed_memory(bytes), .size = bytes, .zeroed = true};
}

#endif
