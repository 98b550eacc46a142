/*
 * Keys in base64. Goal: they are those of RFC 4648, every key can be written and read back, and
 * no two texts are the same key. Method: the vectors of its section 10, keys of random bytes of
 * every length, every text of four letters of a dozen.
 */
#include "support/test.h"
#include "proto/mc_base64.h"

static uint64_t
random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

TEST(base64_is_that_of_the_rfc)
{
	const char *rows[][2] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
		{"\xff\xfe\xfd", "//79"},
		{"\xfb\xf0", "+/A="},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint8_t text[32], bytes[32];

		*mc_put_base64(text, text_view(rows[i][0])) = 0;
		check_str((char *)text, rows[i][1]);
		check_eq(mc_base64_len(text_view(rows[i][1])), strlen(rows[i][0]));
		*mc_base64_decode(bytes, text_view(rows[i][1])) = 0;
		check_str((char *)bytes, rows[i][0]);
	}
}

TEST(base64_of_any_key_is_read_back)
{
	uint64_t seed = 1;

	for (uint32_t len = 1; len <= MC_KEY_MAX; len++) {
		uint8_t key[MC_KEY_MAX], text[MC_KEY_BASE64_MAX], back[MC_KEY_BASE64_MAX];
		struct view encoded = {text, 0};

		for (uint32_t i = 0; i < len; i++)
			key[i] = (uint8_t)random_next(&seed);
		encoded.len = (uint32_t)(mc_put_base64(text, (struct view){key, len}) - text);
		check(encoded.len <= sizeof text);
		check_eq(mc_base64_len(encoded), len);
		check(mc_base64_decode(back, encoded) == back + len);
		check_bytes(back, key, len);
	}
}

/* Every text of four letters is either invalid or the only text of its bytes. */
TEST(no_two_texts_mean_the_same_key)
{
	static const char letters[] = "ABgZz09+/=-\0 ";
	const uint32_t n = sizeof letters - 1;
	uint32_t valid = 0;

	for (uint32_t i = 0; i < n * n * n * n; i++) {
		uint8_t text[4] = {(uint8_t)letters[i % n], (uint8_t)letters[i / n % n],
				   (uint8_t)letters[i / n / n % n],
				   (uint8_t)letters[i / n / n / n]};
		uint8_t bytes[4], again[8];
		const struct view v = {text, 4};
		const uint32_t len = mc_base64_len(v);

		if (len == 0)
			continue;
		valid++;
		mc_base64_decode(bytes, v);
		check_eq(mc_put_base64(again, (struct view){bytes, len}) - again, 4);
		check_bytes(again, text, 4);
	}
	check(valid > 6000); /* nine letters of the alphabet, four places */
}

TEST(a_key_with_a_space_or_a_control_byte_is_no_text)
{
	check(mc_key_is_text(text_view("foo:bar")));
	check(mc_key_is_text(text_view("\xc3\xa4")));
	check(!mc_key_is_text(text_view("a b")));
	check(!mc_key_is_text(text_view("a\nb")));
	check(!mc_key_is_text(text_view("a\x7f")));
	check(!mc_key_is_text((struct view){(const uint8_t *)"a\0", 2}));
}
