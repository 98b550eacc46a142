/*
 * mc_text.c - lines, verbs, and the keys of retrieval lines one by one. A line that ends within
 * MC_LINE_MAX bytes is checked as a whole before its first key is emitted, so an over-long key
 * gives one error and no values. A longer line is parsed key by key; its error follows the values.
 */
#include "mc_command.h"
#include "mc_number.h"
#include "mc_req.h"
#include "mc_fast_path.h"
#include "mc_tokens.h"

#define LINE_MIN 4u /* line end included; memcached answers shorter ones with an error */

/* A key is known to be too long once this many bytes, its CR included, have arrived. */
#define KEY_TOO_LONG_BYTES (MC_KEY_MAX + 2u)

static inline struct mc_result
bad_line(struct mc_req *req, enum mc_error error, uint32_t used)
{
	req->flags = MC_FIRST | MC_LAST;
	mc_bad(req, error);
	return mc_result_of(MC_OK, used);
}

/* Answers a broken line whose end may be far: the rest is skipped as it arrives. */
static struct mc_result
bad_open_line(struct mc_parser *ps, struct mc_req *req, enum mc_error error, uint32_t used)
{
	ps->in_line = 0;
	ps->swallow = MC_SWALLOW_LINE;
	req->flags |= MC_LAST;
	mc_bad(req, error);
	return mc_result_of(MC_OK, used);
}

static struct mc_result
line_skip(struct mc_parser *ps, const uint8_t *p, uint32_t len)
{
	const uint8_t *lf = memchr(p, '\n', len);

	if (lf == NULL)
		return mc_result_of(MC_MORE, len);
	ps->swallow = MC_SWALLOW_NOTHING;
	return mc_result_of(MC_MORE, (uint32_t)(lf - p) + 1);
}

/* Returns the offset of the next word, searched from `at` on. At the end of the line sets *last and
 * returns the offset after it. Returns len without *last if more bytes are needed. */
static inline uint32_t
next_token(const uint8_t *p, uint32_t at, uint32_t len, bool *last)
{
	at = mc_spaces_end(p, at, len);
	*last = false;
	if (at == len)
		return len;
	if (p[at] == '\n') {
		*last = true;
		return at + 1;
	}
	if (p[at] != '\r')
		return at;
	if (at + 1 == len)
		return len;
	*last = p[at + 1] == '\n';
	return *last ? at + 2 : at;
}

/* Emits the key at p, inside an open retrieval line. MC_MORE: these len bytes do not determine
 * where it ends, or whether it is the last one. */
static struct mc_result
key_emit(struct mc_parser *ps, struct mc_req *req, const uint8_t *p, uint32_t len)
{
	uint32_t end = mc_token_end(p, 0, len);
	uint32_t next;
	bool last;

	if (end == len && len < KEY_TOO_LONG_BYTES)
		return mc_result_of(MC_MORE, 0);
	if (end < len && p[end] == '\n' && p[end - 1] == '\r')
		end--;
	if (end > MC_KEY_MAX)
		return bad_open_line(ps, req, MC_ERR_FORMAT, MC_KEY_MAX + 1);
	next = next_token(p, end, len, &last);
	if (next == len && !last)
		return mc_result_of(MC_MORE, 0);
	req->verb = ps->verb;
	req->exptime = ps->exptime;
	req->key = (struct view){p, end};
	if (last) {
		ps->in_line = 0;
		req->flags |= MC_LAST;
	} else {
		ps->in_line = 1;
	}
	return mc_result_of(MC_OK, next);
}

/* Continues a retrieval line. Only a run of spaces can use up MC_LINE_MAX bytes without a key. */
static struct mc_result
line_continue(struct mc_parser *ps, struct mc_req *req, const uint8_t *p, uint32_t len)
{
	const uint32_t window = len < MC_LINE_MAX ? len : MC_LINE_MAX;
	struct mc_result r;

	req->flags = 0;
	req->error = MC_ERR_NONE;
	r = key_emit(ps, req, p, window);
	if (r.status == MC_MORE && window == MC_LINE_MAX)
		r.status = MC_CLOSE;
	return r;
}

/* Skips spaces in front of the first key of a line that is too long to be checked as a whole. */
static struct mc_result
first_key_find(struct mc_parser *ps, struct mc_req *req, const uint8_t *p, uint32_t len)
{
	const uint32_t spaces = mc_spaces_end(p, 0, len);
	struct mc_result r;
	uint32_t next;
	bool last;

	if (spaces > 0)
		return mc_result_of(MC_MORE, spaces);
	next = next_token(p, 0, len, &last);
	if (next == len && !last)
		return mc_result_of(MC_MORE, 0);
	mc_req_clear(req, p);
	if (last) {
		ps->swallow = MC_SWALLOW_NOTHING;
		return bad_line(req, MC_ERR_FORMAT, next);
	}
	ps->swallow = MC_SWALLOW_NOTHING;
	r = line_continue(ps, req, p, len);
	req->flags |= MC_FIRST;
	if (r.status == MC_MORE)
		ps->swallow = MC_SWALLOW_SPACES;
	return r;
}

static bool
keys_fit(const uint8_t *line, uint32_t at, uint32_t len)
{
	while (at < len) {
		const uint32_t end = mc_token_end(line, at, len);

		if (end - at > MC_KEY_MAX)
			return false;
		at = mc_spaces_end(line, end, len);
	}
	return true;
}

/* Takes the exptime of gat <exptime> <key>... . Returns the offset of the first key, len if there
 * is none. */
static uint32_t
gat_exptime(struct mc_parser *ps, const uint8_t *line, uint32_t at, uint32_t len,
	    enum mc_error *error)
{
	const uint32_t end = mc_token_end(line, at, len);

