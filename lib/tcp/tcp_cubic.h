/*
 * tcp_cubic.h - the curve of CUBIC (RFC 9438 section 4.2) in integers.
 *
 * Units:  windows in bytes, times in ms. C is 0.4 segments a second cubed.
 * Thread: pure functions.
 * Bounds: times apart by more than CUBIC_MS_MAX count as that; nothing overflows for windows up to
 *         2^26 and an MSS up to 2^14.
 */
#ifndef CLOCKOO_TCP_CUBIC_H
#define CLOCKOO_TCP_CUBIC_H

#include <stdint.h>

#define CUBIC_MS_MAX 80000u

/* Returns the largest r with r * r * r <= n. */
uint32_t cubic_root(uint64_t n);

/* K: the time in which the window climbs by `bytes` bytes. */
uint32_t cubic_k_ms(uint32_t bytes, uint32_t mss);

/* W_cubic(t): the window at time t after the epoch began at origin; at least 0. */
uint32_t cubic_window(uint32_t origin, uint32_t mss, uint32_t t_ms, uint32_t k_ms);

#endif
