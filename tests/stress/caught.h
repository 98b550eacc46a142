/*
 * caught.h - a mutant (mutants.py) that crashes counts as caught.
 *
 * Thread: one, before the others.
 */
#ifndef CLOCKOO_CAUGHT_H
#define CLOCKOO_CAUGHT_H

/* From now on a broken invariant of the store (ensure, base/check.h), or an invalid address, ends
 * the program as harm seen: with status 0. */
void crash_is_harm(void);

#endif
