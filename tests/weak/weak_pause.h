/*
 * weak_pause.h - stands in for base/pause.h where the product is compiled for weak.c.
 *
 * Thread: any.
 */
#ifndef CLOCKOO_PAUSE_H
#define CLOCKOO_PAUSE_H

void weak_pause(void);

static inline void
cpu_pause(void)
{
	weak_pause();
}

#endif
