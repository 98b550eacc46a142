/*
 * pending_ahead.c - plain gets behind requests that wait: they are asked for before they are
 * parsed as operations. Their bytes go behind the others', into the read buffer.
 */
#include "pending_places.h"

#include "proto/mc_fast_path.h"

#define AHEAD_ROOM_MIN   512u /* bytes */
#define AHEAD_SHARE_PART 4u   /* of a session's places: so many are asked for at least */

/* What is behind those that were asked for is another get, or key. */
bool
session_is_ahead(const struct session *ss)
{
	const struct mc_parser *ps = &ss->ahead_parser;

	return ss->body == BODY_NONE && !ss->closing && ss->read_buf_at == ss->read_buf_len &&
	       ps->protocol == MC_PROTOCOL_TEXT && !ps->swallow &&
	       (!ps->in_line || ps->verb == MC_GET);
}

/* In the read buffer are plain gets as a whole, of lines that were judged when they came. What
 * stands behind the last key of all is not there, so that one is taken for what it was. */
static uint32_t
deferred_parse(const uint8_t *p, uint32_t left, bool in_line, struct mc_get *get)
{
	const uint32_t prefix = in_line ? 0 : MC_GET_PREFIX_BYTES;
	const uint8_t *key = p + prefix;
	uint32_t used, end;

	if (left <= prefix + 1)
		return 0;
	used = mc_key_parse_fast(key, left - prefix, get);
	if (likely(used != 0))
		return prefix + used;
	end = left - prefix - 1;
	*get = (struct mc_get){.key_len = end};
	return key[0] > ' ' && key[end] == ' ' && end <= MC_KEY_MAX &&
			       mc_token_end(key, 0, end) == end
		       ? left
		       : 0;
}

/* At most so many gets that are here as a whole; their buckets are on their way. */
static uint32_t
ahead_parse(struct serve *sv, struct session *ss, struct view src, bool deferred, uint32_t most)
{
	struct awaits *aw = sv->awaits;
	bool in_line = ss->ahead_parser.in_line;
	uint32_t n = 0, at = 0;

	for (; at < src.len && n < most; n++) {
		const uint8_t *p = src.data + at;
		const uint32_t left = src.len - at, prefix = in_line ? 0 : MC_GET_PREFIX_BYTES;
		struct op *op = &aw->ahead[n];
		struct mc_get get;
		const uint32_t used = deferred  ? deferred_parse(p, left, in_line, &get)
				      : in_line ? mc_key_parse_fast(p, left, &get)
						: mc_get_parse_fast(p, left, &get);

		if (used == 0)
			break;
		op->session = ss;
		op->raw = (struct view){.data = p, .len = used};
		op->req.verb = MC_GET;
		op->req.error = MC_ERR_NONE;
		op->req.flags = (prefix != 0 ? MC_FIRST : 0) | (get.last ? MC_LAST : 0);
		op->req.key = (struct view){.data = p + prefix, .len = get.key_len};
		op->hash = store_probe(sv->store, &op->probe, op->req.key);
		in_line = !get.last;
		at += used;
	}
	return n;
}

static void
ahead_prefetch(struct serve *sv, uint32_t n)
{
	struct op *ops = sv->awaits->ahead;
	uint64_t open = 0;

	static_assert(AHEAD_GETS_MAX <= 64, "a bit for each");
	for (uint32_t i = 0; i < n; i++)
		open |= (uint64_t)store_probe_primary(sv->store, &ops[i].probe) << i;
	for (; open != 0; open &= open - 1)
		store_probe_alternate(sv->store, &ops[__builtin_ctzll(open)].probe);
}

/* Room for bytes behind the others. Those go to the begin of the buffer when little is left: all of
 * the session's awaits are written then. */
static uint32_t
buffer_room(struct serve *sv, struct session *ss)
{
	if (ss->read_buf_at > 0 && MC_LINE_MAX - ss->read_buf_len < AHEAD_ROOM_MIN) {
		awaits_rebase(sv, ss, sv->op_count);
		ss->read_buf_len -= ss->read_buf_at;
		memmove(ss->read_buf, ss->read_buf + ss->read_buf_at, ss->read_buf_len);
		ss->read_buf_at = 0;
	}
	return MC_LINE_MAX - ss->read_buf_len;
}

/* Those in the read buffer first, then of one segment; at most so many. How many were asked for. */
static uint32_t
segment_ask_ahead(struct serve *sv, struct session *ss, uint32_t most)
{
	const bool deferred = ss->ahead_at < ss->read_buf_len;
	struct op *ops = sv->awaits->ahead;
	struct view src;
	uint32_t bytes, n, room;
	uint64_t since_ns;

	if (deferred) {
		src = (struct view){ss->read_buf + ss->ahead_at, ss->read_buf_len - ss->ahead_at};
	} else {
		src = conn_peek_since(ss->conn, &since_ns);
		if (src.len == 0)
			return 0;
		room = buffer_room(sv, ss);
		src.len = src.len < room ? src.len : room;
	}
	n = ahead_parse(sv, ss, src, deferred, most < AHEAD_GETS_MAX ? most : AHEAD_GETS_MAX);
	sv->awaits->ahead_left -= n;
	ahead_prefetch(sv, n);
	n = awaits_ask_more(sv, ss, ops, n, ss->ahead_at);
	if (n == 0)
		return 0;
	bytes = (uint32_t)(ops[n - 1].raw.data + ops[n - 1].raw.len - src.data);
	ss->ahead_parser = (struct mc_parser){
		.verb = MC_GET, .in_line = !op_last(&ops[n - 1]), .protocol = MC_PROTOCOL_TEXT};
	ss->ahead_at += bytes;
	if (deferred)
		return n;
	if (ss->newer_since_ns == 0) {
		ss->newer_since_ns = since_ns;
		ss->newer_at = ss->read_buf_len;
	}
	memcpy(ss->read_buf + ss->read_buf_len, src.data, bytes);
	ss->read_buf_len += bytes;
	conn_advance(sv->stack, ss->conn, bytes);
	return n;
}

/* Bounded: each step uses up bytes. What has no place stays where it is; a few are not worth a look
 * at all that the session waits for, and more places will be free. */
void
gets_ask_ahead(struct serve *sv, struct session *ss)
{
	struct awaits *aw = sv->awaits;
	uint32_t left, share, n;

	if (ss->read_buf == NULL || sv->under_pressure || sv->backend_mode == BACKEND_PROMOTES ||
	    aw->draining || ss->ahead_at > ss->read_buf_len)
		return;
	left = await_places(aw, ss, &share);
	if (left < share / AHEAD_SHARE_PART)
		return;
	do {
		n = segment_ask_ahead(sv, ss, left < aw->ahead_left ? left : aw->ahead_left);
		left -= n;
	} while (n != 0);
}
