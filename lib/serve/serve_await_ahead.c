/*
 * serve_await_ahead.c - plain gets behind requests that wait: they are asked for before they are
 * parsed as operations. Their bytes go behind the others', into the read buffer.
 */
#include "await_table.h"

#include "proto/mc_fast_path.h"

/* Its bytes end where another get, or key, may begin. */
bool
session_is_ahead(const struct session *ss)
{
	const struct mc_parser *ps = &ss->parser;

	return ss->body == BODY_NONE && !ss->closing && ss->read_buf_at == ss->read_buf_len &&
	       ps->protocol == MC_PROTOCOL_TEXT && !ps->swallow &&
	       (!ps->in_line || ps->verb == MC_GET);
}

/* Gets that are here as a whole, in room bytes; their buckets are on their way. */
static uint32_t
ahead_parse(struct serve *sv, struct session *ss, struct view src, uint32_t *bytes)
{
	struct awaits *aw = sv->awaits;
	struct mc_parser *ps = &ss->ahead_parser;
	uint32_t n = 0;

	for (*bytes = 0; *bytes < src.len && n < AHEAD_GETS_MAX && n < aw->ahead_left; n++) {
		const uint8_t *p = src.data + *bytes;
		const uint32_t left = src.len - *bytes,
			       prefix = ps->in_line ? 0 : MC_GET_PREFIX_BYTES;
		struct op *op = &aw->ahead[n];
		struct mc_get get;
		const uint32_t used = ps->in_line ? mc_key_parse_fast(p, left, &get)
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
		*ps = (struct mc_parser){
			.verb = MC_GET, .in_line = !get.last, .protocol = MC_PROTOCOL_TEXT};
		*bytes += used;
	}
	aw->ahead_left -= n;
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

/* Room for bytes behind the others, from the begin of the buffer on. */
static uint32_t
buffer_room(struct serve *sv, struct session *ss)
{
	if (ss->read_buf_at > 0) {
		awaits_rebase(sv, ss, sv->op_count);
		ss->read_buf_len -= ss->read_buf_at;
		memmove(ss->read_buf, ss->read_buf + ss->read_buf_at, ss->read_buf_len);
		ss->read_buf_at = 0;
	}
	return MC_LINE_MAX - ss->read_buf_len;
}

/* Of one segment. False: no more are asked for now. */
static bool
segment_ask_ahead(struct serve *sv, struct session *ss)
{
	struct view src = conn_peek(ss->conn);
	uint32_t bytes, n, room;

	if (src.len == 0 || sv->awaits->ahead_left == 0)
		return false;
	room = buffer_room(sv, ss);
	src.len = src.len < room ? src.len : room;
	n = ahead_parse(sv, ss, src, &bytes);
	if (n == 0)
		return false;
	ahead_prefetch(sv, n);
	memcpy(ss->read_buf + ss->read_buf_len, src.data, bytes);
	ss->ahead = awaits_ask_more(sv, ss, sv->awaits->ahead, n, ss->read_buf_len);
	ss->read_buf_len += bytes;
	conn_advance(sv->stack, ss->conn, bytes);
	return ss->ahead;
}

/* Bounded: each step uses up bytes. */
void
gets_ask_ahead(struct serve *sv, struct session *ss)
{
	bool more =
		ss->read_buf != NULL && !sv->under_pressure && !sv->brings && !sv->awaits->draining;

	while (more)
		more = segment_ask_ahead(sv, ss);
}
