/*
 * caught.h - a mutant (mutants.py) that falls over is caught, too.
 *
 * Thread: one, before the others.
 */
#ifndef CLOCKOO_CAUGHT_H
#define CLOCKOO_CAUGHT_H

/* From now on an invariant of the store that does not hold (ensure, base/check.h), or an address
 * that is none, ends the program as harm seen: with status 0. */
void crash_is_harm(void);

#endif
