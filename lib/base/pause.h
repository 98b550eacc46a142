/*
 * pause.h - tells the CPU that a loop waits for another one.
 *
 * Thread: any.
 */
#ifndef CLOCKOO_PAUSE_H
#define CLOCKOO_PAUSE_H

static inline void
cpu_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile(
		"isb"
		:
		:
		: "memory"); /* waits longer than yield, which does nothing on most cores */
#endif
}

#endif
