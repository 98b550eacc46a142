/*
 * mc_number.c - decimal parsers with the sign and range of each field, and a writer that gets two
 * digits from each division.
 */
#include "mc_number.h"

bool
mc_read_u64(struct view word, uint64_t *out)
{
	uint64_t sum = 0;

	if (word.len == 0 || word.len > MC_U64_DIGITS_MAX)
		return false;
	for (uint32_t i = 0; i < word.len; i++) {
		const uint32_t digit = (uint32_t)word.data[i] - '0';

		if (digit > 9)
			return false;
		/* Only the 20th digit can overflow. */
		if (i == MC_U64_DIGITS_MAX - 1 && sum > (UINT64_MAX - digit) / 10)
			return false;
		sum = sum * 10 + digit;
	}
	*out = sum;
	return true;
}

bool
mc_read_u32(struct view word, uint32_t *out)
{
	uint64_t wide;

	if (!mc_read_u64(word, &wide) || wide > UINT32_MAX)
		return false;
	*out = (uint32_t)wide;
	return true;
}

static bool
sign_skip(struct view *word, uint8_t sign)
{
	if (word->len == 0 || word->data[0] != sign)
		return false;
	word->data++;
	word->len--;
	return true;
}

bool
mc_read_i32(struct view word, int32_t *out)
{
	const bool negative = sign_skip(&word, '-');
	uint64_t wide;

	if (!mc_read_u64(word, &wide) || wide > (uint64_t)INT32_MAX + negative)
		return false;
	*out = (int32_t)(negative ? -(int64_t)wide : (int64_t)wide);
	return true;
}

bool
mc_read_flags(struct view word, uint32_t *out)
{
	uint64_t wide;

	sign_skip(&word, '+');
	if (!mc_read_u64(word, &wide))
		return false;
	*out = (uint32_t)wide;
	return true;
}

bool
mc_read_exptime(struct view word, int32_t *out)
{
	const bool negative = sign_skip(&word, '-');
	uint64_t wide;

	if (!negative)
		sign_skip(&word, '+');
	if (!mc_read_u64(word, &wide) || wide > (uint64_t)INT64_MAX + negative)
		return false;
	*out = (int32_t)(uint32_t)(negative ? 0 - wide : wide);
	return true;
}

/* Reads at most nine digits before the point: no ratio has more. */
bool
mc_read_thousandths(struct view word, int64_t *out)
{
	const bool negative = sign_skip(&word, '-');
	const uint8_t *point;
	uint64_t whole = 0;
	struct view part;
	uint32_t fraction = 0, scale = 1000;

	if (!negative)
		sign_skip(&word, '+');
	point = word.len > 0 ? memchr(word.data, '.', word.len) : NULL;
	part = (struct view){word.data, point != NULL ? (uint32_t)(point - word.data) : word.len};
	if (part.len > 9 || (part.len > 0 && !mc_read_u64(part, &whole)))
		return false;
	for (uint32_t i = part.len + 1; i < word.len; i++) {
		const uint32_t digit = (uint32_t)word.data[i] - '0';

		if (digit > 9)
			return false;
		scale /= 10;
		fraction += digit * scale;
	}
	if (word.len < 1u + (point != NULL)) /* no digit at all */
		return false;
	*out = (int64_t)(whole * 1000 + fraction) * (negative ? -1 : 1);
	return true;
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
			    "25262728293031323334353637383940414243444546474849"
			    "50515253545556575859606162636465666768697071727374"
			    "75767778798081828384858687888990919293949596979899";

static inline uint32_t
digits_of(uint64_t v)
{
	uint32_t digits = 1;

	for (; v >= 10000; v /= 10000)
		digits += 4;
	return digits + (v >= 10) + (v >= 100) + (v >= 1000);
}

uint8_t *
mc_put_u64(uint8_t *at, uint64_t v)
{
	uint8_t *const end = at + digits_of(v);
	uint8_t *p = end;

	/* Each division gives two digits, looked up in a table of 200 bytes, which stays cached. */
	for (; v >= 100; v /= 100) {
		p -= 2;
		memcpy(p, pairs + 2 * (v % 100), 2);
	}
	if (v >= 10)
		memcpy(p - 2, pairs + 2 * v, 2);
	else
		p[-1] = (uint8_t)('0' + v);
	return end;
}
