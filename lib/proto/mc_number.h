/*
 * mc_number.h - decimal numbers, read and written without the C library.
 *
 * Shape:  a number is a whole word: trailing bytes make it no number.
 * Thread: pure functions.
 * Errors: false for what is no number of that kind; *out is then untouched.
 * Source: which sign and which range each field of a command takes, as observed on 1.6.45.
 */
#ifndef CLOCKOO_MC_NUMBER_H
#define CLOCKOO_MC_NUMBER_H

#include "base/bytes.h"

#define MC_U64_DIGITS_MAX 20u

/* Digits only: cas, delta. */
bool mc_read_u64(struct view word, uint64_t *out);
/* Digits only: verbosity. */
bool mc_read_u32(struct view word, uint32_t *out);
/* Reads a number that may begin with '-': lengths, the exptime of touch, gat and flush_all. */
bool mc_read_i32(struct view word, int32_t *out);
/* Reads client flags, which may begin with '+'; more than 32 bits are cut, not refused. */
bool mc_read_flags(struct view word, uint32_t *out);
/* Reads the exptime of a storage command: a sign is allowed, 64 bits are read and cut to 32. */
bool mc_read_exptime(struct view word, int32_t *out);

/* A sign, digits and a fraction; thousandths, what is behind them cut off: ratios and factors. */
bool mc_read_thousandths(struct view word, int64_t *out);

/* Write v at `at`; returns the byte after it. At most MC_U64_DIGITS_MAX bytes. */
uint8_t *mc_put_u64(uint8_t *at, uint64_t v);

#endif
