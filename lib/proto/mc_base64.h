/*
 * mc_base64.h - base64 for keys of meta commands, which may have any bytes.
 *
 * Shape:  the alphabet of RFC 4648 section 4, padded, without line breaks.
 * Thread: pure functions.
 * Errors: decoding is strict (RFC 4648 section 3): a byte outside the alphabet, missing padding, or
 *         set bits that the padding hides are errors. So two texts never mean the same key.
 * Bounds: MC_KEY_DECODED_MAX bytes out of a key of MC_KEY_MAX; MC_KEY_BASE64_MAX for a key of
 *         MC_KEY_MAX bytes, which the binary protocol can store.
 */
#ifndef CLOCKOO_MC_BASE64_H
#define CLOCKOO_MC_BASE64_H

#include "base/bytes.h"

#define MC_KEY_MAX         250u
#define MC_KEY_DECODED_MAX (MC_KEY_MAX / 4 * 3)
#define MC_KEY_BASE64_MAX  ((MC_KEY_MAX + 2) / 3 * 4)

/* Returns how many bytes text decodes to; 0: it is no base64. */
uint32_t mc_base64_len(struct view text);
/* Decodes a text that mc_base64_len accepted; returns the byte after the result. */
uint8_t *mc_base64_decode(uint8_t *at, struct view text);
/* Encodes a key of at most MC_KEY_MAX bytes; returns the byte after the result. */
uint8_t *mc_put_base64(uint8_t *at, struct view bytes);

/* True if the key can be part of a text line as it is. */
bool mc_key_is_text(struct view key);

#endif
