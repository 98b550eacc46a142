/* mc_fast_path.c - the fast path of set. It takes lines with single spaces, plain digits and a line
 * end that has arrived; all others are left to the slow path (mc_command.c). */
#include "mc_fast_path.h"

#define DIGITS_MAX     9u          /* any nine digits fit 31 bits */
#define NO_FLAGS_WORD  0x30203020u /* " 0 0" as the machine loads it */
#define NO_FLAGS_BYTES 4u
#define NOREPLY        " noreply" /* eight bytes */
#define NOREPLY_BYTES  8u
#define LINE_END_WORD  0x0a0du /* CR LF as the machine loads it */

/* A line, or the part of it that has arrived. */
struct span {
	const uint8_t *p;
	uint32_t len;
};

/* Reads a space and a number at `at`. Returns its end; `at`: there is none. */
static inline uint32_t
number_field_parse(struct span line, uint32_t at, uint32_t *number)
{
	const uint32_t most = at + 1 + DIGITS_MAX, limit = line.len < most ? line.len : most;
	uint32_t end = at + 1, sum = 0;

	if (at >= line.len || line.p[at] != ' ')
		return at;
	for (; end < limit; end++) {
		const uint32_t digit = (uint32_t)line.p[end] - '0';

		if (digit > 9)
			break;
		sum = sum * 10 + digit;
	}
	*number = sum;
	return end > at + 1 ? end : at;
}

/* Reads the flags and the exptime, which are nearly always 0 0. Returns their end. */
static inline uint32_t
fields_parse(struct span line, uint32_t at, struct mc_req *req)
{
	uint32_t exptime = 0, flags_end;

	if (likely(at + NO_FLAGS_BYTES <= line.len && load_u32(line.p + at) == NO_FLAGS_WORD))
		return at + NO_FLAGS_BYTES;
	flags_end = number_field_parse(line, at, &req->client_flags);
	at = number_field_parse(line, flags_end, &exptime);
	req->exptime = (int32_t)exptime;
	return at;
}

static inline bool
noreply_is_at(struct span line, uint32_t at)
{
	return at + NOREPLY_BYTES <= line.len && line.p[at] == ' ' &&
	       memcmp(line.p + at, NOREPLY, NOREPLY_BYTES) == 0;
}

/* Returns the offset after the line end at `at`; `at` if there is none. */
static inline uint32_t
line_end_skip(struct span line, uint32_t at)
{
	if (at + 2 <= line.len && load_u16(line.p + at) == LINE_END_WORD)
		return at + 2;
	return at + (at < line.len && line.p[at] == '\n');
}

uint32_t
mc_set_parse_fast(struct mc_req *req, const uint8_t *p, uint32_t len)
{
	const struct span line = {p, len};
	uint32_t key_len, key_end, fields_end, end, at;

	if (unlikely(len == MC_SET_PREFIX_BYTES || p[MC_SET_PREFIX_BYTES] <= ' ') ||
	    unlikely(!mc_key_end(p + MC_SET_PREFIX_BYTES, len - MC_SET_PREFIX_BYTES, &key_len) ||
		     key_len > MC_KEY_MAX))
		return 0;
	key_end = MC_SET_PREFIX_BYTES + key_len;
	mc_req_clear(req, p);
	/* If a number is missing, the last one is, too, and `at` does not advance. */
	fields_end = fields_parse(line, key_end, req);
	at = end = number_field_parse(line, fields_end, &req->body_len);
	if (end == fields_end)
		return 0;
	req->flags = MC_FIRST | MC_LAST | MC_HAS_BODY;
	if (noreply_is_at(line, at)) {
		at = end + NOREPLY_BYTES;
		req->flags |= MC_NOREPLY;
	}
	end = line_end_skip(line, at);
	req->verb = MC_SET;
	req->body_end = MC_BODY_END;
	req->key = (struct view){p + MC_SET_PREFIX_BYTES, key_len};
	return end == at ? 0 : end;
}