	*error = MC_ERR_NONE;
	if (!mc_read_i32((struct view){line + at, end - at}, &ps->exptime))
		*error = MC_ERR_EXPTIME;
	return mc_spaces_end(line, end, len);
}

/* Begins a retrieval line that has arrived whole. */
static struct mc_result
line_begin(struct mc_parser *ps, struct mc_req *req, struct view line, uint32_t at, uint32_t used)
{
	enum mc_error error = MC_ERR_NONE;
	struct mc_result r;

	at = mc_spaces_end(line.data, at, line.len);
	if (at < line.len && (ps->verb == MC_GAT || ps->verb == MC_GATS))
		at = gat_exptime(ps, line.data, at, line.len, &error);
	if (at == line.len)
		error = MC_ERR_FORMAT;
	else if (error == MC_ERR_NONE && line.len - at > MC_KEY_MAX &&
		 !keys_fit(line.data, at, line.len))
		error = MC_ERR_FORMAT;
	if (error != MC_ERR_NONE)
		return bad_line(req, error, used);
	r = key_emit(ps, req, line.data + at, used - at);
	return mc_result_of(r.status, at + r.used);
}

/* Begins a retrieval line whose first MC_LINE_MAX bytes contain no end. The exptime of gat must be
 * among them; its first key may still arrive. */
static struct mc_result
long_line_begin(struct mc_parser *ps, struct mc_req *req, const uint8_t *p, uint32_t at)
{
	enum mc_error error = MC_ERR_NONE;
	struct mc_result r;

	at = mc_spaces_end(p, at, MC_LINE_MAX);
	if (ps->verb == MC_GAT || ps->verb == MC_GATS)
		at = gat_exptime(ps, p, at, MC_LINE_MAX, &error);
	if (at == MC_LINE_MAX && (error != MC_ERR_NONE || p[at - 1] != ' '))
		return mc_result_of(MC_CLOSE, 0);
	if (error != MC_ERR_NONE)
		return bad_open_line(ps, req, error, at);
	r = at == MC_LINE_MAX ? mc_result_of(MC_MORE, 0)
			      : key_emit(ps, req, p + at, MC_LINE_MAX - at);
	if (r.status == MC_MORE)
		ps->swallow = MC_SWALLOW_SPACES;
	return mc_result_of(r.status, at + r.used);
}

static inline bool
is_retrieval(enum mc_verb verb)
{
	return verb <= MC_GATS;
}

/* Handles len bytes, at most MC_LINE_MAX, without a line end. */
static struct mc_result
line_open(struct mc_parser *ps, struct mc_req *req, const uint8_t *p, uint32_t len)
{
	uint32_t end;
	enum mc_verb verb;

	if (len < MC_LINE_MAX)
		return mc_result_of(MC_MORE, 0);
	end = mc_token_end(p, 0, len);
	verb = mc_verb_of((struct view){p, end});
	if (end == len || !is_retrieval(verb))
		return mc_result_of(MC_CLOSE, 0);
	ps->verb = (uint8_t)verb;
	ps->exptime = 0;
	req->flags = MC_FIRST;
	return long_line_begin(ps, req, p, end);
}

static struct mc_result
line_parse(struct mc_parser *ps, struct mc_req *req, const uint8_t *p, uint32_t len)
{
	const uint32_t window = len < MC_LINE_MAX ? len : MC_LINE_MAX;
	const uint8_t *lf = memchr(p, '\n', window);
	struct view line = {.data = p};
	enum mc_verb verb;
	uint32_t used;
	uint32_t end;

	mc_req_clear(req, p);
	if (lf == NULL)
		return line_open(ps, req, p, window);
	used = (uint32_t)(lf - p) + 1;
	if (used < LINE_MIN)
		return bad_line(req, MC_ERR_FORMAT, used);
	line.len = used - 1 - (p[used - 2] == '\r');
	end = mc_token_end(p, 0, line.len);
	verb = mc_verb_of((struct view){p, end});
	if (is_retrieval(verb)) {
		ps->verb = (uint8_t)verb;
		ps->exptime = 0;
		req->flags = MC_FIRST;
		return line_begin(ps, req, line, end, used);
	}
	req->flags = MC_FIRST | MC_LAST;
	if (!mc_command_parse(req, verb, line))
		return mc_result_of(MC_CLOSE, used);
	return mc_result_of(MC_OK, used);
}

static struct mc_result
line_resume(struct mc_parser *ps, struct mc_req *req, const uint8_t *p, uint32_t len)
{
	switch ((enum mc_swallow)ps->swallow) {
	case MC_SWALLOW_LINE:
		return line_skip(ps, p, len);
	case MC_SWALLOW_SPACES:
		return first_key_find(ps, req, p, len);
	default:
		return line_continue(ps, req, p, len);
	}
}

struct mc_result
mc_text_parse(struct mc_parser *ps, struct mc_req *req, const uint8_t *p, uint32_t len)
{
	if (len == 0)
		return mc_result_of(MC_MORE, 0);
	if (unlikely(ps->in_line | ps->swallow))
		return line_resume(ps, req, p, len);
	if (mc_set_begins(p, len)) {
		const uint32_t used = mc_set_parse_fast(req, p, len);

		if (likely(used != 0))
			return mc_result_of(MC_OK, used);
	}
	return line_parse(ps, req, p, len);
}

struct mc_result
mc_text_parse_slow(struct mc_parser *ps, struct mc_req *req, const uint8_t *p, uint32_t len)
{
	if (len == 0 || ps->in_line || ps->swallow)
		return mc_text_parse(ps, req, p, len);
	return line_parse(ps, req, p, len);
}
