/*
 * ticks.h - the CPU's counter of time: the TSC on x86-64, the virtual counter (CNTVCT_EL0) on
 * arm64.
 *
 * Units:  ticks of a constant rate, independent of the CPU's frequency: 0.2 to 1 ns on x86-64; on
 *         arm64 1 ns from Armv8.6 on, up to 40 before. lib/dpdk/tsc_clock.h measures the rate.
 * Thread: any. The counters of a machine's CPUs are in step.
 */
#ifndef CLOCKOO_TICKS_H
#define CLOCKOO_TICKS_H

#include <stdint.h>

/* Reads the counter. The CPU may do so before earlier instructions, or after later ones. */
static inline uint64_t
ticks_read(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#endif
}

/* Reads the counter when all earlier instructions are done. Virtual machines may lack rdtscp. */
static inline uint64_t
ticks_read_after(void)
{
#if defined(__x86_64__)
	__builtin_ia32_lfence();
	return ticks_read();
#else
	__asm__ volatile("isb" : : : "memory");
	return ticks_read();
#endif
}

#endif
