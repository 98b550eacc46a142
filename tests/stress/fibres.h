/*
 * fibres.h - calls that run beside each other in one thread, and change at the gaps of a protocol
 * compiled with STORE_GAPS: a seed repeats exactly.
 *
 * Thread: one.
 * Bounds: FIBRES_MAX; a stack of FIBRE_STACK bytes each.
 */
#ifndef CLOCKOO_FIBRES_H
#define CLOCKOO_FIBRES_H

#include <stdbool.h>
#include <stdint.h>

#define FIBRES_MAX  4u
#define FIBRE_STACK (256u << 10)

typedef void fibre_fn(void *arg);

/* Starts fn(arg) in this fibre, which was idle. */
void fibre_begin(uint32_t fibre, fibre_fn *fn, void *arg);
bool fibre_is_idle(uint32_t fibre);
/* Runs the fibre up to its gaps-th gap, or its end. */
void fibre_run(uint32_t fibre, uint32_t gaps);
/* Ends the fibre: it is never resumed. */
void fibre_kill(uint32_t fibre);
/* Makes a gap in a fibre. Outside a fibre it does nothing. */
void fibre_gap(void);

#endif
