/*
 * talk_value.h - values made from a key and a version, so that every byte can be checked without
 * being kept.
 *
 * Shape:  a value is a stream of 8-byte words, word i made from its seed and i; any piece of it can
 *         be made or compared from any offset.
 * Units:  bytes.
 * Thread: pure functions.
 */
#ifndef CLOCKOO_TALK_VALUE_H
#define CLOCKOO_TALK_VALUE_H

#include <stdint.h>

/* Versions of one key, and keys, have values that differ in nearly every byte. */
uint64_t value_seed(uint64_t key, uint32_t version);
void value_write(uint64_t seed, uint32_t at, uint8_t *to, uint32_t len);
/* How many of these bytes are not those of the value from offset `at` on. */
uint32_t value_wrong(uint64_t seed, uint32_t at, const uint8_t *bytes, uint32_t len);

#endif
