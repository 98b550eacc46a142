/*
 * admin_rows.c - parts of rows: text, numbers, seconds, addresses.
 */
#include "admin_rows.h"

#include "proto/mc_meta.h"

static void
row_put(struct out_buffer *buffer, const struct stream *st, const char *name, struct view value)
{
	const struct view word = {(const uint8_t *)name, (uint32_t)strlen(name)};

	ensure(word.len <= ROW_NAME_MAX);
	if (st->binary) {
		buffer->at = mc_put_bin_stat(buffer->at, st->echo, word, value);
		return;
	}
	out_put_text(buffer, "STAT ");
	out_put_view(buffer, word);
	*buffer->at++ = ' ';
	out_put_view(buffer, value);
	buffer->at = mc_put_line_end(buffer->at);
}

void
row_text(struct out_buffer *buffer, const struct stream *st, const char *name, struct view value)
{
	ensure(value.len <= ROW_VALUE_MAX);
	row_put(buffer, st, name, value);
}

void
row_key(struct out_buffer *buffer, const struct stream *st, const char *name, struct view key)
{
	uint8_t text[ROW_KEY_BYTES];
	const uint8_t *end;

	ensure(key.len <= MC_KEY_MAX);
	end = mc_put_uri(text, key);
	row_put(buffer, st, name, (struct view){text, (uint32_t)(end - text)});
}

void
row_top_key(struct out_buffer *buffer, const struct stream *st, uint32_t n, uint32_t share_milli,
	    struct view key)
{
	static const char group[] = "top_key_";
	char name[sizeof group + MC_U64_DIGITS_MAX];
	uint8_t text[MC_U64_DIGITS_MAX + 4 + 1 + ROW_KEY_BYTES];
	struct out_buffer value = {text, text + sizeof text};

	ensure(key.len <= MC_KEY_MAX);
	memcpy(name, group, sizeof group);
	*mc_put_u64((uint8_t *)name + sizeof group - 1, n) = '\0';
	out_put_thousandths(&value, share_milli);
	*value.at++ = ' ';
	value.at = mc_put_uri(value.at, key);
	row_put(buffer, st, name, (struct view){text, (uint32_t)(value.at - text)});
}

void
row_number(struct out_buffer *buffer, const struct stream *st, const char *name, uint64_t value)
{
	uint8_t digits[MC_U64_DIGITS_MAX];
	const uint8_t *end = mc_put_u64(digits, value);

	row_text(buffer, st, name, (struct view){digits, (uint32_t)(end - digits)});
}

void
out_put_seconds(struct out_buffer *buffer, uint64_t us)
{
	uint32_t rest = (uint32_t)(us % 1000000);

	out_put_number(buffer, us / 1000000);
	*buffer->at++ = '.';
	for (uint32_t unit = 100000; unit > 0; rest %= unit, unit /= 10)
		*buffer->at++ = (uint8_t)('0' + rest / unit);
}

void
out_put_thousandths(struct out_buffer *buffer, uint64_t n)
{
	out_put_number(buffer, n / 1000);
	*buffer->at++ = '.';
	for (uint32_t unit = 100; unit > 0; unit /= 10)
		*buffer->at++ = (uint8_t)('0' + n / unit % 10);
}

void
row_thousandths(struct out_buffer *buffer, const struct stream *st, const char *name, uint64_t n)
{
	uint8_t text[MC_U64_DIGITS_MAX + 4];
	struct out_buffer value = {text, text + sizeof text};

	out_put_thousandths(&value, n);
	row_text(buffer, st, name, (struct view){text, (uint32_t)(value.at - text)});
}

void
out_put_ip(struct out_buffer *buffer, const struct ip_addr *ip)
{
	buffer->at = (uint8_t *)ip_addr_text((char *)buffer->at, ip);
}
