/*
 * gap.h - a point between two steps of the store's protocol at which a test lets another thread
 * run.
 *
 * Shape:  with STORE_GAPS each gap calls the test's stress_gap(); without it a gap is no code.
 *
 * Thread: any.
 *
 * tests/stress/mutants.py breaks the protocol by editing copies of these files.
 */
#ifndef CLOCKOO_GAP_H
#define CLOCKOO_GAP_H

#ifdef STORE_GAPS
void stress_gap(void);
#define protocol_gap() stress_gap()
#else
#define protocol_gap() ((void)0)
#endif

#endif
