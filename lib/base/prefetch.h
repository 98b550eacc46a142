/*
 * prefetch.h - ask memory for a cache line and go on.
 *
 * Not __builtin_prefetch: gcc takes a function that does nothing else for one without
 * effect, and drops the call before it is inlined (measured: gcc 12, -O3).
 *
 * Thread: any. An address that is not mapped does no harm.
 */
#ifndef CLOCKOO_PREFETCH_H
#define CLOCKOO_PREFETCH_H

static inline void
prefetch(const void *p)
{
	__asm__ volatile("prefetcht0 %0" : : "m"(*(const char *)p));
}

#endif
