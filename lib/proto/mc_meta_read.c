/*
 * mc_meta_read.c - reads the flags of a meta command before it runs, so that a line with an error
 * changes nothing.
 */
#include "mc_command.h"
#include "mc_number.h"

#define NO_MODE 0xffu

static uint8_t
ms_mode(uint8_t letter)
{
	switch (letter) {
	case 'E':
		return MC_MODE_ADD;
	case 'A':
		return MC_MODE_APPEND;
	case 'P':
		return MC_MODE_PREPEND;
	case 'R':
		return MC_MODE_REPLACE;
	case 'S':
		return MC_MODE_SET;
	default:
		return NO_MODE;
	}
}

static uint8_t
ma_mode(uint8_t letter)
{
	switch (letter) {
	case 'I':
	case '+':
		return MC_MODE_INCR;
	case 'D':
	case '-':
		return MC_MODE_DECR;
	default:
		return NO_MODE;
	}
}

/* True if each token begins with a digit or a character from 'A' to 'z', as a flag does. */
static bool
tokens_are_flags(const struct mc_tokens *w, uint32_t first)
{
	for (uint32_t i = first; i < w->count && i < MC_TOKENS_KEPT; i++) {
		const uint8_t c = w->token[i].data[0];

		if (!(c >= 'A' && c <= 'z') && !(c >= '0' && c <= '9'))
			return false;
	}
	return true;
}

/* Reads the number after a letter. */
static enum mc_error
flag_number_parse(struct mc_req *req, uint8_t letter, struct view number)
{
	struct mc_meta *m = &req->meta;

	switch (letter) {
	case 'N':
		return mc_read_i32(number, &m->vivify_exptime) ? MC_ERR_NONE : MC_ERR_TOKEN;
	case 'T':
		return mc_read_i32(number, &req->exptime) ? MC_ERR_NONE : MC_ERR_TOKEN;
	case 'R':
		return mc_read_i32(number, &m->recache_s) ? MC_ERR_NONE : MC_ERR_TOKEN;
	case 'C':
		return mc_read_u64(number, &req->cas) ? MC_ERR_NONE : MC_ERR_TOKEN;
	case 'E':
		return mc_read_u64(number, &m->new_cas) ? MC_ERR_NONE : MC_ERR_TOKEN;
	case 'F':
		return mc_read_u32(number, &req->client_flags) ? MC_ERR_NONE : MC_ERR_FORMAT;
	case 'J':
		return mc_read_u64(number, &m->initial) ? MC_ERR_NONE : MC_ERR_INITIAL;
	case 'D':
		return mc_read_u64(number, &req->delta) ? MC_ERR_NONE : MC_ERR_META_DELTA;
	default:
		return MC_ERR_NONE;
	}
}

