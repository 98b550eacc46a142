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
	char text[MC_KEY_BASE64_MAX + 1]; /* closed by a zero, for which `at` may have no room */
	const uint32_t len = (bytes.len + 2) / 3 * 4;

	sodium_bin2base64(text, sizeof text, bytes.data, bytes.len, sodium_base64_VARIANT_ORIGINAL);
	memcpy(at, text, len);
	return at + len;
}

bool
mc_key_is_text(struct view key)
{
	for (uint32_t i = 0; i < key.len; i++)
		if (key.data[i] <= ' ' || key.data[i] == 127)
			return false;
	return true;
}
