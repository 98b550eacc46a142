/*
 * pause.h - an instruction for loops that wait for another CPU: it saves power, and leaves the core
 * to its other thread.
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