/* Notes the pairs of flags whose order changes the reply or the item (MC_META_ORDER). */
static void
flag_order_check(struct mc_meta *m, uint32_t bit)
{
	static const struct {
		uint32_t bit, before, note;
	} orders[] = {
		{MC_FLAG_SET_EXPTIME, MC_FLAG_TTL, MC_FLAG_TTL_BEFORE_TOUCH},
		{MC_FLAG_VIVIFY, MC_FLAG_TTL, MC_FLAG_TTL_BEFORE_VIVIFY},
		{MC_FLAG_SET_EXPTIME, MC_FLAG_RECACHE, MC_FLAG_RECACHE_BEFORE_TOUCH},
		{MC_FLAG_VIVIFY, MC_FLAG_SET_EXPTIME, MC_FLAG_VIVIFY_AFTER_TOUCH},
	};

	if (likely(!(bit & (MC_FLAG_SET_EXPTIME | MC_FLAG_VIVIFY))))
		return;
	for (uint32_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
		if (bit == orders[i].bit && (m->flags & orders[i].before))
			m->flags |= orders[i].note;
}

/* Parses one flag, whose letter is known and new. */
static enum mc_error
flag_parse(struct mc_req *req, struct view word)
{
	struct mc_meta *m = &req->meta;
	const uint8_t letter = word.data[0];
	const struct view rest = {word.data + 1, word.len - 1};
	const uint32_t bit = mc_meta_bit(letter);

	flag_order_check(m, bit);
	m->flags |= bit;
	if (bit & MC_META_RETURNED)
		m->order[m->order_count++] = letter;
	switch (letter) {
	case 'b':
		req->flags |= MC_KEY_BASE64;
		return mc_base64_len(req->key) != 0 ? MC_ERR_NONE : MC_ERR_BASE64;
	case 'q':
		req->flags |= MC_QUIET;
		return MC_ERR_NONE;
	case 'M':
		m->mode = rest.len != 0 ? rest.data[0] : 0;
		return MC_ERR_NONE;
	case 'O':
		if (rest.len > MC_OPAQUE_MAX)
			return MC_ERR_OPAQUE;
		memcpy(m->opaque, rest.data, rest.len);
		m->opaque_len = (uint8_t)rest.len;
		return MC_ERR_NONE;
	default:
		return flag_number_parse(req, letter, rest);
	}
}

/* Returns which of two errors of one line is answered: the later one. But MC_ERR_FORMAT (bad client
 * flags) replaces no error except MC_ERR_OPAQUE, and MC_ERR_OPAQUE replaces none. */
static enum mc_error
later_error(enum mc_error before, enum mc_error now)
{
	const bool gives_way =
		now == MC_ERR_OPAQUE || (now == MC_ERR_FORMAT && before != MC_ERR_OPAQUE);

	return now == MC_ERR_NONE || (gives_way && before != MC_ERR_NONE) ? before : now;
}

/* Parses all flags from word[first] on. The first unknown or repeated letter ends this and is the
 * error to answer. Otherwise later_error() chooses, in memcached's order. */
static enum mc_error
flags_parse(struct mc_req *req, const struct mc_tokens *w, uint32_t first)
{
	enum mc_error error = MC_ERR_NONE;

	if (req->key.len > MC_KEY_MAX)
		return MC_ERR_FORMAT;
	if (w->count > MC_META_TOKENS_MAX)
		return MC_ERR_OPTIONS;
	for (uint32_t i = first; i < w->count; i++) {
		const uint32_t bit = mc_meta_bit(w->token[i].data[0]);

		if (bit == 0)
			return MC_ERR_FLAG;
		if (req->meta.flags & bit)
			return MC_ERR_DUPLICATE;
		error = later_error(error, flag_parse(req, w->token[i]));
	}
	return error;
}

static enum mc_error
mode_parse(struct mc_req *req, uint8_t (*mode_of)(uint8_t), enum mc_error wrong)
{
	struct mc_meta *m = &req->meta;

	if (!(m->flags & MC_FLAG_MODE))
		return MC_ERR_NONE;
	m->mode = mode_of(m->mode);
	return m->mode != NO_MODE ? MC_ERR_NONE : wrong;
}

/* An error of the flags is answered rather than one of the mode, except MC_ERR_OPAQUE. */
static enum mc_error
line_validate(struct mc_req *req, const struct mc_tokens *w, uint32_t first)
{
	const bool is_ma = req->verb == MC_MA;
	enum mc_error error, mode = MC_ERR_NONE;

	error = flags_parse(req, w, first);
	/* This error precedes all others, but is rare: a line without an error has only letters. */
	if (unlikely(error != MC_ERR_NONE) && !tokens_are_flags(w, first))
		return MC_ERR_FORMAT;
	if (error != MC_ERR_NONE && error != MC_ERR_OPAQUE)
		return is_ma ? MC_ERR_FLAGS_MA : error;
	if (is_ma)
		mode = mode_parse(req, ma_mode, MC_ERR_MODE_MA);
	else if (req->verb == MC_MS)
		mode = mode_parse(req, ms_mode, MC_ERR_MODE_MS);
	else
		req->meta.mode = MC_MODE_NONE;
	return mode != MC_ERR_NONE ? mode : error;
}

void
mc_meta_read(struct mc_req *req, const struct mc_tokens *w)
{
	enum mc_error error = MC_ERR_FORMAT;

	memset(&req->meta, 0, sizeof req->meta);
	if (w->count >= 2) {
		req->key = w->token[1];
		req->delta = 1; /* for ma without D */
		error = line_validate(req, w, 2);
	}
	if (error != MC_ERR_NONE)
		mc_bad(req, error);
}

/* Reads ms <key> <bytes> <flag>*. */
void
mc_meta_body_read(struct mc_req *req, const struct mc_tokens *w)
{
	enum mc_error error;

	memset(&req->meta, 0, sizeof req->meta);
	if (w->count < 3 || !mc_body_parse(req, w->token[2])) {
		mc_bad(req, MC_ERR_FORMAT);
		return;
	}
	req->key = w->token[1];
	error = line_validate(req, w, 3);
	if (error != MC_ERR_NONE)
		mc_bad(req, error);
}

/* Reads me <key> [b]. */
void
mc_meta_debug_read(struct mc_req *req, const struct mc_tokens *w)
{
	memset(&req->meta, 0, sizeof req->meta);
	if (w->count < 2 || w->token[1].len > MC_KEY_MAX || !tokens_are_flags(w, 2)) {
		mc_bad(req, MC_ERR_FORMAT);
		return;
	}
	req->key = w->token[1];
	if (w->count < 3 || !mc_token_is(w->token[2], "b", 1))
		return;
	req->flags |= MC_KEY_BASE64;
	req->meta.flags = MC_FLAG_BASE64;
	if (mc_base64_len(req->key) == 0)
		mc_bad(req, MC_ERR_FORMAT);
}
