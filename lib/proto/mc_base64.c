/*
 * mc_base64.c - keys in base64 (RFC 4648), by libsodium, which decodes strictly.
 */
#include "mc_base64.h"

#include <sodium/utils.h>

static uint32_t
decode(uint8_t *bytes, struct view text)
{
	size_t len = 0;

	return sodium_base642bin(bytes, MC_KEY_MAX, (const char *)text.data, text.len, NULL, &len,
				 NULL, sodium_base64_VARIANT_ORIGINAL) == 0
		       ? (uint32_t)len
		       : 0;
}

uint32_t
mc_base64_len(struct view text)
{
	uint8_t bytes[MC_KEY_MAX];

	return decode(bytes, text);
}

uint8_t *
mc_base64_decode(uint8_t *at, struct view text)
{
	return at + decode(at, text);
}

uint8_t *
mc_put_base64(uint8_t *at, struct view bytes)
{
	char text[MC_KEY_BASE64_MAX +
		  1]; /* libsodium adds a NUL, for which `at` may have no room */
	const uint32_t len = (bytes.len + 2) / 3 * 4;

	sodium_bin2base64(text, sizeof text, bytes.data, bytes.len, sodium_base64_VARIANT_ORIGINAL);
	memcpy(at, text, len);
	return at + len;
}

#define EACH_BYTE  0x0101010101010101ull
#define FIRST_TEXT 0x21ull /* '!', the first text character */
#define DELETE     0x7full

/* True if all eight bytes are text: none is ' ' or lower, none is 127. The expression sets the
 * highest bit of each byte that is not. */
static inline bool
word_is_text(uint64_t word)
{
	const uint64_t del = word ^ DELETE * EACH_BYTE;

	return ((((word - FIRST_TEXT * EACH_BYTE) & ~word) | ((del - EACH_BYTE) & ~del)) &
		128 * EACH_BYTE) == 0;
}

bool
mc_key_is_text(struct view key)
{
	if (key.len >= 8) {
		for (uint32_t at = 0; at + 8 < key.len; at += 8)
			if (!word_is_text(load_u64(key.data + at)))
				return false;
		return word_is_text(load_u64(key.data + key.len - 8));
	}
	if (key.len >= 4)
		return word_is_text((uint64_t)load_u32(key.data) << 32 |
				    load_u32(key.data + key.len - 4));
	for (uint32_t i = 0; i < key.len; i++)
		if (key.data[i] < FIRST_TEXT || key.data[i] == DELETE)
			return false;
	return true;
}
