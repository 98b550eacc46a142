/*
 * zeroed.h - memory for a whole simulated machine: zeroed, and touched only where it is used.
 *
 * Owner:  the caller frees it with zeroed_free.
 * Errors: the test ends.
 * Reason: large blocks lie in huge pages, which need a hundred times fewer page faults. They are
 *         mapped with AddressSanitizer, too. It would mark every byte of an allocated block and
 *         keep the block once freed, and would still not watch the pieces handed out of it.
 */
#ifndef CLOCKOO_ZEROED_H
#define CLOCKOO_ZEROED_H

#include "base/region.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

/* glibc reuses smaller blocks without page faults. With MALLOC_PERTURB_, as meson runs tests, it
 * writes all bytes of each block. */
#ifdef __SANITIZE_ADDRESS__
#define ZEROED_MAPPED 1u
#else
#define ZEROED_MAPPED (1u << 20)
#endif

/* Returns memory aligned to a cache line. */
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

/* Returns a region whose memory is first touched where it is used. */
static inline struct region
zeroed_region(size_t bytes)
{
	return (struct region){.base = zeroed_memory(bytes), .size = bytes, .zeroed = true};
}

#endif
