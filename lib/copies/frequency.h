/*
 * frequency.h - estimates, in one cache line, how often keys were requested recently.
 *
 * Shape:  128 counters of 4 bits, in four rows. A key has one counter in each row; the least of the
 *         four is its estimate. It is never below the key's own count since the last halving, and
 *         above it only by other keys with the same counters. An increment raises only the counters
 *         that equal the estimate (conservative update).
 * Units:  counts, at most FREQUENCY_MAX. bits: FREQUENCY_BITS of a key's hash.
 * Owner:  the caller: memory of zeros.
 * Thread: estimate: any, also beside a writer. The others: one at a time.
 * Source: G. Cormode, S. Muthukrishnan, J. of Algorithms 2005 (count-min); C. Estan, G. Varghese,
 *         SIGCOMM 2002 (conservative update); G. Einziger, R. Friedman, B. Manes, ACM ToS 2017
 *         (TinyLFU: halving, 4 bits).
 */
#ifndef CLOCKOO_FREQUENCY_H
#define CLOCKOO_FREQUENCY_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#define FREQUENCY_MAX  15u
#define FREQUENCY_ROWS 4u
#define FREQUENCY_BITS 20u

struct frequency {
	alignas(64) _Atomic uint64_t words[2 * FREQUENCY_ROWS];
};

uint32_t frequency_estimate(const struct frequency *f, uint32_t bits);

/* Raises the key's estimate to count, unless it is at least that. */
void frequency_raise(struct frequency *f, uint32_t bits, uint32_t count);

/* Halves all counters. */
void frequency_halve(struct frequency *f);

#endif
