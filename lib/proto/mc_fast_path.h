/*
 * mc_fast_path.h - fast paths for most of the traffic of most caches: `get KEY`,
 * `get KEY KEY ...` and `set KEY FLAGS EXPTIME BYTES [noreply]`.
 *
 * They handle the common case, and leave all others, errors included, to mc_parse(), which gives
 * the same result for the same bytes.
 *
 * Thread: pure functions.
 * Bounds: reads nothing past len; a line is judged within its first MC_LINE_MAX bytes.
 */
#ifndef CLOCKOO_MC_FAST_PATH_H
#define CLOCKOO_MC_FAST_PATH_H

#include "mc_req.h"
#include "mc_tokens.h"

#define MC_GET_PREFIX       0x20746567u /* "get " as the machine loads it */
#define MC_GET_PREFIX_BYTES 4u

struct mc_get {
	uint32_t key_len; /* the key is at the beginning of the bytes taken, or after "get " */
	bool last;        /* the last key of its line */
};

/* Returns a bit for each space and line feed among the first 32 bytes: bit i for p[i]. It makes two
 * loads of 16 bytes, which overlap rather than reach beyond len. */
static inline uint32_t
mc_first_token_ends(const uint8_t *p, uint32_t len)
{
	uint32_t second = 16;

	if (unlikely(len < 32)) {
		if (len < 16)
			return 0;
		second = len - 16;
	}
	return mc_token_ends(p) | mc_token_ends(p + second) << second;
}

/* Finds the end of the key at p, which has at least one byte. False: the key is too long, or its
 * end has not arrived. */
static inline bool
mc_key_end(const uint8_t *p, uint32_t len, uint32_t *end)
{
	const uint32_t ends = mc_first_token_ends(p, len);

	if (likely(ends != 0)) {
		*end = (uint32_t)__builtin_ctz(ends);
		return true;
	}
	*end = mc_token_end(p, 0, len);
	return *end < len && *end <= MC_KEY_MAX + 1; /* one byte more: the key's CR */
}

/* Returns a bit for each line feed among the 16 bytes at p: bit i for p[i]. */
static inline uint32_t
mc_line_feeds(const uint8_t *p)
{
	return vec16_signs(vec16_equal_8(vec16_load(p), vec16_of_8('\n')));
}

/* Parses the key with which len bytes at p begin, inside an open line. Returns how many bytes it
 * took; 0: this path cannot parse them. */
static inline uint32_t
mc_key_parse_fast(const uint8_t *p, uint32_t len, struct mc_get *get)
{
	uint32_t end;

	/* Spaces, line ends and other control characters are rare here. */
	if (unlikely(len < 2 || p[0] <= ' ') || unlikely(!mc_key_end(p, len, &end)))
		return 0;
	get->last = p[end] == '\n';
	get->key_len = end;
	if (get->last)
		get->key_len -= p[end - 1] == '\r';
	else if (unlikely(end + 1 == len || p[end + 1] <= ' '))
		return 0; /* whether this key is the last depends on the next one */
	return likely(get->key_len <= MC_KEY_MAX) ? end + 1 : 0;
}

#define MC_SCAN_BYTES 64u

/* True if the 64 bytes at p contain a space or a line feed. *feed: they contain a line feed. */
static inline bool
mc_scan_block(const uint8_t *p, bool *feed)
{
	vec16 ends = vec16_zero(), feeds = vec16_zero();

	for (uint32_t at = 0; at < MC_SCAN_BYTES; at += 16) {
		const vec16 bytes = vec16_load(p + at);

		feeds = vec16_or(feeds, vec16_equal_8(bytes, vec16_of_8('\n')));
		ends = vec16_or(ends, vec16_equal_8(bytes, vec16_of_8(' ')));
	}
	*feed = vec16_signs(feeds) != 0;
	return vec16_signs(vec16_or(ends, feeds)) != 0;
}
static_assert(3 * MC_SCAN_BYTES <= MC_KEY_MAX, "a word that ends in a look and began in the one "
					       "before, or behind the last, is none too long");

/* True if the line that contains p[at] ends within len bytes, and no word of it is too long. False
 * also if that is uncertain, after 64 bytes without an end. */
static inline bool
mc_line_fits(const uint8_t *p, uint32_t at, uint32_t len)
{
	const uint32_t window = len < MC_LINE_MAX ? len : MC_LINE_MAX;
	bool feed = false;

	for (; at + MC_SCAN_BYTES <= window; at += MC_SCAN_BYTES) {
		if (!mc_scan_block(p + at, &feed))
			return false;
		if (feed)
			return true;
	}
	for (; at + 16 <= window; at += 16)
		if (mc_line_feeds(p + at) != 0)
			return true;
	while (at < window && p[at] != '\n')
		at++;
	return at < window;
}

/* Parses "get " and the first key, at the beginning of a line, as mc_key_parse_fast() parses later
 * keys. */
static inline uint32_t
mc_get_parse_fast(const uint8_t *p, uint32_t len, struct mc_get *get)
{
	uint32_t used;

	if (len < MC_GET_PREFIX_BYTES || load_u32(p) != MC_GET_PREFIX)
		return 0;
	used = mc_key_parse_fast(p + MC_GET_PREFIX_BYTES, len - MC_GET_PREFIX_BYTES, get);
	if (unlikely(used == 0) || (!get->last && !mc_line_fits(p, MC_GET_PREFIX_BYTES, len)))
		return 0;
	return MC_GET_PREFIX_BYTES + used;
}

#define MC_SET_PREFIX       0x20746573u /* "set " */
#define MC_SET_PREFIX_BYTES 4u

static inline bool
mc_set_begins(const uint8_t *p, uint32_t len)
{
	return len >= MC_SET_PREFIX_BYTES && load_u32(p) == MC_SET_PREFIX;
}

/* Parses the line of a set, which begins with MC_SET_PREFIX, of len bytes at p. Returns how many
 * bytes it took; 0: this path cannot parse it, and *req is undefined. */
uint32_t mc_set_parse_fast(struct mc_req *req, const uint8_t *p, uint32_t len);

/* Clears a request before it is parsed, except for the union, which the parser of its arguments
 * sets. */
static inline void
mc_req_clear(struct mc_req *req, const uint8_t *p)
{
	memset(req, 0, offsetof(struct mc_req, meta));
	req->key.data = p;
}

#endif
