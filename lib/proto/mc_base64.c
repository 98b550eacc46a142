/*
 * mc_base64.c - strict decoding and encoding of base64 keys (RFC 4648).
 */
#include "mc_base64.h"

#define NO_DIGIT 0xffu

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static inline uint32_t
digit_of(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26u;
	if (c >= '0' && c <= '9')
		return c - '0' + 52u;
	return c == '+' ? 62 : c == '/' ? 63 : NO_DIGIT;
}

/* '=' at the end: 0, 1 or 2. */
static inline uint32_t
padding_of(struct view text)
{
	if (text.data[text.len - 1] != '=')
		return 0;
	return text.data[text.len - 2] == '=' ? 2 : 1;
}

uint32_t
mc_base64_len(struct view text)
{
	uint32_t pad;

	if (text.len == 0 || text.len % 4 != 0)
		return 0;
	pad = padding_of(text);
	for (uint32_t i = 0; i < text.len - pad; i++)
		if (digit_of(text.data[i]) == NO_DIGIT)
			return 0;
	/* Bits under the padding carry nothing, and must say so: one key, one text. */
	if (pad != 0 && (digit_of(text.data[text.len - pad - 1]) & (pad == 1 ? 3 : 15)) != 0)
		return 0;
	return text.len / 4 * 3 - pad;
}

uint8_t *
mc_base64_decode(uint8_t *at, struct view text)
{
	const uint32_t len = mc_base64_len(text);
	uint32_t bits = 0, have = 0;
	uint8_t *const end = at + len;

	for (uint32_t i = 0; at < end; i++) {
		bits = bits << 6 | digit_of(text.data[i]);
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		*at++ = (uint8_t)(bits >> have);
	}
	return end;
}

uint8_t *
mc_put_base64(uint8_t *at, struct view bytes)
{
	uint32_t i = 0;

	for (; i < bytes.len; i += 3) {
		const uint32_t left = bytes.len - i;
		const uint32_t bits = (uint32_t)bytes.data[i] << 16 |
				      (left > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0) |
				      (left > 2 ? (uint32_t)bytes.data[i + 2] : 0);

		*at++ = (uint8_t)digits[bits >> 18];
		*at++ = (uint8_t)digits[bits >> 12 & 63];
		*at++ = left > 1 ? (uint8_t)digits[bits >> 6 & 63] : '=';
		*at++ = left > 2 ? (uint8_t)digits[bits & 63] : '=';
	}
	return at;
}

bool
mc_key_is_text(struct view key)
{
	for (uint32_t i = 0; i < key.len; i++)
		if (key.data[i] <= ' ' || key.data[i] == 127)
			return false;
	return true;
}
