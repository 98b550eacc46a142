/*
 * mc_number.h - decimal numbers, read and written without the C library.
 *
 * Shape:  a number is a whole word: trailing bytes make it no number.
 * Thread: pure functions.
 * Errors: false if the word is no number of that kind; *out is then unchanged.
 * Source: which sign and which range each field of a command takes, as observed on 1.6.45.
 */
#ifndef CLOCKOO_MC_NUMBER_H
#define CLOCKOO_MC_NUMBER_H

#include "base/bytes.h"

#define MC_U64_DIGITS_MAX 20u

/* Reads digits only: cas, delta. */
bool mc_read_u64(struct view word, uint64_t *out);
/* Reads digits only: verbosity. */
bool mc_read_u32(struct view word, uint32_t *out);
/* Reads a number that may begin with '-': lengths, the exptime of touch, gat and flush_all. */
bool mc_read_i32(struct view word, int32_t *out);
/* Reads client flags, which may begin with '+'; more than 32 bits are cut, not refused. */
bool mc_read_flags(struct view word, uint32_t *out);
/* Reads the exptime of a storage command: a sign is allowed, 64 bits are read and cut to 32. */
bool mc_read_exptime(struct view word, int32_t *out);

/* Reads a ratio or factor: a sign, digits and a fraction. The result is in thousandths, further
 * digits cut off. */
bool mc_read_thousandths(struct view word, int64_t *out);

/* Writes v at `at`, at most MC_U64_DIGITS_MAX bytes. Returns the byte after it. */
uint8_t *mc_put_u64(uint8_t *at, uint64_t v);

#endif
