/*
 * talk_value.h - makes values from a key and a version, so that every byte can be checked without
 * storing it.
 *
 * Shape:  a value is a stream of 8-byte words, word i is made from the seed and i; any piece can
 *         be made or compared from any offset.
 * Units:  bytes.
 * Thread: pure functions.
 */
#ifndef CLOCKOO_TALK_VALUE_H
#define CLOCKOO_TALK_VALUE_H

#include <stdint.h>

/* Returns the seed of a value. Values of other versions or keys differ in nearly every byte. */
uint64_t value_seed(uint64_t key, uint32_t version);
void value_write(uint64_t seed, uint32_t at, uint8_t *to, uint32_t len);
/* Returns how many of these bytes differ from the value's bytes at offset `at`. */
uint32_t value_wrong(uint64_t seed, uint32_t at, const uint8_t *bytes, uint32_t len);

#endif
